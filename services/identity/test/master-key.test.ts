import { freePort } from '@atrium/testing'
import { expect, test } from 'vitest'
import { openApplication, openBrowser } from './browser.ts'
import { createTestDatabase, MASTER_KEY, startIdentityServer } from './identity-server.ts'

const NEW_KEY = Buffer.alloc(32, 5)
const PASSWORD = 'analytical engine 1843'

test('cookies and forms that another master key signed are good as long as that key is accepted', async () => {
  await using database = await createTestDatabase()
  const port = await freePort()
  const start = (masterKey: Buffer, ...formerKeys: Buffer[]) =>
    startIdentityServer(database.url, { port, masterKey, formerKeys })
  const application = openApplication(`http://127.0.0.1:${port}`)
  const origin = `http://127.0.0.1:${port}`
  const [signedIn, underWay, late] = [openBrowser(origin), openBrowser(origin), openBrowser(origin)]
  const silently = { prompt: 'none' }
  const fields = { user: 'qx-ada', password: PASSWORD }

  const before = await start(MASTER_KEY)
  await before.identity.accounts.create({ qxId: 'qx-ada', name: 'Ada', password: PASSWORD })
  await application.signIn('qx-ada', PASSWORD, signedIn)
  const form = await underWay.go(application.begin().address)
  const lateForm = await late.go(application.begin().address)
  expect([form.status, lateForm.status]).toEqual([200, 200])
  await before[Symbol.asyncDispose]()

  const both = await start(NEW_KEY, MASTER_KEY)
  expect((await signedIn.go(application.begin(silently).address)).url).toContain('code=')
  expect((await underWay.submit(form, fields)).url).toContain('code=')
  await both[Symbol.asyncDispose]()

  // What the new key signed meanwhile needs no other one; what the old one signed is as if absent.
  await database.pool.query('DELETE FROM identity.signing_keys')
  await using after = await start(NEW_KEY)
  expect(after.url).toBe(origin)
  expect((await underWay.go(application.begin(silently).address)).url).toContain('code=')
  expect((await late.submit(lateForm, fields)).url).not.toContain('code=')
  const stranger = openBrowser(origin)
  expect((await stranger.go(application.begin(silently).address)).url).toContain('error=login_required')
})
