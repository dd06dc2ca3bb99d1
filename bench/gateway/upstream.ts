// The fake OpenAI in a process of its own. Arguments: port, chunks of a stream, milliseconds between them.
import { startFakeOpenAi } from '@atrium/testing/fake-openai'

const [port = '0', chunks = '0', intervalMs = '0'] = process.argv.slice(2)
await startFakeOpenAi({
  port: Number(port),
  keepsRequests: false,
  models: ['gpt-4o', 'gpt-4.1'],
  ...(chunks === '0'
    ? {}
    : {
        behaviour: {
          pieces: Array.from({ length: Number(chunks) }, (_, i) => `${i} `),
          intervalMs: Number(intervalMs),
        },
      }),
})
process.send?.('ready')
