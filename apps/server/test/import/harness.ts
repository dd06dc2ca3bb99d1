import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { startTestPlatform } from '@atrium/testing'
import { type FaultyProxy, startFaultyProxy } from './faulty-proxy.ts'

const BIN = path.resolve(import.meta.dirname, '../../bin/atrium.js')

export interface Stored {
  readonly embeddingId: string
  readonly documentId: string
  readonly sequence: number
  readonly chunk: string
  readonly metadata: Record<string, unknown>
}

export interface Outcome {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export type Harness = Awaited<ReturnType<typeof startHarness>>

/** A platform with the sandbox, a network in front of it that can fail, and a folder for files. */
export async function startHarness(env: Readonly<Record<string, string>> = {}) {
  const platform = await startTestPlatform({ env })
  const space = await platform.space()
  const proxy: FaultyProxy = await startFaultyProxy(platform.url)
  const folder = await mkdtemp(path.join(tmpdir(), 'atrium-import-'))

  /** Starts `atrium <args>` as a user would, against the proxy. */
  function start(args: readonly string[], more: Readonly<Record<string, string>> = {}): ChildProcess {
    const clean: NodeJS.ProcessEnv = { ...process.env }
    for (const name of Object.keys(clean))
      if (/^(ATRIUM_|OPENAI_|NODE_ENV$|VITEST|NODE_OPTIONS$)/.test(name)) delete clean[name]
    return spawn(process.execPath, [BIN, ...args], {
      cwd: folder,
      env: { ...clean, ATRIUM_API_KEY: space.apiKey, ATRIUM_URL: proxy.url, ...more },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  }

  async function run(args: readonly string[], more: Readonly<Record<string, string>> = {}): Promise<Outcome> {
    return finish(start(args, more))
  }

  return {
    platform,
    space,
    proxy,
    folder,
    start,
    run,
    /** A store of its own; returns its id. */
    async store(fields: Readonly<Record<string, unknown>> = {}): Promise<string> {
      const made = await platform.call('POST', `/agents/v1/spaces/${space.spaceId}/vector-stores`, {
        token: space.apiKey,
        body: { name: 'documents', chunkSize: 200, chunkOverlap: 40, ...fields },
      })
      if (made.status !== 201) throw new Error(`no store: ${made.status} ${JSON.stringify(made.body)}`)
      return made.body.vectorStoreId as string
    },
    async stored(storeId: string): Promise<Stored[]> {
      const list = await platform.call(
        'GET',
        `/agents/v1/spaces/${space.spaceId}/vector-stores/${storeId}/embeddings`,
        { token: space.apiKey },
      )
      return list.body as Stored[]
    },
    /** Writes files below the folder; returns the path of the first. */
    async files(files: Readonly<Record<string, string | Uint8Array>>): Promise<string> {
      for (const [name, content] of Object.entries(files)) {
        await mkdir(path.dirname(path.join(folder, name)), { recursive: true })
        await writeFile(path.join(folder, name), content)
      }
      return path.join(folder, Object.keys(files)[0] ?? '')
    },
    async [Symbol.asyncDispose]() {
      await proxy[Symbol.asyncDispose]()
      await platform.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** What a process printed, and how it ended. */
export async function finish(child: ChildProcess): Promise<Outcome> {
  let [stdout, stderr] = ['', '']
  child.stdout?.on('data', (chunk: Buffer) => {
    stdout += chunk.toString('utf8')
  })
  child.stderr?.on('data', (chunk: Buffer) => {
    stderr += chunk.toString('utf8')
  })
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, stdout, stderr }
}

/** Rows about all kinds of things, some of them several chunks long. */
export function rows(count: number, from = 0): { id: string; title: string; text: string; year: number }[] {
  return Array.from({ length: count }, (_, i) => {
    const n = from + i
    const sentence = `Document ${n} tells of subject ${n % 7} and of nothing else. `
    return {
      id: `doc-${n}`,
      title: `Number ${n}`,
      text: sentence.repeat(1 + (n % 12)),
      year: 2000 + (n % 20),
    }
  })
}

export const jsonl = (values: readonly unknown[]): string =>
  values.map((value) => `${JSON.stringify(value)}\n`).join('')

/** Complaints about a store that does not hold each chunk of each document exactly once. */
export function flaws(stored: readonly Stored[], documents: number): string[] {
  const found: string[] = []
  const byDocument = Map.groupBy(stored, ({ documentId }) => documentId)
  if (byDocument.size !== documents) found.push(`${byDocument.size} documents instead of ${documents}`)
  for (const [id, chunks] of byDocument) {
    const expected = (chunks[0]?.metadata.atrium as { chunks: number } | undefined)?.chunks ?? 0
    const sequences = chunks.map(({ sequence }) => sequence).sort((a, b) => a - b)
    const wanted = Array.from({ length: expected }, (_, i) => i)
    if (JSON.stringify(sequences) !== JSON.stringify(wanted)) found.push(`${id}: ${sequences} of ${expected}`)
  }
  return found
}
