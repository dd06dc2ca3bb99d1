// Two tenants on one platform, and what they own: the attacker much, the neighbour little.
import { createPool } from '@atrium/kernel/db'
import { createLogger } from '@atrium/kernel/log'
import type { startPlatform } from '../portal/platform.ts'

export type Platform = Awaited<ReturnType<typeof startPlatform>>

export interface Tenant {
  readonly spaceId: string
  readonly key: string
  readonly storeId: string
  readonly clientId: string
  readonly clientSecret: string
  /** Of its client, which is owner of the space. */
  readonly token: string
}

const DIMENSION = 1536
/** Words of a long text that no store has had: the worst that fuzzy search can be asked. */
export const words = (count: number): string =>
  Array.from({ length: count }, () => Math.random().toString(36).slice(2, 10).replace(/\d/g, 'x')).join(' ')
export const vector = (): number[] => Array.from({ length: DIMENSION }, () => Math.random() - 0.5)

export const batch = (rows: number, wordsEach: number): string =>
  JSON.stringify({
    embeddings: Array.from({ length: rows }, vector),
    chunks: Array.from({ length: rows }, () => words(wordsEach)),
  })

/** A call as JSON with the platform's superuser token. */
async function call(
  platform: Platform,
  method: string,
  path: string,
  body?: string,
): Promise<Record<string, string>> {
  const answer = await fetch(platform.url + path, {
    method,
    headers: { authorization: `Bearer ${platform.token}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body }),
  })
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
  return (await answer.json()) as Record<string, string>
}

/** A space with a key, a client, and a vector store of so many rows. */
export async function createTenant(platform: Platform, name: string, rows: number): Promise<Tenant> {
  const post = (path: string, body: object) => call(platform, 'POST', path, JSON.stringify(body))
  const { spaceId = '' } = await post('/portal/v1/spaces', { spaceName: name, appId: `APP-${name}` })
  const { apiKeyValue: key = '' } = await post(`/portal/v1/spaces/${spaceId}/apikeys`, { name })
  const { clientId = '' } = await post('/portal/v1/admin/clients', {
    name,
    environment: 'int',
    grants: [{ spaceId, role: 'owner' }],
  })
  const { clientSecret = '' } = await call(platform, 'POST', `/portal/v1/admin/clients/${clientId}:approve`)
  const stores = `/agents/v1/spaces/${spaceId}/vector-stores`
  const { vectorStoreId: storeId = '' } = await post(stores, { name })
  for (let row = 0; row < rows; row += 500) {
    await call(platform, 'POST', `${stores}/${storeId}/embeddings`, batch(Math.min(500, rows - row), 40))
  }
  const answer = await fetch(platform.url + TOKEN, {
    method: 'POST',
    headers: FORM,
    body: tokenForm({ clientId, clientSecret }),
  })
  const { access_token: token } = (await answer.json()) as { access_token: string }
  return { spaceId, key, storeId, clientId, clientSecret, token }
}

export const TOKEN = '/auth/oauth2/realms/root/realms/machine2machine/access_token'
export const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

export const tokenForm = ({ clientId, clientSecret }: Pick<Tenant, 'clientId' | 'clientSecret'>): string =>
  new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: clientId,
    client_secret: clientSecret,
    scope: 'machine2machine',
  }).toString()

/** What a tenant may pile up in months: changes of a long description, and costs. */
export async function pileUp({ databaseUrl }: Platform, { spaceId }: Tenant): Promise<void> {
  const log = createLogger({ level: 'warn' })
  const pool = createPool(databaseUrl, { max: 1, applicationName: 'bench', log, statementTimeoutMs: 600_000 })
  await pool.query(
    `INSERT INTO portal.audit_entries (entry_id, space_id, actor_kind, actor_id, actor_name, operation, resource_type, resource_id, before, after, address, request_id, user_agent)
     SELECT gen_random_uuid(), $1::uuid, 'user', 'bench', 'bench', 'updateSpace', 'space', $1::uuid::text,
       jsonb_build_object('description', repeat('x', 4000)), jsonb_build_object('description', repeat('y', 4000)), '', '', ''
     FROM generate_series(1, 6000)`,
    [spaceId],
  )
  await pool.query(
    `INSERT INTO portal.cost_entries (space_id, entry_id, day, service, currency, amount, usage_details, description, created_by_id, created_by_name)
     SELECT $1, gen_random_uuid(), (date_trunc('month', now() AT TIME ZONE 'UTC'))::date, 'service-' || n % 2000, 'USD', n / 1000.0,
       '{"hours": 3}', repeat('d', 500), 'bench', 'bench' FROM generate_series(1, 50000) n`,
    [spaceId],
  )
  await pool.query(
    `INSERT INTO portal.cost_daily_totals SELECT space_id, day, service, currency, sum(amount), count(*)
     FROM portal.cost_entries WHERE space_id = $1 GROUP BY 1, 2, 3, 4`,
    [spaceId],
  )
  await pool.end()
}
