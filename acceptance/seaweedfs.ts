import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { vi } from 'vitest'
import { freePort, root } from './processes.ts'

export const BUCKET = 'atrium'
const ACCOUNT = { accessKey: 'atrium-test', secretKey: 'atrium-test-secret' }

/** The S3 server's program, or why there is none. */
export async function findWeed(): Promise<{ readonly weed: string } | { readonly missing: string }> {
  try {
    const { stdout } = await promisify(execFile)(path.join(root, 'scripts/get-seaweedfs.sh'))
    return { weed: stdout.trim() }
  } catch (error) {
    return { missing: `no S3 server: ${(error as { stderr?: string }).stderr?.trim() ?? error}` }
  }
}

export interface S3Server {
  /** What a process needs to use it. */
  readonly env: Readonly<Record<string, string>>
  /** Names of all objects that hold this text. */
  keys(part: string): Promise<string[]>
  close(): Promise<void>
}

/** Starts an S3 server with one empty bucket, which needs an account except for listing. */
export async function startS3(weed: string): Promise<S3Server> {
  const folder = await mkdtemp(path.join(tmpdir(), 'atrium-s3-'))
  const identities = [
    { name: 'test', credentials: [ACCOUNT], actions: ['Read', 'Write', 'List'] },
    { name: 'anonymous', actions: ['List', 'Read'] },
  ]
  await writeFile(path.join(folder, 's3.json'), JSON.stringify({ identities }))
  const ports: Record<string, number> = {}
  for (const name of ['master', 'volume', 'filer', 's3']) {
    ports[name] = await freePort()
    ports[`${name}.grpc`] = await freePort()
  }
  const child = spawn(
    weed,
    [
      'server',
      '-ip=127.0.0.1',
      `-dir=${folder}`,
      '-master.volumeSizeLimitMB=64',
      '-volume.max=30',
      '-filer',
      '-s3',
      '-s3.port.iceberg=0',
      '-s3.port.lance=0',
      '-master.telemetry=false',
      `-s3.config=${path.join(folder, 's3.json')}`,
      ...['master', 'volume', 'filer', 's3'].flatMap((name) => [
        `-${name}.port=${ports[name]}`,
        `-${name}.port.grpc=${ports[`${name}.grpc`]}`,
      ]),
    ],
    { stdio: 'ignore', cwd: folder },
  )
  const endpoint = `http://127.0.0.1:${ports.s3}`
  const list = async (): Promise<string[]> => {
    const keys: string[] = []
    let token = ''
    do {
      const more = token === '' ? '' : `&continuation-token=${encodeURIComponent(token)}`
      const response = await fetch(`${endpoint}/${BUCKET}?list-type=2${more}`)
      const text = await response.text()
      if (!response.ok) throw new Error(`list: ${response.status} ${text}`)
      keys.push(...[...text.matchAll(/<Key>([^<]+)<\/Key>/g)].map(([, key = '']) => key))
      token = /<NextContinuationToken>([^<]+)</.exec(text)?.[1] ?? ''
    } while (token !== '')
    return keys
  }
  await vi.waitFor(
    async () => {
      // A folder here is a bucket.
      const made = await fetch(`http://127.0.0.1:${ports.filer}/buckets/${BUCKET}/`, { method: 'POST' })
      if (!made.ok && made.status !== 409) throw new Error(`bucket: ${made.status}`)
      await list()
    },
    { timeout: 30_000, interval: 200 },
  )
  return {
    env: {
      AWS_ENDPOINT: endpoint,
      AWS_ALLOW_HTTP: 'true',
      AWS_REGION: 'us-east-1',
      AWS_ACCESS_KEY_ID: ACCOUNT.accessKey,
      AWS_SECRET_ACCESS_KEY: ACCOUNT.secretKey,
    },
    keys: async (part) => (await list()).filter((key) => key.includes(part)),
    async close() {
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
      await rm(folder, { recursive: true, force: true })
    },
  }
}
