import { commandLineAct } from '@atrium/access'
import { withIdentity } from './with-identity.ts'

/** Prints a user token and nothing else, so that `TOKEN=$(atrium token --user …)` works. */
export const token = (
  env: NodeJS.ProcessEnv,
  options: { user: string; name?: string; lifetime?: number },
): Promise<void> =>
  withIdentity(env, async (identity) => {
    const minted = await identity.mintUserToken(
      {
        qxId: options.user,
        ...(options.name === undefined ? {} : { name: options.name }),
        ...(options.lifetime === undefined ? {} : { lifetimeSeconds: options.lifetime }),
      },
      commandLineAct('mintUserToken'),
    )
    process.stdout.write(`${minted}\n`)
  })
