import type { ChildProcess } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { clientTokenOf, demandJson } from './callers.ts'
import { signIn } from './people.ts'
import { finish, freePort, spawnAtrium, stopProcess, waitForOutput } from './processes.ts'

/** Databases of former releases, with rows of every service: `scripts/dump-release.ts` makes them. */
const RELEASES = path.join(import.meta.dirname, 'releases')
const releases = (await readdir(RELEASES)).flatMap((name) =>
  name.endsWith('.sql') ? [name.slice(0, -4)] : [],
)

/** What is known of the rows. */
interface Facts {
  readonly environment: Readonly<Record<string, string>>
  readonly spaceId: string
  readonly apiKeyValue: string
  readonly agentId: string
  readonly threadId: string
  readonly vectorStoreId: string
  readonly clientId: string
  readonly clientSecret: string
  readonly month: string
  readonly costs: readonly object[]
  readonly audit: readonly string[]
}

async function run(url: string, statements: readonly string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    for (const statement of statements) await client.query(statement)
  } finally {
    await client.end()
  }
}

const urlOf = (adminUrl: string, parts: Partial<URL>): string => Object.assign(new URL(adminUrl), parts).href

describe.each(releases)('the database of release %s', (release) => {
  const adminUrl = urlOf(inject('databaseAdminUrl'), { pathname: '/postgres' })
  const name = `upgrade_${process.pid}`
  const owner = urlOf(adminUrl, { pathname: `/${name}` })
  let facts: Facts
  let dataDir = ''
  let url = ''
  let running: ChildProcess | undefined

  const call = <T>(method: string, place: string, token: string, body?: object): Promise<T> =>
    demandJson(`${url}${place}`, method, token, body)
  const portal = <T>(place: string, token: string) => call<T>('GET', `/portal/v1/${place}`, token)
  const agents = <T>(place: string) =>
    call<T>('GET', `/agents/v1/spaces/${facts.spaceId}/${place}`, facts.apiKeyValue)

  const clientToken = (id = '', secret = ''): Promise<string> => clientTokenOf(url, { id, secret })
  const superuser = (): Promise<string> =>
    clientToken(
      facts.environment.ATRIUM_BOOTSTRAP_CLIENT_ID,
      facts.environment.ATRIUM_BOOTSTRAP_CLIENT_SECRET,
    )

  beforeAll(async () => {
    facts = JSON.parse(await readFile(path.join(RELEASES, `${release}.json`), 'utf8')) as Facts
    dataDir = await mkdtemp(path.join(tmpdir(), 'atrium-upgrade-'))
    await run(adminUrl, [`CREATE DATABASE ${name}`, `CREATE ROLE ${name} LOGIN PASSWORD 'upgrade'`])
    await run(owner, [await readFile(path.join(RELEASES, `${release}.sql`), 'utf8')])
    const port = await freePort()
    url = `http://127.0.0.1:${port}`
    // With roles apart, which older releases did not know: their tables come into other hands as well.
    running = spawnAtrium(['up'], {
      ...facts.environment,
      ATRIUM_DATA_DIR: dataDir,
      ATRIUM_PORT: String(port),
      ATRIUM_SANDBOX: 'on',
      DATABASE_URL: urlOf(owner, { username: name, password: 'upgrade' }),
      ATRIUM_MIGRATION_DATABASE_URL: owner,
    })
    await waitForOutput(running, /Atrium is ready/)
  }, 120_000)
  afterAll(async () => {
    await stopProcess(running, 'SIGKILL')
    await run(owner, [`DROP OWNED BY ${name} CASCADE`])
    await run(adminUrl, [`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`, `DROP ROLE IF EXISTS ${name}`])
    await rm(dataDir, { recursive: true, force: true })
  })

  it('keeps its spaces, people, clients, invitations and budgets', async () => {
    const { spaceId } = facts
    const token = await superuser()
    expect(await portal(`spaces/${spaceId}`, token)).toMatchObject({ spaceName: 'Räume & "Träume"' })
    const users = await portal<{ data: { qNumber: string; role: string }[] }>(
      `spaces/${spaceId}/users`,
      token,
    )
    expect(users.data.map(({ qNumber, role }) => [qNumber, role]).sort()).toEqual([
      ['admin', 'owner'],
      ['qx-member', 'member'],
    ])
    expect(await portal(`spaces/${spaceId}/budget`, token)).toMatchObject({ monthlyBudget: 250.5 })
    expect(await portal(`spaces/${spaceId}/invitations`, token)).toMatchObject({
      data: [{ mailAddress: 'guest@example.test', role: 'member' }],
    })
    const reporting = await clientToken(facts.clientId, facts.clientSecret)
    expect(await portal(`spaces/${spaceId}`, reporting)).toMatchObject({ spaceId })
  })

  it('keeps its API keys: they call models, and their costs go on from what they were', async () => {
    const person = await signIn(url, 'admin', facts.environment.ATRIUM_BOOTSTRAP_PASSWORD ?? '')
    const report = `spaces/${facts.spaceId}/costs/report?month=${facts.month}`
    expect(await portal(report, person.access_token)).toMatchObject({ services: facts.costs })
    await call('POST', '/llm/v1/chat/completions', facts.apiKeyValue, {
      model: 'gpt-4o',
      messages: [{ role: 'user', content: 'hi' }],
    })
    const month = new Date().toISOString().slice(0, 7)
    const now = `spaces/${facts.spaceId}/costs/report?month=${month}`
    const before = month === facts.month ? facts.costs : []
    await expect
      .poll(async () => (await portal<{ services: object[] }>(now, person.access_token)).services, {
        timeout: 30_000,
      })
      .not.toEqual(before)
  })

  it('keeps its agents, threads, messages and vector stores', async () => {
    const agent = `agent/${facts.agentId}`
    expect(await agents(agent)).toMatchObject({ name: "it's an agent", instructions: 'Be brief.\nBe kind.' })
    const thread = `${agent}/thread/${facts.threadId}`
    expect(await agents(thread)).toMatchObject({ title: 'first', status: 'open' })
    const messages = await agents<{ role: string; content: object[] }[]>(`${thread}/message`)
    expect(messages.map(({ role, content }) => ({ role, content }))).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'Hello – Grüße' }] },
      { role: 'assistant', content: [{ type: 'text', text: 'And to you' }] },
    ])
    // Embeddings are in the data folder, which is not part of the dump.
    expect(await agents(`vector-stores/${facts.vectorStoreId}`)).toMatchObject({ name: 'store' })
  })

  it('keeps its audit log, to which new acts are added', async () => {
    const token = await superuser()
    await call('PUT', `/portal/v1/spaces/${facts.spaceId}/budget`, token, { monthlyBudget: 300 })
    const { data } = await portal<{ data: { auditId: string; operation: string }[] }>(
      'admin/audit?limit=100',
      token,
    )
    const ids = data.map(({ auditId }) => auditId)
    expect(ids.filter((id) => facts.audit.includes(id))).toEqual(facts.audit)
    expect(ids.length).toBeGreaterThan(facts.audit.length)
  })

  it('has no superusers, clients or signing keys but its own', async () => {
    const token = await superuser()
    const clients = await portal<{ data: { clientId: string }[] }>('admin/clients', token)
    expect(clients.data.map(({ clientId }) => clientId)).toContain(facts.clientId)
    expect(await portal<object[]>('spaces', token)).toHaveLength(1)
  })

  it('is in order for `atrium doctor` as a role that owns nothing, unless who migrates may not', async () => {
    const restricted = urlOf(owner, { username: name, password: 'upgrade' })
    const doctor = async (env: Readonly<Record<string, string>>) => {
      const port = String(await freePort())
      return finish(spawnAtrium(['doctor'], { ATRIUM_DATA_DIR: dataDir, ATRIUM_PORT: port, ...env }))
    }
    for (const more of [{}, { ATRIUM_MIGRATION_DATABASE_URL: owner }] as Record<string, string>[]) {
      const found = await doctor({ DATABASE_URL: restricted, ...more })
      expect([found.code, found.output]).toEqual([0, expect.stringContaining('Everything is in order.')])
    }
    const elsewhere = urlOf(restricted, { pathname: '/postgres' })
    const refused = await doctor({ DATABASE_URL: elsewhere })
    expect([refused.code, refused.output]).toEqual([
      1,
      expect.stringContaining('DATABASE_URL: its user may not create schemas'),
    ])
  }, 60_000)
})
