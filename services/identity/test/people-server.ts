import { openApplication } from './browser.ts'
import { createTestDatabase, startIdentityServer } from './identity-server.ts'

export const PASSWORD = 'analytical engine'
export type PeopleServer = Awaited<ReturnType<typeof startPeopleServer>>

/** Identity with three applications and Ada's account, on a database of its own. */
export async function startPeopleServer() {
  const database = await createTestDatabase()
  const server = await startIdentityServer(database.url, {
    env: { ATRIUM_APPLICATIONS: 'other-app=https://other.test/cb,native-app=com.other:/cb' },
  })
  await server.identity.accounts.create({
    qxId: 'qx-ada',
    name: 'Ada Lovelace',
    mailAddress: 'ada@example.test',
    password: PASSWORD,
  })
  return {
    database,
    server,
    application: openApplication(server.url),
    /** Why a token is refused, or that it is `accepted`. */
    codeOf: (token: string): Promise<string> =>
      server.identity.verifyToken(token).then(
        () => 'accepted',
        (error: { code: string }) => error.code,
      ),
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]()
      await database[Symbol.asyncDispose]()
    },
  }
}
