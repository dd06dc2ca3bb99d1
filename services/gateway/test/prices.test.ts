import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, test } from 'vitest'
import { embed } from './embed.ts'
import { hello, startWithFake } from './platform.ts'

/** A catalogue of one priced model, one at no price in so many words, and one whose price was forgotten. */
async function catalogue(): Promise<string> {
  const file = path.join(await mkdtemp(path.join(tmpdir(), 'atrium-catalogue-')), 'models.yaml')
  const entry = (name: string, prices: string) =>
    `  - { name: ${name}, kind: chat, ownedBy: us, released: 2026-01-01, regions: [row], deployments: [{ backend: openai, model: ${name} }]${prices} }\n`
  await writeFile(
    file,
    `currency: USD\nmodels:\n${entry('priced', ', prices: { input: "1", output: "2" }')}${entry('given', ', prices: { input: "0", output: "0" }')}${entry('forgotten', '')}`,
  )
  return file
}

test.each(['llm', 'llm-cn'])('what has no price is not served by a named server (%s)', async (region) => {
  await using gateway = await startWithFake({ fake: { models: ['gpt-4o', 'o9-super-expensive'] } })
  const call = (operation: string, body: object) =>
    gateway.platform.call('POST', `/${region}/v1/${operation}`, {
      token: gateway.space.apiKey,
      body: { model: 'o9-super-expensive', ...body },
    })
  for (const answer of [
    await call('chat/completions', { messages: hello.messages }),
    await call('chat/completions', { messages: hello.messages, stream: true }),
    await call('embeddings', { input: 'a' }),
  ]) {
    expect([answer.status, answer.body.error.code, answer.body.error.param]).toEqual([
      503,
      'model_not_priced',
      'model',
    ])
    expect(answer.body.error.message).toMatch(/'o9-super-expensive'.*`prices`.*ATRIUM_MODELS/)
  }
  const card = await gateway.platform.call('GET', `/${region}/v1/models/o9-super-expensive`, {
    token: gateway.space.apiKey,
  })
  expect(card.body.available).toBe(false)
  expect(gateway.fake.requests.filter(({ path }) => path !== '/v1/models')).toEqual([])
})

test('prices of 0 are prices; a catalogued model without any is not served, not even by the sandbox', async () => {
  await using gateway = await startWithFake({
    env: { ATRIUM_MODELS: await catalogue(), ATRIUM_SANDBOX: 'on' },
  })
  const chat = (model: string) => gateway.chat({ ...hello, model })
  expect((await chat('priced')).status).toBe(200)
  expect((await chat('given')).status).toBe(200)
  const forgotten = await chat('forgotten')
  expect([forgotten.status, forgotten.body.error.code]).toEqual([503, 'model_not_priced'])
  expect(forgotten.body.error.message).toContain('to its entry in the model catalogue')
  const [given, priced] = await gateway.usage(2)
  expect([given?.model, Number(given?.amount)]).toEqual(['given', 0])
  expect([priced?.model, Number(priced?.amount)]).toEqual(['priced', 0.00004])
})

test('a server found on this machine serves what has no price for nothing', async () => {
  await using gateway = await startWithFake({
    isFound: true,
    fake: { models: ['priced', 'forgotten', 'unknown'] },
    env: { ATRIUM_MODELS: await catalogue() },
  })
  for (const model of ['priced', 'forgotten', 'unknown'])
    expect((await gateway.chat({ ...hello, model })).status).toBe(200)
  const usage = await gateway.usage(3)
  expect(usage.map(({ model, amount }) => [model, Number(amount)])).toEqual([
    ['forgotten', 0],
    ['priced', 0.00004],
    ['unknown', 0],
  ])
})

test('a model that a server without a list does not have by the catalogue is not tried there', async () => {
  await using gateway = await startWithFake()
  const answer = await gateway.chat({ ...hello, model: 'claude-sonnet-4.6' })
  expect([answer.status, answer.body.error.code]).toEqual([503, 'backend_not_configured'])
  const titan = await embed(gateway, { model: 'titan-text-embeddings-v2', input: 'a' })
  expect(titan.status).toBe(503)
  expect(gateway.fake.requests.filter(({ path }) => path !== '/v1/models')).toEqual([])
})
