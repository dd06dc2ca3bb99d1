// Lists and creation of runs over HTTP with a hundred finished runs in the table and with a hundred thousand.
import { createPool } from '@atrium/kernel/db'
import { createLogger } from '@atrium/kernel/log'
import { startPlatform } from '../portal/platform.ts'

const FEW = 100
const MANY = 100_000
const TIMES = 100
/** Answers before those that count. */
const BEFORE = 20
const GOAL = 1.5

// Runs are made, and none of them begins: what they do is not what is measured.
process.env.ATRIUM_WORKFLOWS_TASKS = '0'

type Platform = Awaited<ReturnType<typeof startPlatform>>

/** A workflow with so many runs that ended, each with three tasks, and what asks for them. */
async function workflowWith(platform: Platform, runs: number) {
  const { spaceId = '' } = await platform.call('POST', '/v1/spaces', { spaceName: 'bench', appId: 'bench' })
  const workflows = `${platform.url}/workflows/v1/spaces/${spaceId}/workflows/bench`
  async function call(method: string, route: string, body?: unknown): Promise<string> {
    const response = await fetch(`${workflows}${route}`, {
      method,
      headers: {
        authorization: `Bearer ${platform.token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${route}: ${response.status} ${text}`)
    return text
  }
  await call('PUT', '', { name: 'bench' })
  const tasks = [
    {
      name: 'only',
      templateRef: { name: 'run-python-code', version: 'v1' },
      arguments: { script: 'main.py' },
      dependencies: [],
    },
  ]
  await call('PUT', '/versions/v1', { tasks })
  await call('PUT', '/stages/test', { versionId: 'v1' })
  const pool = createPool(platform.databaseUrl, {
    max: 1,
    applicationName: 'bench',
    log: createLogger({ level: 'warn' }),
    statementTimeoutMs: 600_000,
  })
  // Of each pair of filters many runs fit one, and the oldest ten alone fit v3 and Cancelled.
  await pool.query(
    `INSERT INTO workflows.runs (space_id, workflow_id, run_id, stage, version_id, resolved_configuration, plan, engine,
       status, created_by, created_at, completed_at, submitted_attempt)
     SELECT $1, 'bench', ('01900000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid,
            (ARRAY['test', 'int', 'e2e', 'prod'])[1 + n % 4], 'v' || n % 10, '{}', '[]', 'local',
            CASE WHEN n % 10 = 7 OR n <= 100 AND n % 10 = 3 THEN 'Cancelled' WHEN n % 10 = 5 THEN 'Failed'
                 ELSE 'Succeeded' END, 'bench', now(), now(), 1
       FROM generate_series(1, $2::integer) n`,
    [spaceId, runs],
  )
  for (const rows of [
    `workflows.run_tasks (space_id, run_id, name, position, dependencies, status)
     SELECT space_id, run_id, 't' || n, n, '{}', 'Succeeded' FROM workflows.runs, generate_series(1, 3) n`,
    `workflows.run_events (space_id, run_id, event)
     SELECT space_id, run_id, '{"type": "run", "status": "Succeeded", "attempt": 1, "message": ""}'
       FROM workflows.runs, generate_series(1, 5)`,
    `workflows.local_runs (space_id, run_id, workflow_id, attempt, folder, state, unfinished)
     SELECT space_id, run_id, workflow_id, 1, gen_random_uuid(), 'Ended', 0 FROM workflows.runs`,
    `workflows.local_tasks (space_id, run_id, name, position, attempt, folder, waiting, dependents, spec, status)
     SELECT space_id, run_id, 't' || n, n, 1, gen_random_uuid(), 0, '{}', '{}', 'Succeeded'
       FROM workflows.runs, generate_series(1, 3) n`,
  ])
    await pool.query(`INSERT INTO ${rows}`)
  await pool.query('VACUUM ANALYZE')
  await pool.end()
  const middle = `01900000-0000-7000-8000-${(runs / 2).toString(16).padStart(12, '0')}`
  // The token of a page in the middle: pages of a hundred up to there.
  let token = ''
  for (let at = 0; at < runs / 2; at += 100) {
    const page = JSON.parse(await call('GET', `/runs?pageSize=${Math.min(100, runs / 2)}&pageToken=${token}`))
    token = page.nextPageToken
  }
  return { call, middle, token }
}

type Workflow = Awaited<ReturnType<typeof workflowWith>>

const CALLS: Readonly<Record<string, (workflow: Workflow) => Promise<string>>> = {
  'newest page': ({ call }) => call('GET', '/runs?pageSize=10'),
  'page in the middle, by its token': ({ call, token }) =>
    call('GET', `/runs?pageSize=10&pageToken=${token}`),
  'status=Failed': ({ call }) => call('GET', '/runs?pageSize=5&status=Failed'),
  'versionId=v3': ({ call }) => call('GET', '/runs?pageSize=5&versionId=v3'),
  'stage=prod': ({ call }) => call('GET', '/runs?pageSize=5&stage=prod'),
  'versionId=v3&status=Cancelled, the ten oldest': ({ call }) =>
    call('GET', '/runs?pageSize=5&versionId=v3&status=Cancelled'),
  'stage=test&status=Running, none': ({ call }) => call('GET', '/runs?stage=test&status=Running'),
  'one run': ({ call, middle }) => call('GET', `/runs/${middle}`),
  'events of a run': ({ call, middle }) => call('GET', `/runs/${middle}/events`),
  'creation of a run': ({ call }) => call('POST', '/runs?stage=test', {}),
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await work()
  return performance.now() - began
}

const median = (values: readonly number[]): number =>
  values.slice(BEFORE).toSorted((a, b) => a - b)[Math.floor((values.length - BEFORE) / 2)] ?? Number.NaN

await using small = await startPlatform()
await using large = await startPlatform()
const few = await workflowWith(small, FEW)
const many = await workflowWith(large, MANY)
console.log(`| Over HTTP, median of ${TIMES} | ${FEW} runs, ms | ${MANY.toLocaleString('en')} runs, ms | ratio (goal: under ${GOAL}) |
|---|---|---|---|`)
for (const [name, call] of Object.entries(CALLS)) {
  const [ofFew, ofMany]: [number[], number[]] = [[], []]
  for (let n = 0; n < TIMES + BEFORE; n++) {
    ofFew.push(await timed(() => call(few)))
    ofMany.push(await timed(() => call(many)))
  }
  const [a, b] = [median(ofFew), median(ofMany)]
  console.log(`| ${name} | ${a.toFixed(2)} | ${b.toFixed(2)} | ${(b / a).toFixed(2)} |`)
}
console.log('\nTwo platforms, each with a PostgreSQL of its own, are asked in turns; no run begins.')
