import { createLogger } from '@atrium/kernel/log'
import { registerPlatform } from '@atrium/testing'
import type { WorkflowEngine } from '@atrium/workflows'

registerPlatform(async (env, { logLines, engine }) => {
  // Loaded when a test first needs it: most unit tests never do.
  const [{ parseConfig }, { startPlatform }] = await Promise.all([
    import('../src/config.ts'),
    import('../src/platform.ts'),
  ])
  const log =
    logLines && createLogger({ level: 'trace', destination: { write: (line) => void logLines.push(line) } })
  const platform = await startPlatform(parseConfig(env), {
    databaseUrl: env.DATABASE_URL ?? '',
    ...(log === undefined ? {} : { log }),
    engine: engine as WorkflowEngine | undefined,
  })
  return {
    url: platform.url,
    mintUserToken: (user) => platform.identity.mintUserToken(user),
    registerClient: ({ clientId, clientSecret }) =>
      platform.identity.clients.put({ clientId, name: clientId, secret: clientSecret, status: 'Active' }),
    close: () => platform.close(),
  }
})
