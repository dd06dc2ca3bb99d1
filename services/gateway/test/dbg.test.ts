import { expect, test } from 'vitest'
import { hello, startWithFake } from '/work/main/services/gateway/test/platform.ts'
test('x', async () => {
  const sandbox = await startWithFake({ env: { OPENAI_BASE_URL: '', OPENAI_API_KEY: '', ATRIUM_SANDBOX: 'on' } })
  const log = (s: string) => console.error(s, new Date().toISOString())
  await sandbox.chat({ ...hello, n: 2 })
  log('plain')
  const stream = sandbox.client.chat.completions.stream({ ...hello, stream_options: { include_usage: true } })
  log((await stream.finalMessage()).content ?? '')
  log(String((await stream.totalUsage()).completion_tokens))
  const usage = await sandbox.usage(2)
  log(JSON.stringify(usage))
  await sandbox.platform.close()
  log('closed')
  await sandbox.fake.close()
  log('fake closed')
}, 60000)
