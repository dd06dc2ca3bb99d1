import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { clientTokenOf, demandJson } from './callers.ts'
import { finish, freePort, killTree, root, spawnAtrium, stopProcess, waitForOutput } from './processes.ts'

const DOCUMENTS = 2000
const SECRET = 'acceptance-client-secret-0123456789'

interface Stored {
  readonly documentId: string
  readonly sequence: number
  readonly metadata: { readonly atrium: { readonly chunks: number } }
}

let folder = ''
let url = ''
let running: ChildProcess | undefined
let env: Record<string, string> = {}

async function start(): Promise<void> {
  running = spawnAtrium(['up'], env)
  await waitForOutput(running, /Atrium is ready/)
}

const call = <T>(method: string, where: string, bearer: string, body?: object): Promise<T> =>
  demandJson(`${url}${where}`, method, bearer, body)

/** A space, a key of it and a store in it. */
async function prepare(): Promise<{ apiKey: string; spaceId: string; store: string }> {
  const token = await clientTokenOf(url, { id: 'acceptance', secret: SECRET })
  const { spaceId } = await call<{ spaceId: string }>('POST', '/portal/v1/spaces', token, {
    spaceName: 'retrieval',
    appId: 'APP',
  })
  const key = await call<{ apiKeyValue: string }>('POST', `/portal/v1/spaces/${spaceId}/apikeys`, token, {
    name: 'import',
  })
  const stores = `/agents/v1/spaces/${spaceId}/vector-stores`
  const made = await call<{ vectorStoreId: string }>('POST', stores, key.apiKeyValue, {
    name: 'documents',
    chunkSize: 300,
    chunkOverlap: 50,
  })
  return { apiKey: key.apiKeyValue, spaceId, store: `${stores}/${made.vectorStoreId}` }
}

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'atrium-retrieval-'))
  const port = await freePort()
  url = `http://127.0.0.1:${port}`
  env = {
    ATRIUM_DATA_DIR: path.join(folder, 'data'),
    ATRIUM_PORT: String(port),
    ATRIUM_SANDBOX: 'on',
    ATRIUM_BOOTSTRAP_CLIENT_ID: 'acceptance',
    ATRIUM_BOOTSTRAP_CLIENT_SECRET: SECRET,
  }
  await start()
})
afterAll(async () => {
  await stopProcess(running, 'SIGKILL')
  await rm(folder, { recursive: true, force: true })
})

it('an import outlives the death of the platform, and stores every chunk once', async () => {
  const { apiKey, store } = await prepare()
  const file = path.join(folder, 'docs.jsonl')
  const lines = Array.from({ length: DOCUMENTS }, (_, n) => {
    const text = `Document ${n} tells of subject ${n % 11} and of nothing else. `.repeat(1 + (n % 15))
    return JSON.stringify({ id: `doc-${n}`, text, year: 2000 + (n % 25) })
  })
  await writeFile(file, lines.join('\n'))
  const storeId = store.split('/').at(-1) ?? ''
  const client = { ...env, ATRIUM_API_KEY: apiKey, ATRIUM_URL: url }
  const importing = finish(spawnAtrium(['import', '--store', storeId, '--concurrency', '2', file], client))
  for (const stored of [200, 1500]) {
    await expect
      .poll(async () => (await call<{ embeddingCount: number }>('GET', store, apiKey)).embeddingCount, {
        timeout: 60_000,
        interval: 50,
      })
      .toBeGreaterThan(stored)
    killTree(running?.pid ?? 0)
    await start()
  }
  const { code, output } = await importing
  expect([code, output]).toEqual([0, expect.stringContaining(`${DOCUMENTS} imported`)])

  const embeddings = await call<Stored[]>('GET', `${store}/embeddings`, apiKey)
  const byDocument = Map.groupBy(embeddings, ({ documentId }) => documentId)
  expect(byDocument.size).toBe(DOCUMENTS)
  for (const [id, chunks] of byDocument) {
    const sequences = chunks.map(({ sequence }) => sequence).sort((a, b) => a - b)
    const wanted = Array.from({ length: chunks[0]?.metadata.atrium.chunks ?? 0 }, (_, i) => i)
    expect(sequences, id).toEqual(wanted)
  }
  const search = await finish(spawnAtrium(['search', '--store', storeId, '--json', 'document 77'], client))
  expect(JSON.parse(search.stdout).results[0].documentId).toBe('doc-77')
}, 180_000)

it('the guide does what it says', async () => {
  const { apiKey, spaceId } = await prepare()
  const text = await readFile(path.join(root, 'docs/guides/retrieval-import.md'), 'utf8')
  const blocks = [...text.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, commands]) => commands)
  const field = `field() { '${process.execPath}' -p 'JSON.parse(fs.readFileSync(0))[process.argv[1]]' "$1"; }`
  const script = [
    'set -euo pipefail',
    field,
    ...blocks.map((block) => block?.replaceAll('/tmp/', `${folder}/`)),
  ]
  const shell = spawn('bash', ['-c', script.join('\n')], {
    cwd: root,
    env: { ...process.env, ATRIUM: url, SPACE: spaceId, API_KEY: apiKey },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const { code, stdout, output } = await finish(shell)
  expect(code, output).toBe(0)
  expect(stdout).toMatch(/^Handbook: 3 imported; 3 chunks stored in/)
  expect(stdout).toMatch(/^1\. 1\.0000 {2}leave#0\n {3}Leave Thirty days/m)
  expect(stdout.trim().split('\n').slice(-2)[0]).toMatch(/^1\. \d\.\d{4} {2}leave#0$/)
})
