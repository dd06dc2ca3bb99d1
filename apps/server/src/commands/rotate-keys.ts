import { commandLineAct } from '@atrium/access'
import { withIdentity } from './with-identity.ts'

/** Publishes a new signing key. `now`: it signs at once, as after a leak; else when all have seen it. */
export const rotateKeys = (env: NodeJS.ProcessEnv, options: { now?: boolean }): Promise<void> =>
  withIdentity(env, async (identity) => {
    const { kid, signsFrom } = await identity.rotateKeys(
      options.now === true ? 0 : undefined,
      commandLineAct('rotateKeys'),
    )
    process.stdout.write(`Key ${kid} signs from ${signsFrom.toISOString()} on.\n`)
  })
