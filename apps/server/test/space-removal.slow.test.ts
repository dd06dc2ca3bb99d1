import { readdirSync } from 'node:fs'
import path from 'node:path'
import { createDatabase, createPool } from '@atrium/kernel/db'
import { createJobs } from '@atrium/kernel/jobs'
import { Closers } from '@atrium/kernel/lifecycle'
import { createLogger } from '@atrium/kernel/log'
import { startTestPlatform, type TestPlatform, type TestSpace } from '@atrium/testing'
import { expect, it } from 'vitest'

const JOBS = [
  { name: 'portal.remove-spaces' },
  { name: 'agents.remove-spaces' },
  { name: 'workflows.remove-spaces' },
]

/** Runs the jobs now, instead of in ten minutes. */
async function enqueueRemoval(url: string): Promise<void> {
  await using closers = new Closers()
  const log = createLogger({ level: 'silent' })
  const pool = createPool(url, { max: 1, applicationName: 'test', log })
  closers.add('pool', () => pool.end())
  const jobs = createJobs({ url, log, runsJobs: false })
  closers.add('jobs', () => jobs.close())
  await jobs.open(JOBS)
  await createDatabase(pool)
    .transaction()
    .execute(async (trx) => {
      for (const job of JOBS) await jobs.enqueue(trx, job, {})
    })
}

/** Those of the given vector stores that have files. */
function storesWithFiles(platform: TestPlatform, stores: readonly string[]): string[] {
  const names = readdirSync(path.join(platform.dataDir, 'retrieval'))
  return stores.filter((id) => names.some((name) => name.includes(id)))
}

/** Puts something of every kind into a space. @returns its vector store */
async function fill(platform: TestPlatform, { spaceId, apiKey }: TestSpace): Promise<string> {
  const make = async (address: string, body: unknown, token = platform.superuser.token) => {
    const answer = await platform.call('POST', address, { token, body })
    expect(answer.status, `${address}: ${JSON.stringify(answer.body)}`).toBeLessThan(300)
    return answer.body
  }
  const agents = `/agents/v1/spaces/${spaceId}`
  const agent = { name: 'n', instructions: 'i', description: 'd', outputFormat: 'text' }
  const author = { createdBy: { qxId: 'q', name: 'n' } }
  const { agentId } = await make(`${agents}/agent?model=gpt-4o`, { ...agent, ...author }, apiKey)
  const { threadId } = await make(`${agents}/agent/${agentId}/thread`, {}, apiKey)
  const message = { role: 'user', content: [{ type: 'text', text: 'hello' }] }
  await make(`${agents}/agent/${agentId}/thread/${threadId}/message`, message, apiKey)
  const { vectorStoreId } = await make(`${agents}/vector-stores`, { name: 'store' }, apiKey)
  const batch = { embeddings: [Array(1536).fill(0.1)], chunks: ['text'] }
  await make(`${agents}/vector-stores/${vectorStoreId}/embeddings`, batch, apiKey)
  const workflow = await platform.call('PUT', `/workflows/v1/spaces/${spaceId}/workflows/doomed`, {
    token: platform.superuser.token,
    body: { name: 'doomed' },
  })
  expect(workflow.status).toBe(201)
  const portal = `/portal/v1/spaces/${spaceId}`
  const workspace = { region: 'eu-central-1', clusterName: 'c', namespaceName: 'n' }
  await make(`${portal}/mkflw-workspaces`, workspace)
  await make(`${portal}/invitations`, { mailAddress: 'i@example.test', role: 'member' })
  const cost = { day: '2026-01-01', service: 's', calculatedCost: 1.5, currency: 'USD' }
  await make(`${portal}/costs`, cost, platform.superuserClient.token)
  return vectorStoreId
}

/** Rows of a space by table, in every schema. */
async function rowsOf(platform: TestPlatform, spaceId: string): Promise<Record<string, number>> {
  const { rows: tables } = await platform.pool.query<{ name: string }>(
    `SELECT table_schema || '.' || table_name AS name FROM information_schema.columns
      WHERE column_name = 'space_id' AND table_schema IN ('portal', 'agents', 'gateway', 'identity', 'workflows') ORDER BY 1`,
  )
  const counts: Record<string, number> = {}
  for (const { name } of tables) {
    const { rows } = await platform.pool.query(`SELECT count(*)::int AS n FROM ${name} WHERE space_id = $1`, [
      spaceId,
    ])
    if (rows[0].n > 0) counts[name] = rows[0].n
  }
  return counts
}

it('removes a deleted space from every service after its grace, but for the books, and no other', async () => {
  await using platform = await startTestPlatform({ env: { ATRIUM_BACKGROUND_JOBS: 'true' } })
  const [doomed, deleted, open] = [await platform.space(), await platform.space(), await platform.space()]
  const stores: string[] = []
  for (const space of [doomed, deleted, open]) stores.push(await fill(platform, space))
  const kept = [await rowsOf(platform, deleted.spaceId), await rowsOf(platform, open.spaceId)]
  expect(storesWithFiles(platform, stores)).toEqual(stores)
  for (const { spaceId } of [doomed, deleted]) {
    const answer = await platform.call('DELETE', `/portal/v1/spaces/${spaceId}`, {
      token: platform.superuser.token,
    })
    expect(answer.status).toBe(204)
  }
  await platform.pool.query(
    `UPDATE portal.spaces SET remove_after = now() - interval '2 minutes' WHERE space_id = $1`,
    [doomed.spaceId],
  )
  await enqueueRemoval(platform.databaseUrl)
  await expect
    .poll(async () => Object.keys(await rowsOf(platform, doomed.spaceId)), { timeout: 60_000 })
    .toEqual(['portal.audit_entries', 'portal.cost_daily_totals', 'portal.cost_entries', 'portal.spaces'])
  await expect.poll(() => storesWithFiles(platform, stores), { timeout: 60_000 }).toEqual(stores.slice(1))
  const last = await platform.pool.query(
    `SELECT operation, actor_kind FROM portal.audit_entries WHERE space_id = $1 ORDER BY at DESC LIMIT 1`,
    [doomed.spaceId],
  )
  expect(last.rows).toEqual([{ operation: 'removeSpace', actor_kind: 'system' }])

  const restored = await platform.call('POST', `/portal/v1/admin/deleted-spaces/${deleted.spaceId}:restore`, {
    token: platform.superuser.token,
  })
  expect(restored.status).toBe(200)
  const audited = 'portal.audit_entries'
  for (const [index, { spaceId }] of [deleted, open].entries()) {
    const { [audited]: _before, ...before } = kept[index] ?? {}
    const { [audited]: _now, ...now } = await rowsOf(platform, spaceId)
    expect(now).toEqual(before)
  }
}, 240_000)
