import { identityMigrations } from '@atrium/identity'
import { MigrationSession, migrate } from '@atrium/kernel/db'
import { createLogger } from '@atrium/kernel/log'
import { startOwnPostgres } from '@atrium/testing'
import { expect, test } from 'vitest'
import { openApplication, openBrowser, PEOPLE } from './browser.ts'
import { startIdentityServer } from './identity-server.ts'

const PASSWORD = 'analytical engine'

test('while the database is away, every page of a sign-in says so in words', async () => {
  const postgres = await startOwnPostgres()
  try {
    const log = createLogger({ level: 'silent' })
    {
      await using session = new MigrationSession(postgres.directUrl(), { log })
      await migrate(session, [identityMigrations])
    }
    await using server = await startIdentityServer(postgres.url)
    await server.identity.accounts.create({ qxId: 'ada', name: 'Ada', password: PASSWORD })
    const application = openApplication(server.url)
    const [signingIn, signedIn] = [openBrowser(server.url), openBrowser(server.url)]
    const page = await signingIn.go(application.begin().address)
    await application.signIn('ada', PASSWORD, signedIn)
    const signOutPage = await signedIn.go(`${PEOPLE}/connect/endSession`)
    await postgres.stop()
    const visits = {
      start: await openBrowser(server.url).go(application.begin().address),
      resume: await signingIn.go(page.url.replace('/sign-in/', '/authorize/')),
      page: await signingIn.go(page.url),
      signIn: await signingIn.submit(page, { user: 'ada', password: PASSWORD }),
      signOut: await signedIn.go(`${PEOPLE}/connect/endSession`),
      confirm: await signedIn.submit(signOutPage, { logout: 'yes' }),
    }
    for (const [name, { status, text }] of Object.entries(visits)) {
      expect([name, status]).toEqual([name, 503])
      expect(text, name).toContain('<h1>That did not work</h1>')
      expect(text, name).toContain('unavailable for a moment')
    }
  } finally {
    await postgres.close()
  }
}, 120_000)
