import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { link, mkdir, mkdtemp, readdir, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { removeFiles, removeOldResults } from '../src/domain/results/retention.ts'
import { openResults, type ResultsWorld, refOf } from './support/output.ts'
import { type RecordedRun, recordRun } from './support/recorded-run.ts'

let platform: ResultsWorld['platform']
let space: ResultsWorld['space']
let other: ResultsWorld['other']
let output: ResultsWorld['output']
let stores: ResultsWorld['stores']
let folder = ''
let count = 0

beforeAll(async () => {
  ;({ platform, space, other, stores, output } = await openResults())
  folder = await realpath(await mkdtemp(path.join(tmpdir(), 'atrium-artifacts-')))
})
afterAll(async () => {
  await stores.close()
  await rm(folder, { recursive: true, force: true })
})

async function fileOf(content: string | Buffer): Promise<string> {
  const file = path.join(folder, `file-${count++}`)
  await writeFile(file, content)
  return file
}

const keep = async (run: RecordedRun, name: string, content: string | Buffer = 'x', to = output) =>
  to.keepArtifact(refOf(run), name, await fileOf(content))
const list = (run: RecordedRun, query = '') =>
  platform.call('GET', `${run.path}/artifacts${query}`, { token: space.memberToken })
const download = (run: RecordedRun, name: string, token = space.memberToken) =>
  platform.call('GET', `${run.path}/artifacts/a/${name.split('/').map(encodeURIComponent).join('/')}`, {
    token,
  })

/** Ids of the files that are kept of a space. */
async function kept(spaceId: string): Promise<string[]> {
  const found = await readdir(path.join(platform.dataDir, 'artifacts', spaceId), {
    recursive: true,
    withFileTypes: true,
  }).catch(() => [])
  return found.filter((entry) => entry.isFile()).map(({ name }) => name)
}

const retention = () => ({ ...stores, days: 30, engine: undefined })
const never = new AbortController().signal

describe('files that a task has left', () => {
  it('are listed and downloaded as they were', async () => {
    const run = await recordRun(platform, space.spaceId, ['a', 'b'])
    const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, index) => index % 251))
    expect(await keep(run, 'model/weights.bin', bytes)).toBeUndefined()
    expect(await keep(run, 'empty', '')).toBeUndefined()
    expect(await output.keepArtifact(refOf(run, 'b'), 'report.json', await fileOf('{}'))).toBeUndefined()
    const { body } = await list(run)
    expect(body.totalCount).toBe(3)
    expect(
      body.items.map(({ task, path: name }: { task: string; path: string }) => `${task}/${name}`),
    ).toEqual(['a/empty', 'a/model/weights.bin', 'b/report.json'])
    expect(body.items[1]).toEqual({
      task: 'a',
      path: 'model/weights.bin',
      attempt: 1,
      size: 300_000,
      mediaType: 'application/octet-stream',
      sha256: createHash('sha256').update(bytes).digest('hex'),
      createdAt: expect.stringMatching(/Z$/),
    })
    expect((await list(run, '?task=b')).body.totalCount).toBe(1)
    const answer = await fetch(`${platform.url}${run.path}/artifacts/a/model/weights.bin`, {
      headers: { authorization: `Bearer ${space.memberToken}` },
    })
    expect(Buffer.from(await answer.arrayBuffer()).equals(bytes)).toBe(true)
    const coded = await fetch(`${platform.url}${run.path}/artifacts/a/model%2Fweights.bin`, {
      headers: { authorization: `Bearer ${space.memberToken}` },
    })
    expect([coded.status, (await coded.arrayBuffer()).byteLength]).toEqual([200, 300_000])
    expect((await download(run, 'empty')).body).toBe('')
  })

  it('are not sent again to those who have them, nor to those who ask for no body', async () => {
    const run = await recordRun(platform, space.spaceId, ['a'])
    await keep(run, 'x.txt', 'first')
    const get = (headers: Record<string, string>, method = 'GET') =>
      platform.call(method, `${run.path}/artifacts/a/x.txt`, { token: space.memberToken, headers })
    const tag = `"${createHash('sha256').update('first').digest('hex')}"`
    const whole = await get({})
    expect([whole.headers.get('etag'), whole.body]).toEqual([tag, 'first'])
    for (const given of [tag, `"other", W/${tag}`, '*']) {
      const same = await get({ 'if-none-match': given })
      expect([same.status, same.headers.get('etag'), same.body], given).toEqual([304, tag, ''])
    }
    const head = await get({}, 'HEAD')
    expect([head.status, head.headers.get('content-length'), head.headers.get('etag')]).toEqual([
      200,
      '5',
      tag,
    ])
    await keep(run, 'x.txt', 'second')
    const changed = await get({ 'if-none-match': tag })
    expect([changed.status, changed.body]).toEqual([200, 'second'])
  })

  it.each([
    ['page.html', 'application/octet-stream'],
    ['picture.svg', 'application/octet-stream'],
    ['script.js', 'application/octet-stream'],
    ['page.xhtml', 'application/octet-stream'],
    ['feed.xml', 'application/octet-stream'],
    ['book.pdf', 'application/octet-stream'],
    ['picture.png', 'image/png'],
    ['table.csv', 'text/csv; charset=utf-8'],
    ['notes.txt', 'text/plain; charset=utf-8'],
    ['data.json', 'application/json; charset=utf-8'],
  ])('run in no browser: %s comes as %s', async (name, type) => {
    const run = await recordRun(platform, space.spaceId, ['a'])
    await keep(run, name, name === 'data.json' ? '{"a":1}' : '<script>alert(1)</script>')
    const { status, headers } = await download(run, name)
    expect(status).toBe(200)
    expect(headers.get('content-type')).toBe(type)
    expect(headers.get('content-disposition')).toBe(
      `attachment; filename="${name}"; filename*=UTF-8''${name}`,
    )
    expect(headers.get('content-security-policy')).toBe("default-src 'none'; sandbox")
    expect(headers.get('x-content-type-options')).toBe('nosniff')
  })

  it('may have any name that leads nowhere else', async () => {
    const run = await recordRun(platform, space.spaceId, ['a'])
    const names = [
      'übersicht ☃.txt',
      'a b/"c".txt',
      "it's (1).txt",
      'x;y=z?.txt',
      '%2e%2e',
      '...',
      'C:/x',
      '-rf',
      'x'.repeat(512),
    ]
    for (const name of names) {
      expect(await keep(run, name, name)).toBeUndefined()
      const answer = await download(run, name)
      expect([name, answer.status, answer.body]).toEqual([name, 200, name])
    }
    const { headers } = await download(run, 'übersicht ☃.txt')
    expect(headers.get('content-disposition')).toBe(
      `attachment; filename="_bersicht _.txt"; filename*=UTF-8''%C3%BCbersicht%20%E2%98%83.txt`,
    )
  })

  it.each([
    '',
    '/',
    '/etc/passwd',
    '..',
    '../x',
    'a/../../x',
    'a//b',
    './a',
    'a/',
    'a\\b',
    'a\0b',
    'a\nb',
    '\uD800',
    'x'.repeat(513),
  ])('are not kept as %j', async (name) => {
    const run = await recordRun(platform, space.spaceId, ['a'])
    expect(await keep(run, name)).toMatch(/^its path/)
    expect((await list(run)).body.items).toEqual([])
  })

  it('are replaced by those of the same name, and gone when the task begins anew', async () => {
    const run = await recordRun(platform, space.spaceId, ['a', 'b'])
    await keep(run, 'x.txt', 'old')
    await keep(run, 'x.txt', 'new')
    await output.keepArtifact(refOf(run, 'b'), 'y.txt', await fileOf('y'))
    expect((await download(run, 'x.txt')).body).toBe('new')
    await output.begin(refOf(run, 'a', 2))
    expect((await list(run)).body.items.map((item: { task: string }) => item.task)).toEqual(['b'])
    expect((await download(run, 'x.txt')).status).toBe(404)
  })
})

describe('what is no plain file', () => {
  it.each([
    ['a symbolic link', (file: string) => symlink('/etc/passwd', file), 'it is a symbolic link'],
    [
      'a file with another name',
      (file: string) => link(path.join(folder, 'real'), file),
      'it has other names',
    ],
    ['a folder', (file: string) => mkdir(file), 'it is not a plain file'],
    ['a pipe', (file: string) => promisify(execFile)('mkfifo', [file]), 'it is not a plain file'],
    ['nothing', async () => {}, 'it cannot be read (ENOENT)'],
  ])('%s is not kept', async (_what, make, reason) => {
    const run = await recordRun(platform, space.spaceId, ['a'])
    await writeFile(path.join(folder, 'real'), 'x')
    const file = path.join(folder, `odd-${count++}`)
    await make(file)
    expect(await output.keepArtifact(refOf(run), 'x', file)).toContain(reason)
    expect((await list(run)).body.items).toEqual([])
    await rm(file, { recursive: true, force: true })
  })

  it('nor is a file behind a link of a folder', async () => {
    const run = await recordRun(platform, space.spaceId, ['a'])
    const behind = path.join(folder, `link-${count++}`)
    await symlink('/etc', behind)
    expect(await output.keepArtifact(refOf(run), 'x', path.join(behind, 'passwd'))).toBe(
      'it lies behind a symbolic link',
    )
  })
})

describe('limits', () => {
  it('of a run’s bytes hold also when tasks end at once', async () => {
    const run = await recordRun(platform, space.spaceId, ['a'])
    const small = stores.output({ artifactBytes: 1000 })
    const reasons = await Promise.all(
      ['1', '2', '3', '4'].map((name) => keep(run, name, 'x'.repeat(400), small)),
    )
    expect(reasons.filter((reason) => reason === undefined)).toHaveLength(2)
    expect(reasons.find((reason) => reason !== undefined)).toMatch(/^a run keeps 1 MiB at most/)
    const taken = (await list(run)).body.items[0].path
    expect(await keep(run, taken, 'y'.repeat(600), small)).toBeUndefined()
    await removeFiles(retention(), never)
    expect((await kept(space.spaceId)).length).toBeGreaterThan(0)
  })

  it('of a run’s files are a thousand', async () => {
    const run = await recordRun(platform, space.spaceId, ['a'])
    await platform.pool.query(
      `INSERT INTO workflows.run_artifacts (space_id, run_id, task, path, attempt, blob, size, media_type, sha256)
       SELECT $1, $2, 'b', 'f' || n, 1, gen_random_uuid(), 0, 'text/plain', '' FROM generate_series(1, 1000) AS n`,
      [space.spaceId, run.runId],
    )
    expect(await keep(run, 'x')).toBe('a run keeps 1000 files at most')
    expect((await list(run)).body.totalCount).toBe(1000)
  })
})

describe('files go', () => {
  it('when nothing refers to them any more: replaced, begun anew, deleted with run, and left by a crash', async () => {
    const own = await platform.space()
    const run = await recordRun(platform, own.spaceId, ['a'])
    await keep(run, 'stays')
    await keep(run, 'x', '1')
    await keep(run, 'x', '2')
    const doomed = await recordRun(platform, own.spaceId, ['a'])
    await keep(doomed, 'y')
    await platform.pool.query('DELETE FROM workflows.runs WHERE run_id = $1', [doomed.runId])
    expect(await kept(own.spaceId)).toHaveLength(4)
    await removeFiles(retention(), never)
    expect(await kept(own.spaceId)).toHaveLength(2)
    await platform.pool.query(
      `INSERT INTO workflows.blobs_to_remove SELECT space_id, gen_random_uuid(), now() + interval '1 hour'
         FROM workflows.runs WHERE run_id = $1`,
      [run.runId],
    )
    await removeFiles(retention(), never)
    const { rows } = await platform.pool.query('SELECT FROM workflows.blobs_to_remove WHERE space_id = $1', [
      own.spaceId,
    ])
    expect(rows).toHaveLength(1)
    expect(await output.keepArtifact({ ...refOf(run), runId: doomed.runId }, 'z', await fileOf('z'))).toBe(
      'the run is gone',
    )
    await removeFiles(retention(), never)
    expect(await kept(own.spaceId)).toHaveLength(2)
  })

  it('with logs, events and metrics once their run is old, and are not looked for again', async () => {
    const run = await recordRun(platform, space.spaceId, ['a'])
    const young = await recordRun(platform, space.spaceId, ['a'])
    const fill = async (one: RecordedRun): Promise<void> => {
      await keep(one, 'x')
      await output.appendLog(refOf(one), 'x\n')
      await output.appendMetrics(refOf(one), [{ name: 'm', step: 1, value: 1 }])
      await one.setRun('Failed')
    }
    const left = async (one: RecordedRun): Promise<number[]> => {
      const { rows } = await platform.pool.query(
        `SELECT (SELECT count(*) FROM workflows.run_logs WHERE run_id = $1)::int AS logs,
                (SELECT count(*) FROM workflows.run_metrics WHERE run_id = $1)::int AS metrics,
                (SELECT count(*) FROM workflows.run_artifacts WHERE run_id = $1)::int AS artifacts`,
        [one.runId],
      )
      return [rows[0].logs, rows[0].metrics, rows[0].artifacts]
    }
    const age = (one: RecordedRun) =>
      platform.pool.query(
        `UPDATE workflows.runs SET completed_at = now() - interval '31 days' WHERE run_id = $1`,
        [one.runId],
      )
    await fill(run)
    await fill(young)
    await age(run)
    await removeOldResults(retention(), never)
    expect([await left(run), await left(young)]).toEqual([
      [0, 0, 0],
      [1, 1, 1],
    ])
    await output.appendLog(refOf(run), 'x\n')
    await removeOldResults(retention(), never)
    expect(await left(run)).toEqual([1, 0, 0])
  })
})

it('are of somebody’s own space, and of a run, task and name that there are', async () => {
  const run = await recordRun(platform, space.spaceId, ['a'])
  await keep(run, 'x')
  const unknown = '0198c5a0-0000-7000-8000-00000000ffff'
  const paths = [
    [`${run.path}/artifacts`, other.memberToken, 403],
    [`${run.path}/artifacts/a/x`, other.memberToken, 403],
    [`${run.path.replace(space.spaceId, other.spaceId)}/artifacts/a/x`, other.memberToken, 404],
    [`${run.path.replace(run.runId, unknown)}/artifacts`, space.memberToken, 404],
    [`${run.path.replace(run.runId, 'x')}/artifacts/a/x`, space.memberToken, 404],
    [`${run.path}/artifacts?task=b`, space.memberToken, 404],
    [`${run.path}/artifacts?task=`, space.memberToken, 400],
    [`${run.path}/artifacts/b/x`, space.memberToken, 404],
    [`${run.path}/artifacts/a/y`, space.memberToken, 404],
    [`${run.path}/artifacts/a/..%2F..%2Fa%2Fx`, space.memberToken, 404],
    [`${run.path}/artifacts/a/%2Fetc%2Fpasswd`, space.memberToken, 404],
    [`${run.path}/artifacts`, undefined, 401],
    [`${run.path}/artifacts/a/x`, undefined, 401],
  ] as const
  for (const [where, token, status] of paths) {
    const answer = await platform.call('GET', where, token === undefined ? {} : { token })
    expect([where, answer.status]).toEqual([where, status])
  }
})
