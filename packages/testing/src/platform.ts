import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { freePort } from '@atrium/kernel/ports'
import pg from 'pg'
import { inject } from 'vitest'
import { createCaller } from './call.ts'
import { asOwner, cloneTemplate, TEST_CREDENTIALS } from './databases.ts'
import { observe } from './observed.ts'
import { type PlatformParts, platformFactory } from './registry.ts'

declare module 'vitest' {
  interface ProvidedContext {
    databaseAdminUrl: string
  }
}

export interface TestSpace {
  readonly spaceId: string
  readonly apiKey: string
  readonly apiKeyId: string
  readonly ownerToken: string
  readonly memberToken: string
}

export type TestPlatform = Awaited<ReturnType<typeof startTestPlatform>>

let shared: Promise<TestPlatform> | undefined

/**
 * The platform that the test files of a worker share; it lives as long as the worker. Its database holds what other
 * files left there: tests make spaces and people of their own, and what must be alone takes `startTestPlatform`.
 */
export function sharedTestPlatform(): Promise<TestPlatform> {
  shared ??= startTestPlatform()
  return shared
}

/** What was free when it was looked for may be taken when the platform listens. */
async function startOnFreePort(environment: Record<string, string>, parts: PlatformParts) {
  for (let attempt = 1; ; attempt++) {
    try {
      return await platformFactory()({ ATRIUM_PORT: String(await freePort()), ...environment }, parts)
    } catch (error) {
      const isTaken = (error as NodeJS.ErrnoException).code === 'EADDRINUSE'
      if (!isTaken || environment.ATRIUM_PORT !== undefined || attempt === 5) throw error
    }
  }
}

/**
 * A whole platform in this process, on a port and a database of its own (a clone of the template).
 * @param options.env more of the environment; with `DATABASE_URL` it joins that database as a second process would
 */
export async function startTestPlatform(
  options: PlatformParts & { readonly env?: Readonly<Record<string, string>> } = {},
) {
  const joined = options.env?.DATABASE_URL
  const database = joined === undefined ? await cloneTemplate(inject('databaseAdminUrl')) : undefined
  const databaseUrl = joined ?? database?.url ?? ''
  const dataDir = await mkdtemp(path.join(tmpdir(), 'atrium-test-'))
  const environment = {
    ATRIUM_LOG_LEVEL: 'silent',
    ATRIUM_SANDBOX: 'on',
    ATRIUM_PROBE_LOCAL_MODELS: 'false',
    ATRIUM_DATA_DIR: dataDir,
    ATRIUM_BACKGROUND_JOBS: 'false',
    DATABASE_URL: databaseUrl,
    ...TEST_CREDENTIALS,
    ...options.env,
  }
  const running = await startOnFreePort(environment, options)
  // Tests do to the database what the server may not.
  const ownerUrl = asOwner(inject('databaseAdminUrl'), databaseUrl)
  const pool = new pg.Pool({ connectionString: ownerUrl, max: 4 })
  pool.on('error', () => {})
  pool.on('connect', (client) => void client.on('error', () => {}))
  const call = createCaller(running.url, observe)
  const superuser = {
    qxId: TEST_CREDENTIALS.ATRIUM_BOOTSTRAP_USER,
    token: await running.mintUserToken({
      qxId: TEST_CREDENTIALS.ATRIUM_BOOTSTRAP_USER,
      name: 'Administrator',
    }),
  }

  /** An M2M token by client credentials, through the token endpoint. */
  async function clientToken(clientId: string, clientSecret: string): Promise<string> {
    const answer = await call('POST', '/auth/oauth2/realms/root/realms/machine2machine/access_token', {
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({
        grant_type: 'client_credentials',
        client_id: clientId,
        client_secret: clientSecret,
        scope: 'machine2machine',
      }).toString(),
    })
    if (answer.status !== 200) throw new Error(`no token: ${JSON.stringify(answer.body)}`)
    return answer.body.access_token as string
  }

  async function create(path: string, body: unknown): Promise<Record<string, string>> {
    const answer = await call('POST', path, { token: superuser.token, body })
    if (answer.status !== 201)
      throw new Error(`POST ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
    return answer.body as Record<string, string>
  }

  /** A space made through the API, with an owner, members and an API key. */
  async function space(people: { owner?: string; members?: readonly string[] } = {}): Promise<TestSpace> {
    const suffix = Math.random().toString(36).slice(2, 8)
    const owner = people.owner ?? `qx-owner-${suffix}`
    const members = people.members ?? [`qx-member-${suffix}`]
    const { spaceId = '' } = await create('/portal/v1/spaces', {
      spaceName: `space ${suffix}`,
      appId: `APP-${suffix}`,
    })
    for (const [qNumber, role] of [[owner, 'owner'], ...members.map((member) => [member, 'member'])]) {
      await create(`/portal/v1/spaces/${spaceId}/users`, {
        qNumber,
        role,
        name: `Name of ${qNumber}`,
        mailAddress: `${qNumber}@example.test`,
      })
    }
    const key = await create(`/portal/v1/spaces/${spaceId}/apikeys`, { name: `key ${suffix}` })
    return {
      spaceId,
      apiKey: key.apiKeyValue ?? '',
      apiKeyId: key.apiKeyId ?? '',
      ownerToken: await running.mintUserToken({ qxId: owner, name: `Name of ${owner}` }),
      memberToken: await running.mintUserToken({ qxId: members[0] ?? owner, name: `Name of ${members[0]}` }),
    }
  }

  let closing: Promise<void> | undefined
  /** Idempotent, so that a test may close early what `await using` closes again. */
  const close = (): Promise<void> => {
    closing ??= closeAll()
    return closing
  }

  async function closeAll(): Promise<void> {
    await running.close()
    await pool.end()
    await database?.drop()
    await rm(dataDir, { recursive: true, force: true })
  }

  return {
    url: running.url,
    databaseUrl,
    ownerUrl,
    dataDir,
    pool,
    call,
    space,
    superuser,
    superuserClient: {
      clientId: TEST_CREDENTIALS.ATRIUM_BOOTSTRAP_CLIENT_ID,
      clientSecret: TEST_CREDENTIALS.ATRIUM_BOOTSTRAP_CLIENT_SECRET,
      token: await clientToken(
        TEST_CREDENTIALS.ATRIUM_BOOTSTRAP_CLIENT_ID,
        TEST_CREDENTIALS.ATRIUM_BOOTSTRAP_CLIENT_SECRET,
      ),
    },
    clientToken,
    registerClient: (client: { clientId: string; clientSecret: string }) => running.registerClient(client),
    userToken: (user: { qxId: string; name?: string; lifetimeSeconds?: number }) =>
      running.mintUserToken(user),
    close,
    [Symbol.asyncDispose]: close,
  }
}
