import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ask, embed, MODEL } from './embed.ts'
import { startWithFake } from './platform.ts'

describe('embeddings of the sandbox', () => {
  let sandbox: Awaited<ReturnType<typeof startWithFake>>
  beforeAll(async () => {
    sandbox = await startWithFake({
      env: { OPENAI_BASE_URL: '', OPENAI_API_KEY: '', ATRIUM_SANDBOX: 'on' },
    })
  })
  afterAll(() => sandbox[Symbol.asyncDispose]())

  const dot = (a: readonly number[] = [], b: readonly number[] = []): number =>
    a.reduce((sum, value, i) => sum + value * (b[i] ?? 0), 0)

  test.each([
    [MODEL, 1536],
    ['text-embedding-3-large', 3072],
    ['titan-text-embeddings-v2', 1024],
  ])('%s has %i dimensions, or as many as asked for', async (model, dimensions) => {
    const answer = await embed(sandbox, { ...ask, model })
    expect(answer.headers.get('x-atrium-backend')).toBe('sandbox')
    expect(answer.body.data[0].embedding).toHaveLength(dimensions)
    expect(dot(answer.body.data[0].embedding, answer.body.data[0].embedding)).toBeCloseTo(1, 5)
    const short = await embed(sandbox, { ...ask, model, dimensions: 256 })
    expect(short.body.data[0].embedding).toHaveLength(256)
    expect((await embed(sandbox, { ...ask, model })).body).toEqual(answer.body)
  })

  test('base64, text and tokens mean the same', async () => {
    const base64 = await sandbox.client.embeddings.create(ask)
    const floats = await sandbox.client.embeddings.create({ ...ask, encoding_format: 'float' })
    expect(base64.data[0]?.embedding).toEqual(floats.data[0]?.embedding)
    // "An aeroplane has wings" in cl100k_base.
    const { encode } = await import('gpt-tokenizer/encoding/cl100k_base')
    const tokens = await sandbox.client.embeddings.create({ ...ask, input: encode(ask.input) })
    expect(tokens.data[0]?.embedding).toEqual(base64.data[0]?.embedding)
    const unknown = await embed(sandbox, { ...ask, input: [2_000_000_000] })
    expect(unknown.status).toBe(200)
  })

  test('likes what is alike', async () => {
    const { data } = await sandbox.client.embeddings.create({
      model: MODEL,
      input: [
        'How do wings lift aeroplanes?',
        'The lift of an aeroplane wing depends on the angle of attack.',
        'The bread is baked in a wood-fired oven for an hour.',
        'AÉROPLANES; WING!! lifting',
        '飞机的机翼产生升力',
        '机翼如何产生升力?',
        '…',
      ],
    })
    const [question, answer, bread, shouted, wing, lift, dots] = data.map(({ embedding }) => embedding)
    expect(dot(question, answer)).toBeGreaterThan(0.3)
    expect(dot(question, shouted)).toBeGreaterThan(0.6)
    expect(Math.abs(dot(question, bread))).toBeLessThan(0.15)
    expect(dot(wing, lift)).toBeGreaterThan(0.3)
    expect(dot(dots, dots)).toBeCloseTo(1, 5)
  })

  test('is marked in the costs', async () => {
    await using fresh = await startWithFake({
      env: { OPENAI_BASE_URL: '', OPENAI_API_KEY: '', ATRIUM_SANDBOX: 'on' },
    })
    expect((await embed(fresh, { ...ask, input: [ask.input, ask.input] })).status).toBe(200)
    const [usage] = await fresh.usage(1)
    expect(usage).toMatchObject({ model: `${MODEL} (sandbox)`, requests: 1, promptTokens: 12 })
  })
})
