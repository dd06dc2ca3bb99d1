import { sharedTestPlatform, type TestPlatform } from '@atrium/testing'
import fc from 'fast-check'
import { beforeAll, expect, it } from 'vitest'
import { type Chat, chatIn } from './chat.ts'

let platform: TestPlatform
let chat: Chat
let agentId = ''
let thread = ''

beforeAll(async () => {
  platform = await sharedTestPlatform()
  const { spaceId, apiKey } = await platform.space()
  chat = chatIn(platform, spaceId, apiKey)
  agentId = await chat.agent()
  thread = await chat.thread(agentId)
})

/** Whatever characters there are, quotes and control characters among them, but NUL, which is refused. */
const text = fc
  .oneof(
    fc.string({ unit: 'binary' }),
    fc.string(),
    fc.constantFrom("'", '"', '\\', '$1', '{}', '}', ',', '.', '%'),
  )
  .map((value) => value.replaceAll('\0', ''))
const scalar = fc.oneof(
  text,
  fc.boolean(),
  fc.constant(null),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => (value === 0 ? 0 : value)),
)
// V8 13.6 reads the key `"` as `\` where it has seen an object with that key before: its fault, not the service's.
const key = text.filter((value) => value !== '__proto__' && value !== 'constructor' && !value.endsWith('\\'))
const metadata = fc.dictionary(key, scalar, { noNullPrototype: true, maxKeys: 8 })

const finds = async (filter: object): Promise<boolean> => {
  const answer = await chat.call('QUERY', `/agent/${agentId}/thread`, { metadata: filter })
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  return answer.body.length === 1
}

it('any metadata is found by all of it, by each of its values, and by none but its own', {
  timeout: 120_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(metadata, scalar, async (stored, other) => {
      const changed = await chat.call('PATCH', thread, { metadata: stored })
      expect([changed.status, changed.body.metadata]).toEqual([200, stored])
      expect(await finds(stored)).toBe(true)
      for (const [name, value] of Object.entries(stored)) {
        expect(await finds({ [name]: [other, value] })).toBe(true)
        expect(await finds({ [name]: other })).toBe(JSON.stringify(other) === JSON.stringify(value))
        expect(await finds({ ...stored, [`${name}x`]: value })).toBe(
          `${name}x` in stored && stored[`${name}x`] === value,
        )
      }
    }),
    { numRuns: 20 },
  )
})

it('any nested value is found by its path', { timeout: 120_000 }, async () => {
  const part = key.map((value) => value.replaceAll('.', ''))
  await fc.assert(
    fc.asyncProperty(fc.array(part, { minLength: 2, maxLength: 6 }), scalar, async (parts, value) => {
      const stored = parts.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value)
      await chat.call('PATCH', thread, { metadata: stored })
      expect(await finds({ [parts.join('.')]: value })).toBe(true)
      expect(await finds({ [parts.join('.')]: [value] })).toBe(true)
      expect(await finds({ [[...parts, 'x'].join('.')]: value })).toBe(false)
    }),
    { numRuns: 20 },
  )
})
