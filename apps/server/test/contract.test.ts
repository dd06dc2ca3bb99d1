import { BLANKS } from '@atrium/kernel/http'
import { startTestPlatform, type TestPlatform } from '@atrium/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

interface Media {
  readonly schema?: Readonly<Record<string, unknown>>
  readonly itemSchema?: Readonly<Record<string, unknown>>
}

interface Operation {
  readonly operationId: string
  readonly summary?: string
  readonly tags?: readonly string[]
  readonly requestBody?: { readonly content: Record<string, Media> }
  readonly responses: Record<string, { $ref?: string; description?: string; content?: Record<string, Media> }>
}

interface Document {
  readonly paths: Record<string, Record<string, Operation>>
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  readonly components: Readonly<Record<string, Readonly<Record<string, Record<string, unknown>>>>>
}

let platform: TestPlatform
beforeAll(async () => {
  platform = await startTestPlatform()
})
afterAll(() => platform.close())

/** Every object of a value, itself included. */
function* objectsIn(value: unknown): Generator<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return
  if (!Array.isArray(value)) yield value as Record<string, unknown>
  for (const inner of Object.values(value)) yield* objectsIn(inner)
}

/** What a schema refers to: itself, as items of a list, or as what may also be null. */
function nameIn(schema: Readonly<Record<string, unknown>> = {}): unknown {
  const { $ref, items, anyOf } = schema as { $ref?: string; items?: object; anyOf?: object[] }
  if (items !== undefined) return nameIn(items as typeof schema)
  return anyOf?.length === 2 ? nameIn(anyOf[0] as typeof schema) : $ref
}

describe.each(['auth', 'portal', 'llm', 'agents', 'workflows'])('the contract of /%s', (address) => {
  let document: Document
  let operations: Operation[]
  beforeAll(async () => {
    const response = await fetch(`${platform.url}/${address}/openapi.json`)
    expect(response.status).toBe(200)
    document = (await response.json()) as Document
    operations = Object.values(document.paths).flatMap((methods) => Object.values(methods))
  })

  it('names every body and every JSON answer', () => {
    const unnamed = operations.flatMap(({ operationId, requestBody, responses }) =>
      [requestBody, ...Object.values(responses)].flatMap((one) =>
        Object.entries(one?.content ?? {})
          .filter(([type]) => type !== 'text/html' && type !== 'text/csv')
          .filter(([, { schema, itemSchema }]) => nameIn(itemSchema ?? schema) === undefined)
          .map(([type]) => `${operationId} ${type}`),
      ),
    )
    expect(unnamed).toEqual([])
    for (const name of Object.keys(document.components.schemas ?? {}))
      expect(name).toMatch(/^[A-Z][A-Za-z]+$/)
  })

  it('is also there in OpenAPI 3.1, for generators', async () => {
    const lower = (await (await fetch(`${platform.url}/${address}/openapi-3.1.json`)).json()) as Document & {
      readonly openapi: string
    }
    expect(lower.openapi).toBe('3.1.1')
    expect(Object.keys(lower.paths)).toEqual(Object.keys(document.paths))
    expect(Object.values<object>(lower.paths).flatMap((path) => Object.keys(path))).not.toContain('query')
  })

  it('refers only to what is there', () => {
    for (const { $ref } of objectsIn(document)) {
      if (typeof $ref !== 'string') continue
      const [, , part = '', name = ''] = $ref.split('/')
      expect(document.components[part]?.[name], $ref).toBeDefined()
    }
  })

  it('says in words what every pattern asks for', () => {
    for (const schema of objectsIn(document)) {
      if (typeof schema.pattern === 'string')
        expect(schema['x-must'], schema.pattern).toEqual(expect.any(String))
    }
  })

  it('writes patterns that every validator reads alike', () => {
    for (const { pattern } of objectsIn(document)) {
      if (typeof pattern !== 'string') continue
      expect(pattern, 'digits and letters of which script?').not.toMatch(/\\[dDwWSpPbB]/)
      if (pattern.includes('\\s')) expect(pattern).toContain(BLANKS)
    }
  })

  it('describes each operation and each answer in words', () => {
    for (const { operationId, summary, tags, responses } of operations) {
      expect([operationId, summary, tags]).toEqual([operationId, expect.any(String), [expect.any(String)]])
      for (const { $ref, description } of Object.values(responses)) {
        if ($ref === undefined) expect(description, operationId).not.toMatch(/^(Default Response)?$/)
      }
    }
  })

  it('describes each group of operations', () => {
    const described = document.tags.filter(({ description }) => description !== '').map(({ name }) => name)
    expect(new Set(described)).toEqual(new Set(operations.flatMap(({ tags = [] }) => tags)))
  })

  it('answers 414 for a part of a path that is too long', async () => {
    const path = Object.keys(document.paths).find(
      (one) => /^\/v1\/.*\}$/.test(one) && document.paths[one]?.get,
    )
    const answer = await platform.call(
      'GET',
      `/${address}${path?.replaceAll(/\{[^}]+\}/g, 'x'.repeat(300))}`,
      { token: platform.superuser.token },
    )
    expect(answer.status).toBe(414)
  })

  it('has one error for every failure in JSON', () => {
    for (const { operationId, responses } of operations) {
      for (const [status, { content }] of Object.entries(responses)) {
        const { schema } = content?.['application/json'] ?? {}
        if (Number(status) < 400 || schema === undefined || schema.$ref === '#/components/schemas/NotReady')
          continue
        expect(schema, `${operationId} ${status}`).toEqual({ $ref: '#/components/schemas/Error' })
      }
    }
  })
})
