import { mkdir, symlink } from 'node:fs/promises'
import path from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { flaws, type Harness, jsonl, rows, startHarness } from './harness.ts'

// Each test starts processes, on machines that may have other things to do.
vi.setConfig({ testTimeout: 180_000 })

let at: Harness
beforeAll(async () => {
  at = await startHarness()
})
afterAll(() => at[Symbol.asyncDispose]())
beforeEach(() => {
  at.proxy.requests.length = 0
  at.proxy.intercept = () => undefined
})

const summaryOf = (stdout: string): Record<string, unknown> => JSON.parse(stdout)

describe('JSON Lines', () => {
  test('are cut, embedded and stored once; a second run does nothing', async () => {
    const store = await at.store()
    const file = await at.files({ 'a/docs.jsonl': jsonl(rows(250)) })
    const first = await at.run(['import', '--store', store, '--json', file])
    expect(first.stderr).toContain('sandbox')
    expect(first.code).toBe(0)
    expect(summaryOf(first.stdout)).toMatchObject({ imported: 250, failed: 0, sandbox: true })
    const stored = await at.stored(store)
    expect(flaws(stored, 250)).toEqual([])
    expect(stored.length).toBe(summaryOf(first.stdout).stored)
    const [chunk] = stored.filter(({ documentId, sequence }) => documentId === 'doc-25' && sequence === 0)
    expect(chunk?.chunk).toMatch(/^Number 25\nDocument 25 tells/)
    expect(chunk?.metadata).toMatchObject({ year: 2005, title: 'Number 25' })
    expect(Math.max(...stored.map(({ chunk: text }) => text.length))).toBeLessThanOrEqual(200)

    at.proxy.requests.length = 0
    const second = await at.run(['import', '--store', store, '--json', file])
    expect(summaryOf(second.stdout)).toMatchObject({ imported: 0, unchanged: 250, stored: 0, deleted: 0 })
    expect(at.proxy.requests.filter(({ method }) => method !== 'GET')).toEqual([])
    // A store, a space, and a request for every hundred documents.
    expect(at.proxy.requests.length).toBeLessThanOrEqual(2 + 3)
    expect(await at.stored(store)).toEqual(stored)
  })

  test('bad lines are named with their reason, and the others go on', async () => {
    const store = await at.store()
    const lines = [
      '{"_id": 7, "contents": "seven", "metadata": {"kind": "number"}, "lang": "en"}',
      '{"id": "broken", "text": ',
      '',
      '[1]',
      '{"text": "no id"}',
      '{"id": "no-text", "title": "x"}',
      '{"id": "bad-meta", "text": "x", "metadata": 5}',
      '{"id": {}, "text": "x"}',
      '{"id": "", "text": "x"}',
      '{"documentId": "eight", "chunk": "eight \\u0000 \\ud800"}',
      '{"id": "eight", "content": "again"}',
      '{"id": "blank", "text": "  "}',
      '{"id": "last", "text": "no line end"}',
    ]
    const file = await at.files({ 'bad.jsonl': lines.join('\n') })
    const { code, stdout, stderr } = await at.run(['import', '--store', store, '--json', file])
    expect(code).toBe(1)
    const { failures, ...counts } = summaryOf(stdout)
    expect(counts).toMatchObject({ imported: 3, empty: 1, failed: 8 })
    const reasons = Object.fromEntries(
      (failures as { origin: string; reason: string }[]).map(({ origin, reason }) => [origin, reason]),
    )
    expect(reasons).toMatchObject({
      'bad.jsonl:2': expect.stringContaining('not JSON'),
      'bad.jsonl:4': expect.stringContaining('no JSON object'),
      'bad.jsonl:5': expect.stringContaining('no id'),
      'bad.jsonl:6': expect.stringContaining('no text'),
      'bad.jsonl:7': expect.stringContaining('metadata'),
      'bad.jsonl:8': expect.stringContaining('id'),
      'bad.jsonl:9': expect.stringContaining('empty'),
      'bad.jsonl:11': expect.stringContaining('came before'),
    })
    expect(stderr).toContain('bad.jsonl:2 failed')
    const stored = await at.stored(store)
    expect(stored.map(({ documentId }) => documentId).sort()).toEqual(['7', 'eight', 'last'])
    expect(stored.find(({ documentId }) => documentId === '7')?.metadata).toMatchObject({
      kind: 'number',
      lang: 'en',
    })
  })

  test('a changed document replaces the earlier one, and a shorter one leaves nothing behind', async () => {
    const store = await at.store()
    const documents = rows(30)
    await at.run(['import', '--store', store, await at.files({ 'c.jsonl': jsonl(documents) })])
    const before = await at.stored(store)
    const changed = documents.map((row, i) =>
      i === 23 ? { ...row, text: 'Short now.' } : i === 4 ? { ...row, year: 1999 } : row,
    )
    at.proxy.requests.length = 0
    const again = await at.run([
      'import',
      '--store',
      store,
      '--json',
      await at.files({ 'c.jsonl': jsonl(changed) }),
    ])
    expect(summaryOf(again.stdout)).toMatchObject({ imported: 0, replaced: 2, unchanged: 28 })
    const after = await at.stored(store)
    expect(flaws(after, 30)).toEqual([])
    expect(after.filter(({ documentId }) => documentId === 'doc-23').map(({ chunk }) => chunk)).toEqual([
      'Number 23\nShort now.',
    ])
    expect(after.find(({ documentId }) => documentId === 'doc-4')?.metadata.year).toBe(1999)
    const kept = new Set(after.map(({ embeddingId }) => embeddingId))
    for (const { documentId, embeddingId } of before)
      expect(kept.has(embeddingId)).toBe(documentId !== 'doc-23' && documentId !== 'doc-4')
    const methods = at.proxy.requests.map(({ method }) => method)
    expect(methods.indexOf('DELETE')).toBeGreaterThan(methods.lastIndexOf('POST'))
  })

  test('other cuts of the store cut all anew; what others stored stays', async () => {
    const store = await at.store()
    const path = `/agents/v1/spaces/${at.space.spaceId}/vector-stores/${store}`
    const token = at.space.apiKey
    const vector = Array.from({ length: 1536 }, (_, i) => i + 1)
    await at.platform.call('POST', `${path}/embeddings`, {
      token,
      body: { embeddings: [vector], chunks: ['by hand'], documentIds: ['doc-3'], sequences: [0] },
    })
    const file = await at.files({ 'd.jsonl': jsonl(rows(12)) })
    await at.run(['import', '--store', store, file])
    await at.platform.call('PUT', path, { token, body: { chunkSize: 100, chunkOverlap: 0 } })
    const again = await at.run(['import', '--store', store, '--json', file])
    expect(summaryOf(again.stdout)).toMatchObject({ replaced: 12, unchanged: 0 })
    const stored = await at.stored(store)
    const [byHand, ...others] = stored.filter(({ metadata }) => metadata?.atrium === undefined)
    expect([byHand?.chunk, others]).toEqual(['by hand', []])
    expect(
      flaws(
        stored.filter((one) => one !== byHand),
        12,
      ),
    ).toEqual([])
  })

  test('a dry run says what would be done and does nothing', async () => {
    const store = await at.store()
    const file = await at.files({ 'e.jsonl': jsonl(rows(20)) })
    const dry = await at.run(['import', '--store', store, '--dry-run', '--json', file])
    expect(summaryOf(dry.stdout)).toMatchObject({ imported: 20, dryRun: true })
    expect(at.proxy.requests.every(({ method }) => method === 'GET')).toBe(true)
    const real = await at.run(['import', '--store', store, '--json', file])
    expect(summaryOf(real.stdout).stored).toBe(summaryOf(dry.stdout).stored)
  })
})

describe('folders', () => {
  test('give their texts, and nothing else', async () => {
    const store = await at.store()
    await at.files({
      'outside/secret.txt': 'secret',
      'folder/a.txt': 'Text of a',
      'folder/deep/er/b.md': '# Markdown\n\nof b',
      'folder/page.html': '<title>Page</title><script>no()</script><p>Hello &amp; welcome</p>',
      'folder/rows.jsonl': jsonl([{ id: 'row', text: 'A row' }]),
      'folder/list.json': JSON.stringify([{ id: 'item', text: 'An item' }]),
      'folder/one.json': JSON.stringify({ text: 'The only one' }),
      'folder/config.json': '{"a": 1}',
      'folder/picture.txt': new Uint8Array([1, 0, 2]),
      'folder/latin1.txt': new Uint8Array([0x63, 0xe9]),
      'folder/data.bin': 'x',
      'folder/.hidden/h.txt': 'hidden',
      'folder/žluťoučký 🦊.txt': 'Fox',
    })
    const folder = path.join(at.folder, 'folder')
    await symlink(path.join(at.folder, 'outside/secret.txt'), path.join(folder, 'link.txt'))
    await symlink(path.join(at.folder, 'outside'), path.join(folder, 'link'))
    await symlink('a.txt', path.join(folder, 'again.txt'))
    await symlink('.', path.join(folder, 'loop'))
    const { code, stdout, stderr } = await at.run(['import', '--store', store, '--json', folder])
    expect(stderr).toContain('link.txt is skipped: a link out of the folder')
    expect(stderr).toContain('picture.txt is skipped: a binary file')
    expect(stderr).toContain('config.json failed')
    expect(code).toBe(1)
    expect(summaryOf(stdout)).toMatchObject({ imported: 8, failed: 1, skipped: 6 })
    const texts = Object.fromEntries(
      (await at.stored(store)).map(({ documentId, chunk }) => [documentId, chunk]),
    )
    expect(texts).toEqual({
      'a.txt': 'Text of a',
      'again.txt': 'Text of a',
      'deep/er/b.md': '# Markdown\n\nof b',
      'page.html': 'Page\nHello & welcome',
      row: 'A row',
      item: 'An item',
      'one.json': 'The only one',
      'žluťoučký 🦊.txt': 'Fox',
    })
  })

  test('several paths at once, and an empty folder', async () => {
    const store = await at.store()
    await mkdir(path.join(at.folder, 'empty'))
    const one = await at.files({ 'one.txt': 'One', 'two.txt': 'Two' })
    const paths = [one, path.join(at.folder, 'two.txt'), path.join(at.folder, 'empty')]
    const { code, stdout } = await at.run(['import', '--store', store, ...paths])
    expect([code, stdout]).toEqual([0, expect.stringMatching(/documents: 2 imported; 2 chunks stored in/)])
  })
})

describe('wrong use has exit code 2 and says what to do', () => {
  test.each<[string, (store: string, file: string) => string[], Record<string, string>, RegExp]>([
    ['no key', (store, file) => ['--store', store, file], { ATRIUM_API_KEY: '' }, /ATRIUM_API_KEY/],
    ['no store', (_, file) => [file], {}, /--store/],
    ['no path', (store) => ['--store', store], {}, /path/],
    [
      'a store that is not there',
      (_, file) => ['--store', crypto.randomUUID(), file],
      {},
      /store cannot be used.*404/i,
    ],
    [
      'no file',
      (store) => ['--store', store, '/nowhere/docs.jsonl'],
      {},
      /\/nowhere\/docs\.jsonl cannot be read/,
    ],
    ['a bad key', (store, file) => ['--store', store, file], { ATRIUM_API_KEY: crypto.randomUUID() }, /401/],
    [
      'an address that is none',
      (store, file) => ['--store', store, '--url', 'atrium', file],
      {},
      /http:\/\//,
    ],
    [
      'too many requests at once',
      (store, file) => ['--store', store, '--concurrency', '65', file],
      {},
      /1 to 64/,
    ],
  ])('%s', async (_name, args, env, message) => {
    const store = await at.store()
    const file = await at.files({ 'f.jsonl': jsonl(rows(1)) })
    const { code, stderr, stdout } = await at.run(['import', ...args(store, file)], env)
    expect(stderr).toMatch(message)
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).not.toContain('    at ')
  })

  test('another space’s store is none of ours', async () => {
    const other = await at.platform.space()
    const store = await at.store()
    const file = await at.files({ 'g.jsonl': jsonl(rows(1)) })
    for (const [more, status] of [
      [[], '404'],
      [['--space', at.space.spaceId], '403'],
    ] as const) {
      const { code, stderr } = await at.run(['import', '--store', store, ...more, file], {
        ATRIUM_API_KEY: other.apiKey,
      })
      expect([code, stderr]).toEqual([2, expect.stringContaining(status)])
    }
    expect(await at.stored(store)).toEqual([])
  })
})
