import type { ChildProcess } from 'node:child_process'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { freePort, type GitServer, startGitServer } from '@atrium/testing'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { clientTokenOf, demandJson } from './callers.ts'
import { finish, spawnAtrium, stopProcess, waitForOutput } from './processes.ts'
import { CLIENT } from './retrieval-client.ts'
import { BUCKET, findWeed, type S3Server, startS3 } from './seaweedfs.ts'

const found = await findWeed()
if ('missing' in found) process.stderr.write(`artifacts in object storage are not tested: ${found.missing}\n`)

const SCRIPT = `
import json, os, pathlib
out = pathlib.Path(os.environ["ATRIUM_ARTIFACTS"]) / "model"
out.mkdir()
(out / "weights.bin").write_bytes(bytes(range(256)) * 4096)
with open(os.environ["ATRIUM_METRICS"], "a") as metrics:
    for step in range(3):
        metrics.write(json.dumps({"name": "loss", "step": step, "value": 1 / (step + 1)}) + "\\n")
print("trained")
`

/** Where artifacts are, and what their names there begin with. */
const PLACES = [
  { place: 'the data folder', isBucket: false },
  { place: 'object storage', isBucket: true },
]

describe.each(PLACES)('what a run of a private repository leaves, in $place', ({ isBucket }) => {
  const isMissing = isBucket && 'missing' in found
  let git: GitServer
  let s3: S3Server | undefined
  let child: ChildProcess | undefined
  let folder = ''
  let url = ''
  let token = ''
  let space = ''

  beforeAll(async () => {
    if (isMissing) return
    git = await startGitServer({ account: { username: 'robot', password: 'a-token-of-the-repository' } })
    await git.commit('train', { 'main.py': SCRIPT })
    if (isBucket && 'weed' in found) s3 = await startS3(found.weed)
    folder = await mkdtemp(path.join(tmpdir(), 'atrium-results-'))
    const port = await freePort()
    url = `http://127.0.0.1:${port}`
    const env = {
      ...s3?.env,
      ...(isBucket ? { ATRIUM_ARTIFACTS_URI: `s3://${BUCKET}/results/` } : {}),
      ATRIUM_ENGINE: 'local',
      ATRIUM_ALLOWED_ADDRESSES: '127.0.0.1',
      ATRIUM_DATA_DIR: folder,
      ATRIUM_PORT: String(port),
      ATRIUM_PUBLIC_URL: url,
      ATRIUM_SANDBOX: 'on',
      ATRIUM_LOG_LEVEL: 'error',
      ATRIUM_BOOTSTRAP_CLIENT_ID: CLIENT.id,
      ATRIUM_BOOTSTRAP_CLIENT_SECRET: CLIENT.secret,
      ATRIUM_MASTER_KEY: Buffer.alloc(32, 17).toString('base64'),
    }
    child = spawnAtrium(['up'], env)
    await waitForOutput(child, /Atrium is ready/)
    const superuser = await clientTokenOf(url, CLIENT)
    const spaces = `${url}/portal/v1/spaces`
    const named = { spaceName: 'results', appId: 'APP' }
    const made = await demandJson<{ spaceId: string }>(spaces, 'POST', superuser, named)
    const owner = { qNumber: 'qx-owner', name: 'Owner', mailAddress: 'owner@example.test', role: 'owner' }
    await demandJson(`${spaces}/${made.spaceId}/users`, 'POST', superuser, owner)
    token = (await finish(spawnAtrium(['token', '--user', 'qx-owner'], env))).stdout.trim()
    space = `${url}/workflows/v1/spaces/${made.spaceId}`
  }, 120_000)

  afterAll(async () => {
    if (child !== undefined) await stopProcess(child, 'SIGTERM')
    await s3?.close()
    await git?.close()
    if (folder !== '') await rm(folder, { recursive: true, force: true })
  }, 60_000)

  const get = (at: string) => fetch(at, { headers: { authorization: `Bearer ${token}` } })

  /** Names of files that are kept. */
  const kept = async (): Promise<string[]> => {
    if (s3 !== undefined) return s3.keys('results/')
    const entries = await readdir(path.join(folder, 'artifacts'), { recursive: true, withFileTypes: true })
    return entries.filter((entry) => entry.isFile()).map(({ name }) => name)
  }

  it.skipIf(isMissing)('is followed, listed and downloaded, and goes with the run', async () => {
    const workflow = `${space}/workflows/train`
    const put = (at: string, body: object) => demandJson(at, 'PUT', token, body)
    await put(`${space}/secrets/GIT_TOKEN`, { value: 'a-token-of-the-repository' })
    await put(workflow, { name: 'Train' })
    await put(`${workflow}/versions/v1`, {
      tasks: [
        {
          name: 'fetch',
          templateRef: { name: 'fetch-git-code', version: 'v1' },
          // biome-ignore lint/suspicious/noTemplateCurlyInString: a reference
          arguments: { repository: `${git.url}/train.git`, username: 'robot', token: '${secret.GIT_TOKEN}' },
          dependencies: [],
        },
        {
          name: 'train',
          templateRef: { name: 'run-python-code', version: 'v1' },
          arguments: { script: 'main.py' },
          dependencies: ['fetch'],
        },
      ],
    })
    const { runId } = await demandJson<{ runId: string }>(
      `${workflow}/runs?stage=test&versionId=v1`,
      'POST',
      token,
      {},
    )
    const run = `${workflow}/runs/${runId}`
    const log = await (await get(`${run}/logs?follow=true`)).text()
    expect(log).toContain('event: end\ndata: {"status":"Succeeded"}')
    expect(log).toContain('trained')
    expect(log).not.toContain('a-token-of-the-repository')
    const { metrics } = (await (await get(`${run}/metrics`)).json()) as { metrics: { value: number }[] }
    expect(metrics.map(({ value }) => value)).toEqual([1, 1 / 2, 1 / 3])
    const { items } = (await (await get(`${run}/artifacts`)).json()) as {
      items: { path: string; size: number }[]
    }
    expect(items).toMatchObject([{ path: 'model/weights.bin', size: 1_048_576 }])
    const bytes = Buffer.from(await (await get(`${run}/artifacts/train/model/weights.bin`)).arrayBuffer())
    expect(bytes.equals(Buffer.alloc(1_048_576, Buffer.from(Array.from({ length: 256 }, (_, n) => n))))).toBe(
      true,
    )
    expect(await kept()).toHaveLength(1)
    await fetch(run, { method: 'DELETE', headers: { authorization: `Bearer ${token}` } })
    await vi.waitFor(async () => expect(await kept()).toEqual([]), { timeout: 120_000, interval: 1000 })
  })
})
