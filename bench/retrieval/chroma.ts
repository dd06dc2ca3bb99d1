// The peer: Chroma from PyPI, in a virtual environment of its own, called over HTTP as the platform is.
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '@atrium/testing'
import { stop, waitFor } from '../gateway/processes.ts'
import { type Post, post, type Target } from './client.ts'
import { BATCH, DIMENSION, metadataOf, type Selection, textOf } from './data.ts'

const VERSION = '1.5.9'
const run = promisify(execFile)

export interface Chroma {
  readonly name: string
  readonly target: Target
  readonly process: ChildProcess
  addBatch(vectors: Float32Array, from: number): Post
  query(vector: Float32Array, filter: Selection['filter']): Post
  /** Rows that an answer names. */
  rowsIn(answer: Buffer): number[]
  stop(): Promise<void>
}

export async function startChroma(folder: string): Promise<Chroma> {
  const venv = path.join(folder, 'venv')
  await run('python3', ['-m', 'venv', venv])
  await run(path.join(venv, 'bin/pip'), ['install', '--quiet', `chromadb==${VERSION}`], { maxBuffer: 1e8 })
  const port = await freePort()
  const child = spawn(
    path.join(venv, 'bin/chroma'),
    ['run', '--path', path.join(folder, 'data'), '--port', String(port)],
    {
      stdio: 'ignore',
    },
  )
  await waitFor(`http://127.0.0.1:${port}/api/v2/heartbeat`)
  const target: Target = { host: '127.0.0.1', port, headers: {} }
  const collections = '/api/v2/tenants/default_tenant/databases/default_database/collections'
  const made = await post(target, {
    path: collections,
    body: Buffer.from(JSON.stringify({ name: 'bench', metadata: { 'hnsw:space': 'cosine' } })),
  })
  const { id } = JSON.parse(made.toString('utf8')) as { id: string }
  const at = `${collections}/${id}`
  return {
    name: `Chroma ${VERSION}`,
    target,
    process: child,
    addBatch: (vectors, from) => ({ path: `${at}/add`, body: addBody(vectors, from) }),
    query: (vector, filter) => ({
      path: `${at}/query`,
      body: Buffer.from(
        JSON.stringify({
          query_embeddings: [Array.from(vector)],
          n_results: 10,
          include: ['metadatas', 'documents', 'distances'],
          ...(filter === undefined ? {} : { where: filter }),
        }),
      ),
    }),
    rowsIn: (answer) =>
      (JSON.parse(answer.toString('utf8')) as { metadatas: { row: number }[][] }).metadatas[0]?.map(
        ({ row }) => row,
      ) ?? [],
    stop: () => stop(child),
  }
}

function addBody(vectors: Float32Array, from: number): Buffer {
  const rows = Array.from({ length: BATCH }, (_, at) => from + at)
  return Buffer.from(
    JSON.stringify({
      ids: rows.map((row) => `id-${row}`),
      embeddings: rows.map((row) => Array.from(vectors.subarray(row * DIMENSION, (row + 1) * DIMENSION))),
      documents: rows.map(textOf),
      // It takes no lists.
      metadatas: rows.map((row) => ({ ...metadataOf(row), tags: metadataOf(row).tags.join(' ') })),
    }),
  )
}
