import { registerPlatform } from '@atrium/testing'
import { parseConfig } from '../src/config.ts'
import { startPlatform } from '../src/platform.ts'

registerPlatform(async (env) => {
  const platform = await startPlatform(parseConfig(env), { databaseUrl: env.DATABASE_URL ?? '' })
  return {
    url: platform.url,
    mintUserToken: (user) => platform.identity.mintUserToken(user),
    registerClient: ({ clientId, clientSecret }) =>
      platform.identity.clients.put({ clientId, name: clientId, secret: clientSecret, status: 'Active' }),
    close: () => platform.close(),
  }
})
