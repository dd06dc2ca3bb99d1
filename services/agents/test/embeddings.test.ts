import { request as httpRequest } from 'node:http'
import { sharedTestPlatform, type TestPlatform } from '@atrium/testing'
import { beforeAll, describe, expect, it } from 'vitest'
import { UNKNOWN_ID } from './chat.ts'
import { DIMENSION, type Item, idOf, randomVector, type Stores, storesIn, vectorOf } from './retrieval.ts'

let platform: TestPlatform
let spaceId = ''
let token = ''
let stores: Stores

beforeAll(async () => {
  platform = await sharedTestPlatform()
  ;({ spaceId, apiKey: token } = await platform.space())
  stores = storesIn(platform, spaceId, token)
})

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00$/
const idsOf = (items: readonly Item[]): string[] => items.map(({ embeddingId }) => embeddingId)
const countIn = async (store: string): Promise<number> =>
  (await stores.call('GET', store)).body.embeddingCount

/** JSON of a vector in which one number is the given text. */
const vectorWith = (text: string, at = 5): string =>
  `[${vectorOf(1)
    .map((number, index) => (index === at ? text : String(number)))
    .join()}]`

/** Chunks that make a body too large for the main thread. */
const WEIGHT = 200_000
const post = (store: string, body: unknown) => stores.call('POST', `${store}/embeddings`, body)

describe('storing embeddings', () => {
  it('takes one vector alone, and fills in the rest', async () => {
    const store = await stores.store()
    const answer = await post(store, { embeddings: [vectorOf(1, 2)] })
    expect(answer.status).toBe(201)
    const [item] = answer.body
    expect(answer.body).toEqual([
      {
        embeddingId: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/),
        vectorStoreId: idOf(store),
        chunk: '',
        documentId: item.embeddingId,
        sequence: 0,
        metadata: {},
        createdAt: expect.stringMatching(TIME),
      },
    ])
    expect(await stores.list(store)).toEqual(answer.body)
    expect(await countIn(store)).toBe(1)
  })

  it('keeps every field, counts sequences by document, and answers in the order given', async () => {
    const store = await stores.store()
    const given = {
      embeddings: [1, 2, 3, 4].map((n) => vectorOf(n, 1)),
      chunks: ['first', 'second', '', 'fourth'],
      documentIds: ['a', 'b', 'a', 'b'],
      sequences: [9, 0, 0, 2_147_483_647],
      metadata: [{ a: 1 }, {}, { a: { b: [1, null, 'x', true, 1.5e300] } }, { '': '', 'a.b': 1 }],
      surprise: [1],
    }
    const { status, body } = await post(store, given)
    expect(status).toBe(201)
    const fields = (items: readonly Item[]) => ({
      chunks: items.map(({ chunk }) => chunk),
      documentIds: items.map(({ documentId }) => documentId),
      sequences: items.map(({ sequence }) => sequence),
      metadata: items.map(({ metadata }) => metadata),
    })
    const { chunks, documentIds, sequences, metadata } = given
    expect(fields(body)).toEqual({ chunks, documentIds, sequences, metadata })
    expect(new Set(idsOf(body)).size).toBe(4)
    expect(await stores.list(store)).toEqual(body)
    const counted = await post(store, { embeddings: given.embeddings, documentIds, chunks: null })
    expect(fields(counted.body)).toMatchObject({ sequences: [0, 0, 1, 1], chunks: ['', '', '', ''] })
    expect(await stores.list(store)).toEqual([...body, ...counted.body])
  })

  it.each(['a small body', 'one for a thread'])('stores texts exactly: %s', async (size) => {
    const store = await stores.store()
    const texts = [
      "it's 'quoted' '' \"double\" \\back\\slash\\",
      "'; DROP TABLE x; -- ') OR 1=1",
      'emoji 😀 👩‍👩‍👧, combining é vs é, عربى, 日本語, \u202e\ufeff\u0007\u001f\u2028',
      '\n\t  spaces  \r\n',
      '{"json": true} $x {x} %s $1 {{7*7}} <script>',
      '{"__proto__": 1}',
      '\uffff\u{10ffff}',
      size === 'a small body' ? '' : 'wörter '.repeat(WEIGHT / 7),
    ]
    const metadata = texts.map((text, index) =>
      text.length > 1000 ? { index } : { index, text, [text]: [text], nested: { [`${text}.x`]: text } },
    )
    const { status, body } = await post(store, {
      embeddings: texts.map((_, index) => vectorOf(1, index)),
      chunks: texts,
      documentIds: texts.map((text, index) => (text || `d${index}`).slice(0, 1000)),
      metadata,
    })
    expect(status, JSON.stringify(body).slice(0, 300)).toBe(201)
    const listed = await stores.list(store)
    expect(listed).toEqual(body)
    expect(listed.map(({ chunk }) => chunk)).toEqual(texts)
    expect(listed.map((item) => item.metadata)).toEqual(metadata)
    for (const [index, item] of listed.entries()) {
      const only = await stores.list(store, `?documentId=${encodeURIComponent(item.documentId)}`)
      expect(only, texts[index]?.slice(0, 50)).toEqual([item])
    }
    const [hit] = await stores.search(store, 'search', {
      queryEmbedding: vectorOf(1),
      metadataFilter: { text: texts[0] },
    })
    expect(hit).toMatchObject({ chunk: texts[0], metadata: metadata[0] })
  })

  it('gives back as U+FFFD what is half a surrogate pair, at once and later', async () => {
    const store = await stores.store()
    const { status, body } = await post(
      store,
      `{"embeddings": [${vectorWith('1')}], "chunks": ["a\\ud800b"], "documentIds": ["\\udc00"],
        "metadata": [{"k\\ud800": "v\\udc00"}]}`,
    )
    expect([status, body[0].chunk, body[0].documentId]).toEqual([201, 'a\ufffdb', '\ufffd'])
    expect(await stores.list(store)).toEqual(body)
    expect(await stores.list(store, `?documentId=${encodeURIComponent('\ufffd')}`)).toEqual(body)
  })

  it('drops keys of prototypes, and pollutes nothing', async () => {
    const store = await stores.store()
    const { status } = await post(
      store,
      `{"embeddings": [${vectorWith('1')}], "__proto__": {"chunks": ["x"]},
        "metadata": [{"__proto__": {"polluted": 1}, "constructor": {"prototype": {"polluted": 1}}, "toString": 1}]}`,
    )
    expect(status).toBe(201)
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
    expect((await stores.list(store))[0]).toMatchObject({ chunk: '', metadata: { toString: 1 } })
  })

  it('takes 2,048 vectors in one batch and no more', async () => {
    const store = await stores.store()
    const embeddings = Array.from({ length: 2048 }, (_, index) => vectorOf(1, index))
    const chunks = embeddings.map((_, index) => `chunk ${index}`)
    const made = await post(store, { embeddings, chunks })
    expect([made.status, made.body.length]).toEqual([201, 2048])
    expect((await stores.list(store)).map(({ chunk }) => chunk)).toEqual(chunks)
    const more = await post(store, { embeddings: [...embeddings, vectorOf(1)] })
    expect([more.status, more.body.code]).toEqual([400, 'INVALID_INPUT'])
    expect(more.body.message).toMatch(/body\.embeddings has 2049 vectors; at most 2048/)
    expect(await countIn(store)).toBe(2048)
  })

  it('takes a document of up to 1,024 characters of id, and metadata of 60 KiB', async () => {
    const store = await stores.store()
    const { status, body } = await post(store, {
      embeddings: [vectorOf(1)],
      documentIds: ['d'.repeat(1024)],
      metadata: [{ text: 'word '.repeat(12_000) }],
    })
    expect(status, JSON.stringify(body).slice(0, 200)).toBe(201)
    expect(await stores.list(store, `?documentId=${'d'.repeat(1024)}`)).toEqual(body)
  })
})

/** What is wrong with a body, as JSON text without its last brace, so that weight can be put beside it. */
const WRONG: readonly (readonly [string, string, string, string])[] = [
  ['no vectors', '{"chunks": ["a"]', 'INVALID_INPUT', 'body.embeddings is required'],
  ['none of them', '{"embeddings": []', 'INVALID_INPUT', 'body.embeddings must have at least one'],
  ['an object', '{"embeddings": {"0": [1]}', 'INVALID_INPUT', 'body.embeddings must be an array'],
  ['null', '{"embeddings": null', 'INVALID_INPUT', 'body.embeddings must be an array'],
  [
    'a flat array',
    '{"embeddings": [1, 2]',
    'INVALID_INPUT',
    'body.embeddings[0] must be an array of numbers',
  ],
  ['a vector of null', '{"embeddings": [null]', 'INVALID_INPUT', 'not null'],
  [
    'a short vector',
    `{"embeddings": [${vectorWith('1')}, [1, 2, 3]]`,
    'INVALID_INPUT',
    "body.embeddings[1] has 3 numbers, but the store's dimension is 1024",
  ],
  ['a long one', `{"embeddings": [${vectorWith('1, 2')}]`, 'INVALID_INPUT', 'has 1025 numbers'],
  ['an empty one', '{"embeddings": [[]]', 'INVALID_INPUT', 'has 0 numbers'],
  [
    'a string',
    `{"embeddings": [${vectorWith('"1"')}]`,
    'INVALID_INPUT',
    'body.embeddings[0][5] must be a number',
  ],
  ['null in it', `{"embeddings": [${vectorWith('null')}]`, 'INVALID_INPUT', 'body.embeddings[0][5] must be'],
  ['a nested array', `{"embeddings": [${vectorWith('[1]')}]`, 'INVALID_INPUT', 'not an array'],
  ['a boolean', `{"embeddings": [${vectorWith('true')}]`, 'INVALID_INPUT', 'not a boolean'],
  ['NaN', `{"embeddings": [${vectorWith('NaN')}]`, 'INVALID_JSON', 'not valid JSON'],
  ['Infinity', `{"embeddings": [${vectorWith('-Infinity')}]`, 'INVALID_JSON', 'not valid JSON'],
  [
    '1e999',
    `{"embeddings": [${vectorWith('1')}, ${vectorWith('1e999')}]`,
    'INVALID_INPUT',
    'body.embeddings[1] has a number at [5]',
  ],
  ['1e39', `{"embeddings": [${vectorWith('1e39')}]`, 'INVALID_INPUT', 'beyond the range of a 32-bit float'],
  ['1e200', `{"embeddings": [${vectorWith('1e200')}]`, 'INVALID_INPUT', 'beyond the range of a 32-bit float'],
  [
    'all zeros',
    `{"embeddings": [${vectorWith('1')}, ${JSON.stringify(vectorOf())}]`,
    'INVALID_INPUT',
    'body.embeddings[1] is all zeros',
  ],
  ['next to none', `{"embeddings": [${JSON.stringify(vectorOf(1e-30))}]`, 'INVALID_INPUT', 'is too short'],
  [
    'a denormal',
    `{"embeddings": [${JSON.stringify(vectorOf(5e-324))}]`,
    'INVALID_INPUT',
    'body.embeddings[0] is',
  ],
  ...(
    [
      ['chunks', '"a"', 'must be a string', ['1', 'null', '["a"]', '{}']],
      ['documentIds', '"a"', 'must be a string of 1 to 1024', ['1', 'null', '""', `"${'d'.repeat(1025)}"`]],
      ['sequences', '0', 'must be an integer', ['-1', '1.5', '"1"', 'null', '2147483648']],
      ['metadata', '{}', 'must be an object', ['"a"', 'null', '[]', '1']],
    ] as const
  ).flatMap(([field, right, reason, items]) => [
    ...items.map(
      (item) =>
        [
          `${item.slice(0, 20)} in ${field}`,
          `{"embeddings": [${vectorWith('1')}, ${vectorWith('2')}], "${field}": [${right}, ${item}]`,
          'INVALID_INPUT',
          `body.${field}[1] ${reason}`,
        ] as const,
    ),
    ...[`[${right}]`, `[${right}, ${right}, ${right}]`, '[]'].map(
      (items, index) =>
        [
          `${field} unequal, ${index}`,
          `{"embeddings": [${vectorWith('1')}, ${vectorWith('2')}], "${field}": ${items}`,
          'UNEQUAL_ARRAY_LENGTHS',
          'but body.embeddings has 2',
        ] as const,
    ),
    [
      `${field} as text`,
      `{"embeddings": [${vectorWith('1')}], "${field}": "x"`,
      'INVALID_INPUT',
      `body.${field} must be an array`,
    ] as const,
  ]),
  [
    'a NUL in a chunk',
    `{"embeddings": [${vectorWith('1')}], "chunks": ["a\\u0000"]`,
    'INVALID_INPUT',
    'body.chunks[0] must not contain the NUL',
  ],
  [
    'a NUL in a documentId',
    `{"embeddings": [${vectorWith('1')}], "documentIds": ["a\\u0000"]`,
    'INVALID_INPUT',
    'NUL',
  ],
  [
    'a NUL in metadata',
    `{"embeddings": [${vectorWith('1')}], "metadata": [{"a": {"\\u0000": 1}}]`,
    'INVALID_INPUT',
    'NUL',
  ],
  [
    'metadata of 100 levels',
    `{"embeddings": [${vectorWith('1')}], "metadata": [${'{"a":'.repeat(100)}1${'}'.repeat(100)}]`,
    'JSON_TOO_DEEP',
    'deeper',
  ],
  [
    'metadata of 100 KiB',
    `{"embeddings": [${vectorWith('1')}], "metadata": [{"a": "${'x'.repeat(102_400)}"}]`,
    'INVALID_INPUT',
    'body.metadata[0] must be at most 65536 characters',
  ],
  [
    'metadata with 1e999',
    `{"embeddings": [${vectorWith('1')}], "metadata": [{"a": [1, 1e999]}]`,
    'INVALID_INPUT',
    'body.metadata[0].a[1] is a number beyond',
  ],
  ['an array', '[[1, 2]', 'INVALID_JSON', 'not valid JSON'],
]

describe('a batch with something wrong', () => {
  let store = ''
  beforeAll(async () => {
    store = await stores.store()
  })

  it.each(WRONG)('(%s) is refused, and nothing of it stored', async (_what, text, code, reason) => {
    const small = `${text}}`
    const large = `${text}, "beside": "${'x'.repeat(WEIGHT)}"}`
    for (const body of [small, large]) {
      const answer = await post(store, body)
      expect(answer.status, JSON.stringify(answer.body)).toBe(400)
      expect(answer.body).toEqual({ error: true, message: expect.stringContaining(reason), code })
      expect(answer.body.message.length).toBeLessThan(500)
    }
    expect(await countIn(store)).toBe(0)
  })

  it('is refused when there is no body, or none that is an object of JSON', async () => {
    for (const [body, headers, code] of [
      [undefined, {}, 'INVALID_INPUT'],
      [undefined, { 'content-type': 'application/json' }, 'INVALID_INPUT'],
      ['', {}, 'INVALID_INPUT'],
      ['[]', {}, 'INVALID_INPUT'],
      ['5', {}, 'INVALID_INPUT'],
      ['null', {}, 'INVALID_INPUT'],
      ['{"embeddings": [', {}, 'INVALID_JSON'],
      ['\u0000', {}, 'INVALID_JSON'],
      ['a=b', { 'content-type': 'text/plain' }, 'INVALID_CONTENT_TYPE'],
    ] as const) {
      const answer = await stores.call('POST', `${store}/embeddings`, body, { headers })
      expect([answer.status, answer.body.code, answer.body.error], String(body)).toEqual([400, code, true])
    }
  })

  it('stores nothing of 100 vectors when the last is wrong', async () => {
    const embeddings = Array.from({ length: 100 }, (_, index) => vectorOf(1, index))
    const answer = await post(store, { embeddings: [...embeddings.slice(0, 99), vectorOf()] })
    expect([answer.status, answer.body.message]).toEqual([
      400,
      expect.stringContaining('body.embeddings[99]'),
    ])
    expect(await countIn(store)).toBe(0)
    expect(await stores.list(store)).toEqual([])
  })

  /** Sends so many bytes of a body that would be valid. */
  const sendBytes = (bytes: number, headers: Record<string, string | number>) =>
    new Promise<{ status: number; body: string }>((resolve, reject) => {
      const url = new URL(`/agents/v1/spaces/${spaceId}/vector-stores${store}/embeddings`, platform.url)
      const request = httpRequest(url, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
      })
      request.on('response', (response) => {
        let body = ''
        response.setEncoding('utf8').on('data', (chunk: string) => {
          body += chunk
        })
        response.on('end', () => {
          resolve({ status: response.statusCode ?? 0, body })
          request.destroy()
        })
      })
      // The server may hang up on what it does not want to read.
      let isAnswered = false
      request.on('response', () => {
        isAnswered = true
      })
      request.on('error', (error) => (isAnswered ? undefined : reject(error)))
      const piece = Buffer.alloc(1024 * 1024, ' ')
      let left = bytes
      const write = () => {
        while (left > 0 && !request.destroyed) {
          left -= piece.length
          if (!request.write(piece)) return void request.once('drain', write)
        }
        request.end()
      }
      write()
    })

  it.each([
    ['with its length', { 'content-length': 65 * 1024 * 1024 }],
    ['in chunks', { 'transfer-encoding': 'chunked' }],
  ])('of 65 MiB gets 413 in the service’s shape: %s', async (_how, headers) => {
    const { status, body } = await sendBytes(65 * 1024 * 1024, headers)
    expect(status).toBe(413)
    expect(JSON.parse(body)).toEqual({ error: true, message: expect.any(String), code: 'BODY_TOO_LARGE' })
    // Its contract says so as well.
    const told = await stores.call('POST', `${store}/embeddings`, Buffer.alloc(65 * 1024 * 1024, ' '))
    expect([told.status, told.body.code]).toEqual([413, 'BODY_TOO_LARGE'])
  })
})

/** Without the thousands of lines of a difference. */
function expectSame(numbers: readonly number[], expected: readonly number[]): void {
  const at = expected.findIndex((number, index) => numbers[index] !== number)
  expect({ length: numbers.length, at, from: at < 0 ? [] : numbers.slice(at, at + 10) }).toEqual({
    length: expected.length,
    at: -1,
    from: [],
  })
}

describe('listing embeddings', () => {
  let store = ''
  let items: Item[] = []

  beforeAll(async () => {
    store = await stores.store()
    const names = ['a', 'b', "it's", '" OR ""="', 'a,b', '%']
    for (let batch = 0; batch < 3; batch++) {
      items = [
        ...items,
        ...(await stores.add(
          store,
          names.map((documentId, index) => ({
            vector: vectorOf(1, batch, index),
            chunk: `${batch} ${documentId}`,
            documentId,
          })),
        )),
      ]
    }
  })

  it('gives all in the order of their creation, without vectors', async () => {
    const answer = await stores.call('GET', `${store}/embeddings`)
    expect(answer.body).toEqual(items)
    expect(answer.headers.get('content-length')).toBeNull()
    expect(await stores.list(await stores.store())).toEqual([])
  })

  it('pages', async () => {
    expect(await stores.list(store, '?limit=7')).toEqual(items.slice(0, 7))
    expect(await stores.list(store, '?limit=7&page=2')).toEqual(items.slice(7, 14))
    expect(await stores.list(store, '?limit=7&page=3')).toEqual(items.slice(14))
    expect(await stores.list(store, '?limit=7&page=4')).toEqual([])
    expect(await stores.list(store, '?page=1000000&limit=1000')).toEqual([])
    expect(await stores.list(store, '?page=2')).toEqual(items)
    for (const query of ['?limit=0', '?limit=1001', '?limit=x', '?limit=1.5', '?page=0', '?page=-1']) {
      const { status, body } = await stores.call('GET', `${store}/embeddings${query}`)
      expect([status, body.code], query).toEqual([400, 'INVALID_INPUT'])
    }
  })

  it('gives those of some documents, whatever these are called', async () => {
    const of = (...ids: string[]) => items.filter(({ documentId }) => ids.includes(documentId))
    const query = (...ids: string[]) =>
      `?${ids.map((id) => `documentId=${encodeURIComponent(id)}`).join('&')}`
    for (const ids of [['a'], ["it's"], ['" OR ""="'], ['a,b'], ['%'], ['a', 'b'], ['a', 'nothing', 'a']]) {
      expect(await stores.list(store, query(...ids)), ids.join()).toEqual(of(...ids))
    }
    for (const id of ['nothing', "a' OR '1'='1", "') OR true --", '', 'A', 'a_', '*', '\\']) {
      expect(await stores.list(store, query(id)), id).toEqual([])
    }
    expect(await stores.list(store, `${query('a', 'b')}&limit=2&page=2`)).toEqual(of('a', 'b').slice(2, 4))
    for (const wrong of [
      `?documentId=${'d'.repeat(1025)}`,
      query(...Array.from({ length: 101 }, (_, index) => String(index))),
      '?documentId=%00',
    ]) {
      expect((await stores.call('GET', `${store}/embeddings${wrong}`)).status, wrong.slice(0, 40)).toBe(400)
    }
    expect(await stores.list(store, query(...Array(100).fill('a')))).toEqual(of('a'))
  })

  it('gives 6,000 in several pieces, in order, whole or by page, while others come and go', async () => {
    const long = await stores.store()
    const COUNT = 6000
    const BATCH = 2000
    for (let first = 0; first < COUNT; first += BATCH) {
      await stores.add(
        long,
        Array.from({ length: BATCH }, (_, index) => ({
          vector: vectorOf(1, first + index),
          chunk: 'x'.repeat(200),
          documentId: `d${(first + index) % 3}`,
          metadata: { i: first + index },
        })),
      )
    }
    const numbers = async (query: string) =>
      (await stores.list(long, query)).map(({ metadata }) => metadata.i as number)
    const upTo = Array.from({ length: COUNT }, (_, index) => index)
    let isDone = false
    const others = (async () => {
      while (!isDone) {
        const [item] = await stores.add(long, [{ vector: vectorOf(1), metadata: { i: -1 } }])
        await stores.demand(200, 'DELETE', `${long}/embeddings`, { embeddingIds: [item?.embeddingId] })
      }
    })()
    const thirds = upTo.filter((i) => i % 3 === 1)
    const rounds = (async () => {
      for (let round = 0; round < 3; round++) {
        expectSame(
          (await numbers('')).filter((i) => i >= 0),
          upTo,
        )
        expectSame(
          (await numbers('?documentId=d1')).filter((i) => i >= 0),
          thirds,
        )
        expectSame(await numbers('?limit=1000&page=5'), upTo.slice(4000, 5000))
        expectSame(await numbers('?documentId=d1&limit=1000&page=2'), thirds.slice(1000))
      }
    })()
    await rounds.finally(() => {
      isDone = true
    })
    await others
  })
})

describe('deleting embeddings', () => {
  const remove = (store: string, body: unknown) => stores.call('DELETE', `${store}/embeddings`, body)
  const filled = async (count = 4) => {
    const store = await stores.store()
    const vectors = Array.from({ length: count }, (_, index) => ({
      vector: randomVector(index),
      chunk: 'word',
    }))
    return { store, ids: idsOf(await stores.add(store, vectors)) }
  }

  it('deletes those named, counts them, and they never come back', async () => {
    const { store, ids } = await filled()
    const answer = await remove(store, { embeddingIds: [ids[1], ids[1], ids[2]?.toUpperCase(), UNKNOWN_ID] })
    expect([answer.status, answer.body]).toEqual([200, { deleted: 2, vectorStoreId: idOf(store) }])
    const kept = [ids[0], ids[3]]
    expect(idsOf(await stores.list(store))).toEqual(kept)
    expect(await countIn(store)).toBe(2)
    const near = await stores.search(store, 'search', { queryEmbedding: randomVector(1) })
    expect(idsOf(near).sort()).toEqual(kept)
    expect(idsOf(await stores.search(store, 'keyword-search', { queryText: 'word' })).sort()).toEqual(kept)
    expect((await remove(store, { embeddingIds: ids })).body.deleted).toBe(2)
    expect((await remove(store, { embeddingIds: ids })).body.deleted).toBe(0)
    expect(await stores.list(store)).toEqual([])
  })

  it('deletes all', async () => {
    const { store, ids } = await filled()
    expect((await remove(store, { deleteAll: true, embeddingIds: [ids[0]] })).body.deleted).toBe(4)
    expect((await remove(store, { deleteAll: true })).body.deleted).toBe(0)
    expect(await countIn(store)).toBe(0)
    expect(await stores.search(store, 'search', { queryEmbedding: vectorOf(1) })).toEqual([])
    expect(await stores.search(store, 'keyword-search', { queryText: 'word' })).toEqual([])
    await stores.add(store, [{ vector: vectorOf(1), chunk: 'tomatoes' }])
    expect(await stores.search(store, 'keyword-search', { queryText: 'tomato' })).toHaveLength(1)
    const empty = await stores.store()
    expect((await remove(empty, { deleteAll: true })).body.deleted).toBe(0)
    expect((await remove(empty, { embeddingIds: [UNKNOWN_ID] })).body.deleted).toBe(0)
  })

  it('touches no other store, and nothing by ids that are none', async () => {
    const [mine, other] = [await filled(), await filled()]
    const answer = await remove(mine.store, {
      embeddingIds: [...other.ids, 'x', "') OR true --", "' OR '1'='1", '', '*', `${mine.ids[0]}'`],
    })
    expect([answer.status, answer.body.deleted]).toEqual([200, 0])
    expect([await countIn(mine.store), await countIn(other.store)]).toEqual([4, 4])
  })

  it('takes 10,000 ids at once and no more', async () => {
    const { store, ids } = await filled()
    const unknown = Array.from(
      { length: 9998 },
      (_, index) => `01890000-0000-7000-8000-${String(index).padStart(12, '0')}`,
    )
    const answer = await remove(store, { embeddingIds: [...unknown, ids[0], ids[3]] })
    expect([answer.status, answer.body.deleted]).toEqual([200, 2])
    expect((await remove(store, { embeddingIds: [...unknown, ...ids] })).status).toBe(400)
    expect(await countIn(store)).toBe(2)
  })

  it('wants ids or deleteAll: true', async () => {
    const { store, ids } = await filled(1)
    for (const body of [
      {},
      { deleteAll: false },
      { embeddingIds: [] },
      { embeddingIds: [], deleteAll: false },
    ]) {
      const answer = await remove(store, body)
      expect([answer.status, answer.body.code], JSON.stringify(body)).toEqual([400, 'NOTHING_TO_DELETE'])
    }
    for (const body of [
      undefined,
      '[]',
      'null',
      '"all"',
      '{"deleteAll": "true"}',
      '{"deleteAll": 1}',
      '{"embeddingIds": "all"}',
      `{"embeddingIds": {"0": "${ids[0]}"}}`,
      '{"embeddingIds": [1]}',
      `{"embeddingIds": ["${'x'.repeat(257)}"]}`,
      '{"embeddingIds": ["\\u0000"]}',
      '{"embeddingIds": ["',
    ]) {
      const answer = await remove(store, body)
      expect([answer.status, answer.body.error], body).toEqual([400, true])
    }
    const large = await remove(store, { embeddingIds: ['x'.repeat(1_100_000)] })
    expect([large.status, large.body.code]).toEqual([413, 'BODY_TOO_LARGE'])
    expect((await remove(store, { embeddingIds: [ids[0]], deleteAll: false })).body.deleted).toBe(1)
  })

  it('counts each once when many delete the same', async () => {
    const { store, ids } = await filled(20)
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, index) =>
        index % 2 === 0 ? remove(store, { embeddingIds: ids }) : remove(store, { deleteAll: true }),
      ),
    )
    expect(answers.map(({ status }) => status)).toEqual(Array(6).fill(200))
    expect(answers.reduce((sum, { body }) => sum + body.deleted, 0)).toBe(20)
  })
})

describe('many writers at the same time', () => {
  it('lose nothing, and each batch is whole for whoever looks', async () => {
    const store = await stores.store()
    let isDone = false
    const looks: number[] = []
    const looker = (async () => {
      while (!isDone) looks.push((await stores.list(store)).length)
    })()
    const batches = await Promise.all(
      Array.from({ length: 10 }, (_, batch) =>
        stores.add(
          store,
          Array.from({ length: 5 }, (_, index) => ({
            vector: vectorOf(1, batch, index),
            documentId: `d${batch}`,
          })),
        ),
      ),
    )
    isDone = true
    await looker
    for (const count of looks) expect(count % 5).toBe(0)
    const listed = await stores.list(store)
    expect(listed).toHaveLength(50)
    for (const batch of batches) {
      const [first] = batch
      expect(listed.filter(({ documentId }) => documentId === first?.documentId)).toEqual(batch)
    }
    expect(DIMENSION).toBe(1024)
  })
})
