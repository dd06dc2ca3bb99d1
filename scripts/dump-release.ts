// Dumps the database of a release, filled over HTTP, for the test that upgrades it (acceptance/upgrade.test.ts):
//   DATABASE_URL=postgres://… node scripts/dump-release.ts <folder of the release's sources, npm install done>
// The database is empty, its user a superuser; the pg_dump on PATH is of the server's version, which is at least 15.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { freePort } from '@atrium/kernel/ports'

const DIMENSION = 1024
const RELEASES = path.resolve(import.meta.dirname, '../acceptance/releases')

/** No secrets: they open the data of this dump only. */
const CREDENTIALS = {
  ATRIUM_MASTER_KEY: Buffer.alloc(32, 9).toString('base64'),
  ATRIUM_BOOTSTRAP_USER: 'admin',
  ATRIUM_BOOTSTRAP_PASSWORD: 'correct horse battery staple',
  ATRIUM_BOOTSTRAP_CLIENT_ID: 'release-client',
  ATRIUM_BOOTSTRAP_CLIENT_SECRET: 'release-client-secret-0123456789',
}

async function start(tree: string, dataDir: string, port: number): Promise<ChildProcess> {
  const child = spawn(path.join(tree, 'node_modules/.bin/atrium'), ['up'], {
    cwd: tree,
    env: {
      PATH: process.env.PATH,
      DATABASE_URL: process.env.DATABASE_URL,
      ATRIUM_DATA_DIR: dataDir,
      ATRIUM_PORT: String(port),
      ATRIUM_SANDBOX: 'on',
      ATRIUM_PROBE_LOCAL_MODELS: 'false',
      ...CREDENTIALS,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let printed = ''
  await new Promise<void>((resolve, reject) => {
    child.stdout?.on('data', (chunk: Buffer) => {
      printed += chunk.toString('utf8')
      if (printed.includes('Atrium is ready')) resolve()
    })
    child.once('exit', () => reject(new Error(`the release ended:\n${printed}`)))
  })
  return child
}

type Call = <T>(method: string, place: string, token: string, body?: object) => Promise<T>

function callerOf(url: string): Call {
  return async <T>(method: string, place: string, token: string, body?: object) => {
    const response = await fetch(`${url}${place}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${place}: ${response.status} ${text}`)
    return JSON.parse(text) as T
  }
}

async function clientToken(url: string): Promise<string> {
  const response = await fetch(`${url}/auth/oauth2/realms/root/realms/machine2machine/access_token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      scope: 'machine2machine',
      client_id: CREDENTIALS.ATRIUM_BOOTSTRAP_CLIENT_ID,
      client_secret: CREDENTIALS.ATRIUM_BOOTSTRAP_CLIENT_SECRET,
    }),
  })
  return ((await response.json()) as { access_token: string }).access_token
}

/** Puts rows of every service in. @returns what the test needs to know of them */
async function fill(call: Call, token: string) {
  const portal = '/portal/v1'
  const { spaceId } = await call<{ spaceId: string }>('POST', `${portal}/spaces`, token, {
    spaceName: 'Räume & "Träume"',
    appId: 'APP-1',
  })
  const space = `${portal}/spaces/${spaceId}`
  for (const [qNumber, role] of [
    ['admin', 'owner'],
    ['qx-member', 'member'],
  ]) {
    const person = { qNumber, role, name: `Name of ${qNumber}`, mailAddress: `${qNumber}@example.test` }
    await call('POST', `${space}/users`, token, person)
  }
  const { apiKeyValue } = await call<{ apiKeyValue: string }>('POST', `${space}/apikeys`, token, {
    name: 'key',
    expiryDate: '2126-01-01T00:00:00Z',
  })
  await call('PUT', `${space}/budget`, token, { monthlyBudget: 250.5 })
  const invited = { mailAddress: 'guest@example.test', role: 'member' }
  const { token: invitation } = await call<{ token: string }>('POST', `${space}/invitations`, token, invited)
  const { clientId } = await call<{ clientId: string }>('POST', `${portal}/admin/clients`, token, {
    name: 'reporting',
    environment: 'int',
    grants: [{ spaceId, role: 'member' }],
  })
  const approval = `${portal}/admin/clients/${clientId}:approve`
  const { clientSecret } = await call<{ clientSecret: string }>('POST', approval, token)

  await call('POST', '/llm/v1/chat/completions', apiKeyValue, {
    model: 'gpt-4o',
    messages: [{ role: 'user', content: 'How much is the fish?' }],
  })
  const agents = `/agents/v1/spaces/${spaceId}`
  const { agentId } = await call<{ agentId: string }>('POST', `${agents}/agent?model=gpt-4o`, apiKeyValue, {
    name: "it's an agent",
    instructions: 'Be brief.\nBe kind.',
    description: '',
    outputFormat: 'text',
    createdBy: { qxId: 'admin', name: 'Administrator' },
  })
  const threads = `${agents}/agent/${agentId}/thread`
  const { threadId } = await call<{ threadId: string }>('POST', threads, apiKeyValue, { title: 'first' })
  for (const [role, text] of [
    ['user', 'Hello – Grüße'],
    ['assistant', 'And to you'],
  ]) {
    const message = { role, content: [{ type: 'text', text }] }
    await call('POST', `${threads}/${threadId}/message`, apiKeyValue, message)
  }
  const { vectorStoreId } = await call<{ vectorStoreId: string }>(
    'POST',
    `${agents}/vector-stores`,
    apiKeyValue,
    {
      name: 'store',
      embeddingModel: 'titan-text-embeddings-v2',
    },
  )
  await call('POST', `${agents}/vector-stores/${vectorStoreId}/embeddings`, apiKeyValue, {
    embeddings: [0, 1, 2].map((n) => Array.from({ length: DIMENSION }, (_, i) => (i === n ? 1 : 0))),
    chunks: ['apples', 'pears', 'plums'],
    documentIds: ['fruit', 'fruit', 'fruit'],
    sequences: [0, 1, 2],
  })
  return { spaceId, apiKeyValue, invitation, agentId, threadId, vectorStoreId, clientId, clientSecret }
}

/** Usage reaches the database a moment after the answer. */
async function waitForCosts(call: Call, token: string, spaceId: string, month: string): Promise<unknown> {
  for (;;) {
    const report = await call<{ services: object[] }>(
      'GET',
      `/portal/v1/spaces/${spaceId}/costs/report?month=${month}`,
      token,
    )
    if (report.services.length > 0) return report.services
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
}

async function main(tree: string): Promise<void> {
  const databaseUrl = process.env.DATABASE_URL
  if (databaseUrl === undefined) throw new Error('DATABASE_URL is not set')
  const { version } = JSON.parse(await readFile(path.join(tree, 'package.json'), 'utf8')) as {
    version: string
  }
  const dataDir = await mkdtemp(path.join(tmpdir(), 'atrium-release-'))
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const release = await start(tree, dataDir, port)
  try {
    const call = callerOf(url)
    const token = await clientToken(url)
    const made = await fill(call, token)
    const month = new Date().toISOString().slice(0, 7)
    const userToken = execFileSync(
      path.join(tree, 'node_modules/.bin/atrium'),
      ['token', '--user', CREDENTIALS.ATRIUM_BOOTSTRAP_USER, '--data-dir', dataDir],
      { cwd: tree, encoding: 'utf8', env: { ...process.env, ATRIUM_PORT: String(port), ...CREDENTIALS } },
    ).trim()
    const costs = await waitForCosts(call, userToken, made.spaceId, month)
    const audit = await call<{ data: { auditId: string }[] }>('GET', '/portal/v1/admin/audit', token)
    const ended = once(release, 'exit')
    release.kill('SIGTERM')
    await ended

    const dump = execFileSync(
      'pg_dump',
      ['--no-owner', '--no-privileges', '--inserts', '--rows-per-insert=100', databaseUrl],
      { encoding: 'utf8', maxBuffer: 2 ** 30 },
    )
    // Only psql knows these.
    const sql = dump.replaceAll(/^\\(un)?restrict .*\n/gm, '')
    await mkdir(RELEASES, { recursive: true })
    await writeFile(path.join(RELEASES, `${version}.sql`), sql)
    const facts = {
      environment: CREDENTIALS,
      ...made,
      month,
      costs,
      audit: audit.data.map(({ auditId }) => auditId),
    }
    await writeFile(path.join(RELEASES, `${version}.json`), `${JSON.stringify(facts, null, 2)}\n`)
  } finally {
    release.kill('SIGKILL')
    await rm(dataDir, { recursive: true, force: true })
  }
}

const [tree] = process.argv.slice(2)
if (tree === undefined) throw new Error('name the folder of the release')
await main(path.resolve(tree))
