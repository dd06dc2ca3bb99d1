// What a tenant may do at its worst, and the plain call of its neighbour, service by service.
import type { AttackerOptions } from './attacker.ts'
import type { Call } from './calls.ts'
import { batch, FORM, type Tenant, TOKEN, tokenForm, vector, words } from './tenants.ts'

export type Service = 'identity' | 'portal' | 'gateway' | 'agents'

export interface Attack extends Omit<AttackerOptions, 'port'> {
  readonly service: Service
  readonly name: string
}

const json = (token: string) => ({ authorization: `Bearer ${token}`, 'content-type': 'application/json' })
const get = (token: string, path: string): Call => ({
  method: 'GET',
  path,
  headers: { authorization: `Bearer ${token}` },
})
const send = (token: string, method: string, path: string, body: Call['body']): Call => ({
  method,
  path,
  headers: json(token),
  ...(body === undefined ? {} : { body }),
})

const chat = (stream: boolean, content: string, more: object = {}): string =>
  JSON.stringify({ model: 'gpt-4o', stream, messages: [{ role: 'user', content }], ...more })

/** What the neighbour does all day. */
export const plainCalls = (tenant: Tenant): Readonly<Record<Service, Call>> => ({
  identity: { method: 'POST', path: TOKEN, headers: FORM, body: tokenForm(tenant) },
  portal: get(tenant.token, `/portal/v1/spaces/${tenant.spaceId}`),
  gateway: send(tenant.key, 'POST', '/llm/v1/chat/completions', chat(false, 'Hello')),
  agents: get(tenant.key, `/agents/v1/spaces/${tenant.spaceId}/vector-stores/${tenant.storeId}`),
})

export function attacksOf(tenant: Tenant, userToken: string): readonly Attack[] {
  const { spaceId, key, token } = tenant
  const space = `/portal/v1/spaces/${spaceId}`
  const store = `/agents/v1/spaces/${spaceId}/vector-stores/${tenant.storeId}`
  const month = new Date().toISOString().slice(0, 7)
  const nearlyAMegabyte = 'x'.repeat(1_000_000)
  return [
    {
      service: 'identity',
      name: 'tokens of one client, 32 connections',
      connections: 32,
      calls: [{ method: 'POST', path: TOKEN, headers: FORM, body: tokenForm(tenant) }],
    },
    {
      service: 'portal',
      name: '40 audit lists of 50 MB, never read',
      connections: 40,
      unread: true,
      calls: [get(token, `${space}/audit`)],
    },
    {
      service: 'portal',
      name: 'audit lists, read, 16 connections',
      connections: 16,
      calls: [get(token, `${space}/audit`)],
    },
    {
      service: 'portal',
      name: 'cost reports with 50,000 entries, 16 connections',
      connections: 16,
      calls: [get(userToken, `${space}/costs/report?month=${month}&includeDetails=true`)],
    },
    {
      service: 'portal',
      name: 'changes of one space, 64 connections',
      connections: 64,
      calls: [send(token, 'PATCH', space, JSON.stringify({ description: 'y'.repeat(4000) }))],
    },
    {
      service: 'portal',
      name: 'bodies of 1 MB, 32 connections',
      connections: 32,
      calls: [send(token, 'PATCH', space, JSON.stringify({ description: nearlyAMegabyte }))],
    },
    {
      service: 'gateway',
      name: '200 streams',
      connections: 200,
      calls: [send(key, 'POST', '/llm/v1/chat/completions', chat(true, words(2000)))],
    },
    {
      service: 'gateway',
      name: '200 streams of 4 MB, never read',
      connections: 200,
      unread: true,
      calls: [send(key, 'POST', '/llm/v1/chat/completions', chat(true, words(200), { n: 128 }))],
    },
    {
      service: 'gateway',
      name: 'chats of 1 MB, 16 connections',
      connections: 16,
      calls: [send(key, 'POST', '/llm/v1/chat/completions', chat(false, nearlyAMegabyte))],
    },
    {
      service: 'gateway',
      name: 'embeddings of 60 MB, 2 connections',
      connections: 2,
      calls: [
        send(key, 'POST', '/llm/v1/embeddings', {
          head: '{"model":"text-embedding-3-small","input":[',
          item: `"${'word '.repeat(6000)}"`,
          times: 2000,
          tail: ']}',
        }),
      ],
    },
    {
      service: 'agents',
      name: 'fuzzy searches for 1,000 unknown words, 16 connections',
      connections: 16,
      calls: [send(key, 'POST', `${store}/keyword-search`, JSON.stringify({ queryText: words(1000) }))],
    },
    {
      service: 'agents',
      name: 'hybrid searches, 32 connections',
      connections: 32,
      calls: [
        send(
          key,
          'POST',
          `${store}/hybrid-search`,
          JSON.stringify({ queryEmbedding: vector(), queryText: words(20), limit: 100 }),
        ),
      ],
    },
    {
      service: 'agents',
      name: 'uploads of 500 embeddings, 8 connections',
      connections: 8,
      calls: [send(key, 'POST', `${store}/embeddings`, batch(500, 40))],
    },
    {
      service: 'agents',
      name: '40 lists of embeddings, never read',
      connections: 40,
      unread: true,
      calls: [get(key, `${store}/embeddings`)],
    },
  ]
}
