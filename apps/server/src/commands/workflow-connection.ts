import { connectWithToken, type TokenOptions } from '../client/token-connection.ts'
import { SpaceClient, spaceOf } from '../workflows/space-client.ts'

/** Options that every command about workflows has. */
export interface WorkflowOptions extends TokenOptions {
  readonly space?: string
}

/** Shorter waits are not worth telling. */
const TOLD_WAIT_MS = 2000

/**
 * The space that options and environment name, on the platform that they name.
 * @param onRetry is told what is waited for; by default standard error is
 * @throws UsageError
 */
export function connectToSpace(
  options: WorkflowOptions,
  env: NodeJS.ProcessEnv,
  hooks: { signal?: AbortSignal; onNote?: (line: string) => void } = {},
): SpaceClient {
  const note = hooks.onNote ?? ((line: string) => void process.stderr.write(`${line}\n`))
  const spaceId = spaceOf(options, env)
  const platform = connectWithToken(options, env, {
    signal: hooks.signal ?? new AbortController().signal,
    onRetry: (reason, waitMs) => {
      if (waitMs >= TOLD_WAIT_MS) note(`${reason}; trying again in ${Math.round(waitMs / 1000)} s`)
    },
  })
  return new SpaceClient(platform, spaceId)
}
