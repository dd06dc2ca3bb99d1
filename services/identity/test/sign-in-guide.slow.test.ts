import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { expect, test } from 'vitest'
import { openBrowser } from './browser.ts'
import { createTestDatabase, startIdentityServer } from './identity-server.ts'

const guide = path.resolve(import.meta.dirname, '../../../docs/guides/sign-in.md')

test('the program in docs/guides/sign-in.md signs a person in as it stands', async () => {
  const text = await readFile(guide, 'utf8')
  const program = /<!-- runnable -->\n```js\n([\s\S]*?)```/.exec(text)?.[1] ?? ''
  const applications = /ATRIUM_APPLICATIONS='([^']+)'/.exec(text)?.[1] ?? ''
  await using database = await createTestDatabase()
  await using server = await startIdentityServer(database.url, { env: { ATRIUM_APPLICATIONS: applications } })
  await server.identity.accounts.create({
    qxId: 'qx-ada',
    name: 'Ada Lovelace',
    password: 'analytical engine',
  })

  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    // openid-client is found from here.
    cwd: import.meta.dirname,
    env: { ...process.env, ATRIUM_URL: server.url },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString('utf8')
    })
  }
  const ended = once(child, 'exit')
  await expect.poll(() => output, { timeout: 10_000 }).toMatch(/Open http\S+\n/)
  const browser = openBrowser(server.url)
  const page = await browser.go(/Open (\S+)/.exec(output)?.[1] ?? '')
  const done = await browser.submit(page, { user: 'qx-ada', password: 'analytical engine' })
  await fetch(done.url)
  expect([(await ended)[0], output]).toEqual([0, expect.any(String)])
  expect(output).toContain('Signed in as Ada Lovelace (qx-ada)\nSessions: 1\nRefreshed for 3600 seconds\n')

  const goodbye = await browser.go(/Sign out at (\S+)/.exec(output)?.[1] ?? '')
  expect(goodbye.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/callback$/)
  const { rows } = await database.pool.query('select from identity.sessions where ended_at is null')
  expect(rows).toEqual([])
})
