import { setTimeout } from 'node:timers/promises'
import { sharedTestPlatform, type TestPlatform } from '@atrium/testing'
import { beforeAll, describe, expect, it } from 'vitest'
import { UNKNOWN_ID } from './chat.ts'
import { idOf, SMALL_STORE, type Stores, storesIn, vectorOf } from './retrieval.ts'

type Space = Awaited<ReturnType<TestPlatform['space']>>

let platform: TestPlatform
let home: Space
let other: Space
let stores: Stores

beforeAll(async () => {
  platform = await sharedTestPlatform()
  ;[home, other] = [await platform.space(), await platform.space()]
  stores = storesIn(platform, home.spaceId, home.memberToken)
})

const emptySpace = async (): Promise<Stores> => {
  const { spaceId, apiKey } = await platform.space()
  return storesIn(platform, spaceId, apiKey)
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00$/
const NO_FILES = { total: 0, in_progress: 0, completed: 0, failed: 0 }

describe('creating a store', () => {
  it('takes a name alone, and fills in what is usual', async () => {
    const answer = await stores.call('POST', '', { name: 'Papers' })
    expect(answer.status).toBe(201)
    expect(answer.headers.get('etag')).toBe('"1"')
    expect(answer.body).toEqual({
      vectorStoreId: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/),
      spaceId: home.spaceId,
      name: 'Papers',
      embeddingModel: 'text-embedding-3-small',
      embeddingDimension: 1536,
      chunkSize: 1000,
      chunkOverlap: 200,
      embeddingCount: 0,
      fileCounts: NO_FILES,
      createdAt: expect.stringMatching(TIME),
      updatedAt: answer.body.createdAt,
      createdBy: { qxId: expect.stringMatching(/^qx-member/), name: expect.stringMatching(/^Name of/) },
      metadata: {},
    })
    const read = await stores.call('GET', `/${answer.body.vectorStoreId}`)
    expect([read.status, read.headers.get('etag'), read.body]).toEqual([200, '"1"', answer.body])
  })

  it('keeps every field given, and ignores those of the server’s and unknown ones', async () => {
    const given = {
      name: 'n'.repeat(256),
      description: 'd'.repeat(1024),
      embeddingModel: 'text-embedding-3-large',
      embeddingDimension: 3072,
      chunkSize: 4096,
      chunkOverlap: 1000,
      createdBy: { qxId: 'qx-ada', name: 'Ada' },
      metadata: { team: 'search', nested: { deep: [1, null, true] }, 'quo\'te"': '\\' },
    }
    const answer = await stores.call('POST', '', {
      ...given,
      createdBy: { ...given.createdBy, isAdmin: true },
      vectorStoreId: UNKNOWN_ID,
      spaceId: other.spaceId,
      embeddingCount: 7,
      fileCounts: { total: 1 },
      createdAt: '1999-01-01T00:00:00.000+00:00',
      status: 'deleting',
      surprise: 1,
    })
    expect(answer.body).toEqual({
      ...given,
      vectorStoreId: expect.any(String),
      spaceId: home.spaceId,
      embeddingCount: 0,
      fileCounts: NO_FILES,
      createdAt: expect.stringMatching(TIME),
      updatedAt: answer.body.createdAt,
    })
    expect(answer.body.vectorStoreId).not.toBe(UNKNOWN_ID)
    expect(answer.body.createdAt).not.toContain('1999')
  })

  it.each<[string | undefined, number | undefined, string, number]>([
    [undefined, undefined, 'text-embedding-3-small', 1536],
    [undefined, 1536, 'text-embedding-3-small', 1536],
    ['text-embedding-3-small', undefined, 'text-embedding-3-small', 1536],
    ['text-embedding-3-small', 1536, 'text-embedding-3-small', 1536],
    ['text-embedding-3-large', undefined, 'text-embedding-3-large', 3072],
    ['text-embedding-3-large', 3072, 'text-embedding-3-large', 3072],
    ['titan-text-embeddings-v2', undefined, 'titan-text-embeddings-v2', 1024],
    ['titan-text-embeddings-v2', 1024, 'titan-text-embeddings-v2', 1024],
  ])(
    'model %s and dimension %s make %s with %i',
    async (embeddingModel, embeddingDimension, model, dimension) => {
      const { status, body } = await stores.call('POST', '', {
        name: 'pair',
        embeddingModel,
        embeddingDimension,
      })
      expect([status, body.embeddingModel, body.embeddingDimension]).toEqual([201, model, dimension])
    },
  )

  it.each<[string | undefined, unknown, string, string]>([
    [undefined, 1024, 'UNSUPPORTED_EMBEDDING_DIMENSION', 'goes with titan-text-embeddings-v2'],
    [undefined, 3072, 'UNSUPPORTED_EMBEDDING_DIMENSION', 'goes with text-embedding-3-large'],
    ['text-embedding-3-small', 1024, 'UNSUPPORTED_EMBEDDING_DIMENSION', 'must be 1536'],
    ['text-embedding-3-small', 3072, 'UNSUPPORTED_EMBEDDING_DIMENSION', 'must be 1536'],
    ['text-embedding-3-large', 1024, 'UNSUPPORTED_EMBEDDING_DIMENSION', 'must be 3072'],
    ['text-embedding-3-large', 1536, 'UNSUPPORTED_EMBEDDING_DIMENSION', 'must be 3072'],
    ['titan-text-embeddings-v2', 1536, 'UNSUPPORTED_EMBEDDING_DIMENSION', 'must be 1024'],
    ['titan-text-embeddings-v2', 3072, 'UNSUPPORTED_EMBEDDING_DIMENSION', 'must be 1024'],
    ['text-embedding-3-small', 512, 'UNSUPPORTED_EMBEDDING_DIMENSION', 'not 512'],
    ['text-embedding-3-small', 0, 'UNSUPPORTED_EMBEDDING_DIMENSION', 'not 0'],
    ['text-embedding-3-small', -1536, 'UNSUPPORTED_EMBEDDING_DIMENSION', 'not -1536'],
    ['text-embedding-3-small', 1536.5, 'INVALID_INPUT', 'integer'],
    ['text-embedding-3-small', '1536', 'INVALID_INPUT', 'integer'],
    ['text-embedding-ada-002', undefined, 'UNSUPPORTED_EMBEDDING_MODEL', 'text-embedding-ada-002'],
    ['Text-Embedding-3-Small', undefined, 'UNSUPPORTED_EMBEDDING_MODEL', 'must be one of'],
    ['', undefined, 'UNSUPPORTED_EMBEDDING_MODEL', 'must be one of'],
    ['__proto__', undefined, 'UNSUPPORTED_EMBEDDING_MODEL', 'must be one of'],
    ['gpt-4o', 1536, 'UNSUPPORTED_EMBEDDING_MODEL', 'must be one of'],
  ])('model %s with dimension %s is refused', async (embeddingModel, embeddingDimension, code, reason) => {
    const { status, body } = await stores.call('POST', '', {
      name: 'pair',
      embeddingModel,
      embeddingDimension,
    })
    expect([status, body.error, body.code]).toEqual([400, true, code])
    expect(body.message).toContain(reason)
    expect(body.message).toMatch(/body\.embedding(Model|Dimension)/)
  })

  it.each<[string, unknown]>([
    ['name', undefined],
    ['name', ''],
    ['name', '  '],
    ['name', 'n'.repeat(257)],
    ['name', 5],
    ['name', null],
    ['description', 'd'.repeat(1025)],
    ['description', 5],
    ['chunkSize', 99],
    ['chunkSize', 4097],
    ['chunkSize', 100.5],
    ['chunkSize', '1000'],
    ['chunkOverlap', -1],
    ['chunkOverlap', 1001],
    ['chunkOverlap', 0.5],
    ['createdBy', {}],
    ['createdBy', { qxId: 'q' }],
    ['createdBy', 'Ada'],
    ['metadata', []],
    ['metadata', 'text'],
    ['metadata', { language: 'klingon' }],
    ['metadata', { language: 5 }],
    ['metadata', { language: null }],
    ['metadata', { language: '__proto__' }],
  ])('refuses %s as %j and names it', async (field, value) => {
    const answer = await stores.call('POST', '', { ...SMALL_STORE, [field]: value })
    expect(answer.status).toBe(400)
    expect(answer.body).toEqual({
      error: true,
      message: expect.stringContaining(`body.${field}`),
      code: 'INVALID_INPUT',
    })
  })

  it('wants an overlap smaller than the chunks; one that nobody named fits by itself', async () => {
    const made = async (sizes: object) => (await stores.call('POST', '', { ...SMALL_STORE, ...sizes })).body
    expect(await made({ chunkSize: 100, chunkOverlap: 99 })).toMatchObject({
      chunkSize: 100,
      chunkOverlap: 99,
    })
    expect(await made({ chunkSize: 100, chunkOverlap: 0 })).toMatchObject({ chunkOverlap: 0 })
    const small = await made({ chunkSize: 100 })
    expect(small.chunkOverlap).toBeLessThan(100)
    for (const sizes of [
      { chunkSize: 100, chunkOverlap: 100 },
      { chunkSize: 999, chunkOverlap: 1000 },
    ]) {
      expect(await made(sizes)).toMatchObject({
        code: 'INVALID_INPUT',
        message: expect.stringMatching(/chunkOverlap must be less than chunkSize/),
      })
    }
  })

  it('refuses bodies that are none, NUL and numbers beyond doubles', async () => {
    for (const [body, code] of [
      ['{"name": ', 'INVALID_JSON'],
      ['[]', 'INVALID_INPUT'],
      ['"name"', 'INVALID_INPUT'],
      ['{"name": "a\\u0000b"}', 'INVALID_INPUT'],
      ['{"name": "a", "metadata": {"a\\u0000": 1}}', 'INVALID_INPUT'],
      ['{"name": "a", "metadata": {"a": [1e999]}}', 'INVALID_INPUT'],
      [`{"name": "a", "metadata": ${'{"a":'.repeat(100)}1${'}'.repeat(100)}}`, 'JSON_TOO_DEEP'],
    ] as const) {
      const answer = await stores.call('POST', '', body)
      expect([answer.status, answer.body.code], body.slice(0, 60)).toEqual([400, code])
    }
    expect((await stores.call('POST', '')).status).toBe(400)
    const large = await stores.call('POST', '', { name: 'a', metadata: { a: 'x'.repeat(1_100_000) } })
    expect([large.status, large.body.code]).toEqual([413, 'BODY_TOO_LARGE'])
  })

  it('is for those in the space, with any credential', async () => {
    const path = `/agents/v1/spaces/${home.spaceId}/vector-stores`
    const post = (token?: string) =>
      platform.call('POST', path, { ...(token === undefined ? {} : { token }), body: SMALL_STORE })
    for (const token of [
      home.ownerToken,
      home.apiKey,
      platform.superuser.token,
      platform.superuserClient.token,
    ]) {
      expect((await post(token)).status).toBe(201)
    }
    for (const token of [other.ownerToken, other.memberToken, other.apiKey]) {
      const answer = await post(token)
      expect([answer.status, answer.body.code]).toEqual([403, 'FORBIDDEN'])
    }
    expect((await post()).status).toBe(401)
    for (const space of [UNKNOWN_ID, 'not-a-uuid']) {
      const nowhere = await platform.call('POST', `/agents/v1/spaces/${space}/vector-stores`, {
        token: platform.superuser.token,
        body: SMALL_STORE,
      })
      expect([nowhere.status, nowhere.body.code]).toEqual([404, 'SPACE_NOT_FOUND'])
    }
  })
})

/** Every operation on one store, with a body that it takes. */
const onStore: readonly (readonly [string, string, object?])[] = [
  ['GET', ''],
  ['PUT', '', { name: 'taken' }],
  ['GET', '/embeddings'],
  ['POST', '/embeddings', { embeddings: [vectorOf(1)] }],
  ['DELETE', '/embeddings', { deleteAll: true }],
  ['POST', '/search', { queryEmbedding: vectorOf(1) }],
  ['POST', '/keyword-search', { queryText: 'secret' }],
  ['POST', '/keyword-filter-search', { keywords: ['secret'], filters: {} }],
  ['POST', '/hybrid-search', { queryText: 'secret', queryEmbedding: vectorOf(1) }],
  ['POST', '/evaluate', { queryText: 'secret', queryEmbedding: vectorOf(1), relevantIds: ['x'] }],
  ['DELETE', ''],
]

describe('one store', () => {
  it('is not there by an unknown id, an id of another form, under another space, or once deleted', async () => {
    const theirs = storesIn(platform, other.spaceId, other.apiKey)
    const store = await theirs.store({ name: 'secret store' })
    await theirs.add(store, [{ vector: vectorOf(1), chunk: 'secret' }])
    const deleted = await stores.store()
    await stores.add(deleted, [{ vector: vectorOf(1), chunk: 'secret' }])
    expect((await stores.call('DELETE', deleted)).status).toBe(200)
    const ids = [
      UNKNOWN_ID,
      'not-a-uuid',
      "' OR 1=1 --",
      '..',
      `${other.spaceId}_${idOf(store)}`,
      idOf(store),
      idOf(store).toUpperCase(),
      idOf(deleted),
    ]
    for (const [method, path, body] of onStore) {
      for (const id of ids) {
        const escaped = id === '..' ? '%2e%2e%2f' : encodeURIComponent(id)
        const answer = await stores.call(method, `/${escaped}${path}`, body)
        expect([answer.status, answer.body.code], `${method} ${path} ${id}`).toEqual([
          404,
          'VECTOR_STORE_NOT_FOUND',
        ])
        expect(JSON.stringify(answer.body)).not.toContain('secret')
      }
    }
    expect(await theirs.list(store)).toHaveLength(1)
    expect((await theirs.call('GET', store)).body.name).toBe('secret store')
    expect((await stores.call('GET', '')).body).not.toContainEqual(
      expect.objectContaining({ name: 'secret store' }),
    )
  })

  it('is for those in its space alone', async () => {
    const store = await stores.store()
    for (const [method, path, body] of onStore) {
      for (const [token, status] of [
        [undefined, 401],
        ['nonsense', 401],
        [other.memberToken, 403],
        [other.apiKey, 403],
      ] as const) {
        const answer = await platform.call(
          method,
          `/agents/v1/spaces/${home.spaceId}/vector-stores${store}${path}`,
          { ...(token === undefined ? {} : { token }), ...(body === undefined ? {} : { body }) },
        )
        expect([answer.status, answer.body.error], `${method} ${path}`).toEqual([status, true])
      }
    }
    expect((await stores.call('GET', store)).status).toBe(200)
  })

  it('is the same by its id in capitals', async () => {
    const store = await stores.store()
    const capitals = `/${idOf(store).toUpperCase()}`
    await stores.add(capitals, [{ vector: vectorOf(1), chunk: 'one' }])
    await stores.add(store, [{ vector: vectorOf(2), chunk: 'two' }])
    for (const path of [store, capitals]) {
      const { body } = await stores.call('GET', path)
      expect([body.vectorStoreId, body.embeddingCount]).toEqual([idOf(store), 2])
      expect(await stores.list(path)).toHaveLength(2)
      expect(await stores.search(path, 'keyword-search', { queryText: 'one two' })).toHaveLength(2)
    }
    const space = storesIn(platform, home.spaceId.toUpperCase(), home.memberToken)
    expect(await space.list(store)).toHaveLength(2)
    const gone = await stores.call('DELETE', capitals)
    expect(gone.body).toEqual({ vectorStoreId: idOf(store), deleted: true })
    expect((await stores.call('GET', store)).status).toBe(404)
  })

  it('changes only in the given fields; updatedBy is the caller unless given', async () => {
    const store = await stores.store({ description: 'd', metadata: { a: 1, b: 2 } })
    const before = (await stores.call('GET', store)).body
    // Times are shown in milliseconds.
    await setTimeout(2)
    const first = await stores.call('PUT', store, {
      metadata: { b: 3 },
      vectorStoreId: UNKNOWN_ID,
      spaceId: other.spaceId,
      embeddingModel: 'text-embedding-3-large',
      embeddingDimension: 3072,
      embeddingCount: 9,
      createdBy: { qxId: 'qx-eve', name: 'Eve' },
      surprise: 1,
    })
    expect([first.status, first.headers.get('etag')]).toEqual([200, '"2"'])
    expect(first.body).toEqual({
      ...before,
      metadata: { b: 3 },
      updatedAt: expect.stringMatching(TIME),
      updatedBy: { qxId: expect.stringMatching(/^qx-member/), name: expect.stringMatching(/^Name of/) },
    })
    expect(first.body.updatedAt > before.updatedAt).toBe(true)
    const second = await stores.call('PUT', store, {
      name: 'Other',
      description: '',
      chunkSize: 300,
      chunkOverlap: 30,
      updatedBy: { qxId: 'qx-bob', name: 'Bob', extra: 1 },
    })
    expect(second.body).toEqual({
      ...first.body,
      name: 'Other',
      description: '',
      chunkSize: 300,
      chunkOverlap: 30,
      updatedBy: { qxId: 'qx-bob', name: 'Bob' },
      updatedAt: expect.any(String),
    })
    expect((await stores.call('GET', store)).body).toEqual(second.body)
    expect((await stores.call('PUT', store, {})).status).toBe(200)
  })

  it('refuses changes that are not valid, and stores nothing of them', async () => {
    const store = await stores.store({ chunkSize: 500, chunkOverlap: 100 })
    for (const body of [
      { name: '' },
      { name: null },
      { name: 'n'.repeat(257) },
      { description: 'd'.repeat(1025) },
      { chunkSize: 99 },
      { chunkSize: 100 },
      { chunkOverlap: 500 },
      { chunkOverlap: -1 },
      { chunkSize: 200, chunkOverlap: 200 },
      { updatedBy: { qxId: 'x' } },
      { metadata: [] },
      { metadata: { language: 'klingon' }, name: 'changed' },
      [],
      'text',
    ]) {
      const answer = await stores.call('PUT', store, JSON.stringify(body))
      expect([answer.status, answer.body.code], JSON.stringify(body)).toEqual([400, 'INVALID_INPUT'])
    }
    expect((await stores.call('PUT', store)).status).toBe(400)
    expect((await stores.call('PUT', store, '{"metadata": {"a": -1e999}}')).status).toBe(400)
    const large = await stores.call('PUT', store, { metadata: { a: 'x'.repeat(1_100_000) } })
    expect([large.status, large.body.code]).toEqual([413, 'BODY_TOO_LARGE'])
    expect((await stores.call('GET', store)).headers.get('etag')).toBe('"1"')
    expect((await stores.call('PUT', store, { chunkSize: 101 })).body.chunkOverlap).toBe(100)
    expect((await stores.call('PUT', store, { chunkOverlap: 99 })).body.chunkSize).toBe(101)
  })

  it('never gets an overlap that its chunks cannot have, by writers at the same time either', async () => {
    const store = await stores.store({ chunkSize: 1000, chunkOverlap: 100 })
    for (let round = 0; round < 5; round++) {
      await stores.demand(200, 'PUT', store, { chunkSize: 1000, chunkOverlap: 100 })
      const answers = await Promise.all([
        ...Array.from({ length: 4 }, () => stores.call('PUT', store, { chunkSize: 300 })),
        ...Array.from({ length: 4 }, () => stores.call('PUT', store, { chunkOverlap: 600 })),
      ])
      const statuses = new Set(answers.map(({ status }) => status))
      expect([...statuses].sort()).toEqual([200, 400])
      const { body } = await stores.call('GET', store)
      expect(body.chunkOverlap).toBeLessThan(body.chunkSize)
    }
  })

  it('honours If-Match on writes', async () => {
    const store = await stores.store()
    const send = (method: string, tag: string, body?: unknown) =>
      stores.call(method, store, body, { headers: { 'if-match': tag } })
    expect((await send('PUT', '"1"', { name: 'v2' })).status).toBe(200)
    const stale = await send('PUT', '"1"', { name: 'v3' })
    expect([stale.status, stale.body.code]).toEqual([412, 'PRECONDITION_FAILED'])
    expect((await send('DELETE', '"1"')).status).toBe(412)
    expect((await send('PUT', '*', { name: 'v3' })).status).toBe(200)
    // Embeddings do not change the fields that the tag stands for.
    await stores.add(store, [{ vector: vectorOf(1) }])
    expect((await send('DELETE', '"9", "3"')).status).toBe(200)
    expect((await send('DELETE', '"3"')).status).toBe(404)
    expect((await send('PUT', '"3"', { name: 'v4' })).status).toBe(404)
  })

  it('lets exactly one of many writers with the same tag win', async () => {
    const store = await stores.store()
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        stores.call('PUT', store, { name: `writer ${index}` }, { headers: { 'if-match': '"1"' } }),
      ),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(412)])
  })

  it('takes its embeddings with it, and is deleted once', async () => {
    const store = await stores.store()
    await stores.add(store, [{ vector: vectorOf(1), chunk: 'words of it' }])
    const answers = await Promise.all([stores.call('DELETE', store), stores.call('DELETE', store)])
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 404])
    const gone = answers.find(({ status }) => status === 200)
    expect(gone?.body).toEqual({ vectorStoreId: idOf(store), deleted: true })
    expect((await stores.call('DELETE', store)).body.code).toBe('VECTOR_STORE_NOT_FOUND')
    for (const table of ['vector_stores', 'vocabularies', 'vocabulary_words', 'vector_store_upkeep']) {
      const { rows } = await platform.pool.query(
        `SELECT count(*)::int AS n FROM agents.${table} WHERE vector_store_id = $1`,
        [idOf(store)],
      )
      expect(rows[0].n, table).toBe(0)
    }
  })

  it('answers 200 or 404 and nothing else while it is being deleted', async () => {
    for (let round = 0; round < 3; round++) {
      const store = await stores.store()
      await stores.add(store, [{ vector: vectorOf(1), chunk: 'secret' }])
      const calls = onStore.slice(0, -1).flatMap((call) => [call, call, call])
      const half = calls.length / 2
      const others = (some: typeof calls) =>
        some.map(([method, path, body]) => stores.call(method, `${store}${path}`, body))
      const answers = await Promise.all([
        ...others(calls.slice(0, half)),
        stores.call('DELETE', store),
        ...others(calls.slice(half)),
      ])
      for (const { status, body } of answers) expect([200, 201, 404], JSON.stringify(body)).toContain(status)
      expect((await stores.call('GET', store)).status).toBe(404)
    }
  })
})

describe('listing stores', () => {
  it('gives all in the order of their creation, without fileCounts, and none of another space', async () => {
    const space = await emptySpace()
    expect((await space.call('GET', '')).body).toEqual([])
    const paths: string[] = []
    for (let i = 0; i < 5; i++) paths.push(await space.store({ name: `store ${5 - i}` }))
    await space.add(paths[1] ?? '', [{ vector: vectorOf(1) }, { vector: vectorOf(0, 1) }])
    const listed = (await space.call('GET', '')).body as { vectorStoreId: string; embeddingCount: number }[]
    expect(listed.map(({ vectorStoreId }) => `/${vectorStoreId}`)).toEqual(paths)
    expect(listed.map(({ embeddingCount }) => embeddingCount)).toEqual([0, 2, 0, 0, 0])
    const { fileCounts, ...second } = (await space.call('GET', paths[1] ?? '')).body
    expect(fileCounts).toEqual(NO_FILES)
    expect(listed[1]).toEqual(second)
    const ids = async (query: string) =>
      ((await space.call('GET', query)).body as { vectorStoreId: string }[]).map(
        ({ vectorStoreId }) => `/${vectorStoreId}`,
      )
    expect(await ids('?limit=2')).toEqual(paths.slice(0, 2))
    expect(await ids('?limit=2&page=3')).toEqual(paths.slice(4))
    expect(await ids('?limit=2&page=4')).toEqual([])
    for (const query of ['?limit=0', '?limit=1001', '?limit=x', '?page=0']) {
      expect((await space.call('GET', query)).status, query).toBe(400)
    }
  })

  it('comes whole while stores are deleted', async () => {
    const space = await emptySpace()
    const kept: string[] = []
    const doomed: string[] = []
    for (let i = 0; i < 12; i++) {
      const path = await space.store()
      await space.add(path, [{ vector: vectorOf(1) }])
      ;(i % 2 === 0 ? kept : doomed).push(path)
    }
    const [, ...lists] = await Promise.all([
      Promise.all(doomed.map((path) => space.call('DELETE', path))),
      ...Array.from({ length: 6 }, () => space.call('GET', '')),
    ])
    for (const { status, body } of lists) {
      expect(status).toBe(200)
      const ids = (body as { vectorStoreId: string }[]).map(({ vectorStoreId }) => `/${vectorStoreId}`)
      expect(ids).toEqual(expect.arrayContaining(kept))
    }
    expect((await space.call('GET', '')).body).toHaveLength(kept.length)
  })
})

describe('the language of a store', () => {
  const found = async (store: string, queryText: string) =>
    (await stores.search(store, 'keyword-search', { queryText, fuzzy: false })).map(({ chunk }) => chunk)
  const fill = (store: string, ...chunks: string[]) =>
    stores.add(
      store,
      chunks.map((chunk, index) => ({ vector: vectorOf(1, index), chunk })),
    )

  it('decides on stems and stop words: English by default, another by name, or none', async () => {
    const english = await stores.store()
    await fill(english, 'The houses are running', 'Häuser und Wohnungen')
    expect(await found(english, 'house')).toEqual(['The houses are running'])
    expect(await found(english, 'the')).toEqual([])
    expect(await found(english, 'und')).toEqual(['Häuser und Wohnungen'])
    expect(await found(english, 'Wohnung')).toEqual([])

    const german = await stores.store({ metadata: { language: 'german' } })
    await fill(german, 'The houses are running', 'Häuser und Wohnungen')
    expect(await found(german, 'Wohnung')).toEqual(['Häuser und Wohnungen'])
    expect(await found(german, 'und')).toEqual([])
    expect(await found(german, 'the')).toEqual(['The houses are running'])

    const none = await stores.store({ metadata: { language: 'none' } })
    await fill(none, 'The houses are running', 'Häuser und Wohnungen')
    expect(await found(none, 'house')).toEqual([])
    expect(await found(none, 'HOUSES')).toEqual(['The houses are running'])
    expect(await found(none, 'the')).toEqual(['The houses are running'])
    expect(await found(none, 'hauser')).toEqual(['Häuser und Wohnungen'])
  })

  it('changes only while there are no embeddings', async () => {
    const store = await stores.store()
    expect((await stores.call('PUT', store, { metadata: { language: 'klingon' } })).status).toBe(400)
    await stores.demand(200, 'PUT', store, { metadata: { language: 'german' } })
    await fill(store, 'Wohnungen')
    expect(await found(store, 'Wohnung')).toEqual(['Wohnungen'])
    const refused = await stores.call('PUT', store, { metadata: { language: 'english' }, name: 'changed' })
    expect([refused.status, refused.body.code]).toEqual([400, 'INVALID_INPUT'])
    expect(refused.body.message).toMatch(/body\.metadata\.language.*german/)
    expect((await stores.call('GET', store)).body.name).toBe('store')
    // The same again is no change, and metadata that names none leaves it.
    await stores.demand(200, 'PUT', store, { metadata: { language: 'german', a: 1 } })
    await stores.demand(200, 'PUT', store, { metadata: { a: 2 } })
    expect(await found(store, 'Wohnung')).toEqual(['Wohnungen'])
    await stores.demand(200, 'DELETE', `${store}/embeddings`, { deleteAll: true })
    await stores.demand(200, 'PUT', store, { metadata: { language: 'none' } })
    await fill(store, 'Wohnungen')
    expect(await found(store, 'Wohnung')).toEqual([])
  })
})
