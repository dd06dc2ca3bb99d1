import type { AccessRule, AccessTable, Grant } from '@atrium/access'
import { agentsAccess } from '@atrium/agents'
import { gatewayAccess } from '@atrium/gateway'
import { identityAccess } from '@atrium/identity'
import { portalAccess } from '@atrium/portal'
import {
  type Answer,
  sharedTestPlatform,
  startTestPlatform,
  type TestPlatform,
  type TestSpace,
} from '@atrium/testing'
import { workflowsAccess } from '@atrium/workflows'
import { beforeAll, describe, expect, it } from 'vitest'

interface Operation {
  readonly service: string
  readonly id: string
  readonly method: string
  readonly path: string
  readonly rule: AccessRule
}

type CallerName =
  | 'superuser'
  | 'owner'
  | 'member'
  | 'stranger'
  | 'superuser client'
  | 'stranger client'
  | 'key'
  | 'key of another space'

const TABLES: Readonly<Record<string, { address: string; access: AccessTable }[]>> = {
  identity: [{ address: '/auth', access: identityAccess }],
  portal: [{ address: '/portal', access: portalAccess }],
  gateway: [
    { address: '/llm', access: gatewayAccess },
    { address: '/llm-cn', access: gatewayAccess },
  ],
  agents: [{ address: '/agents', access: agentsAccess }],
  workflows: [{ address: '/workflows', access: workflowsAccess }],
}

let platform: TestPlatform
let tokens: Record<CallerName, string>
let spaceId = ''
const operations: Operation[] = []

beforeAll(async () => {
  platform = await sharedTestPlatform()
  const [mine, other] = [await platform.space(), await platform.space()]
  spaceId = mine.spaceId
  const { clientId, clientSecret } = { clientId: 'matrix-client', clientSecret: 'x'.repeat(43) }
  await platform.registerClient({ clientId, clientSecret })
  tokens = {
    superuser: platform.superuser.token,
    owner: mine.ownerToken,
    member: mine.memberToken,
    stranger: await platform.userToken({ qxId: 'qx-stranger', name: 'Stranger' }),
    'superuser client': platform.superuserClient.token,
    'stranger client': await platform.clientToken(clientId, clientSecret),
    key: mine.apiKey,
    'key of another space': other.apiKey,
  }
  for (const [service, mounts] of Object.entries(TABLES)) {
    for (const { address, access } of mounts) {
      const document = (await (await fetch(`${platform.url}${address}/openapi.json`)).json()) as {
        paths: Record<string, Record<string, { operationId: string }>>
      }
      for (const [path, methods] of Object.entries(document.paths)) {
        for (const [method, { operationId }] of Object.entries(methods)) {
          const rule = access[operationId]
          if (rule === undefined) throw new Error(`${operationId} has no row in the access table`)
          operations.push({
            service,
            id: operationId,
            method: method.toUpperCase(),
            path: `${address}${path}`,
            rule,
          })
        }
      }
    }
  }
})

/** A real space; every other parameter names nothing. */
const fill = (path: string): string =>
  path.replace(/\{(\w+)\}/g, (_, name: string) =>
    name === 'spaceId'
      ? spaceId
      : name === 'model'
        ? 'no-such-model'
        : '01890000-0000-7000-8000-000000000000',
  )

const KIND: Readonly<Record<CallerName, 'user' | 'client' | 'key'>> = {
  superuser: 'user',
  owner: 'user',
  member: 'user',
  stranger: 'user',
  'superuser client': 'client',
  'stranger client': 'client',
  key: 'key',
  'key of another space': 'key',
}

/** Which callers of the test a grant lets through; the rest get 403. */
const ALLOWED: Readonly<Record<Grant, readonly CallerName[]>> = {
  any: Object.keys(KIND) as CallerName[],
  member: ['superuser', 'owner', 'member', 'superuser client', 'key'],
  owner: ['owner'],
  'owner-or-superuser': ['superuser', 'owner', 'superuser client'],
  superuser: ['superuser', 'superuser client'],
  self: ['superuser', 'superuser client'],
  forbidden: [],
  unauthorized: [],
}

/** Has what each POST and DELETE of the agents service demands, so that the answer is about what the path names. */
const AGENTS_BODY = {
  role: 'user',
  content: [{ type: 'text', text: 'hi' }],
  embeddings: [Array(1536).fill(0.1)],
  queryEmbedding: Array(1536).fill(0.1),
  queryText: 'hi',
  keywords: ['hi'],
  filters: { a: 1 },
  relevantIds: ['x'],
  deleteAll: true,
}

/** The same for each PUT and POST of the workflows service. */
const WORKFLOWS_BODY = {
  type: 'webhook',
  stage: 'test',
  name: 'taken over',
  tasks: [],
  data: {},
  versionId: 'theirs',
  value: 'taken',
}

/** Clients choose these ids, so that an id of another space's is a new one here. */
const MAKES_ITS_OWN = ['putWorkflow', 'putSecret']

/** Checks what it is sent, and looks for nothing. */
const LOOKS_FOR_NOTHING = ['validateVersion']

/** What an operation demands in its query before it looks for anything. */
const QUERIES: Readonly<Record<string, string>> = { createRun: '?stage=test' }

/** They take up to 64 MiB; their own tests send more. */
const TAKES_MUCH = ['createEmbedding', 'createEmbeddings']

const answerTo = ({ id, method, path }: Operation, token?: string) =>
  platform.call(method, fill(path), {
    // A version that there never is: the space must live on.
    ...(id === 'deleteSpace' ? { headers: { 'if-match': '"9999"' } } : {}),
    ...(token === undefined ? {} : { token }),
    ...(method === 'GET' || method === 'DELETE' ? {} : { body: {} }),
  })

/** Where each service's error body has its words. */
const messageOf = ({ service }: Operation, body: Answer['body']): string =>
  service === 'workflows' ? body.detail : service === 'agents' ? body.message : body.error.message

const send = async (operation: Operation, token?: string): Promise<number> =>
  (await answerTo(operation, token)).status

const INVALID_TOKEN = /^Bearer error="invalid_token", error_description="[^"]+"$/

describe('the access matrix', () => {
  it('has a row for each operation, and an operation for each row', () => {
    for (const [service, mounts] of Object.entries(TABLES)) {
      for (const { address, access } of mounts) {
        const described = operations
          .filter(({ path, service: of }) => of === service && path.startsWith(`${address}/`))
          .map(({ id }) => id)
        expect(described.sort(), address).toEqual(Object.keys(access).sort())
      }
    }
  })

  it('asks for a credential everywhere but on public operations', async () => {
    for (const operation of operations) {
      const { status, headers } = await answerTo(operation)
      if (operation.rule === 'public') expect(status, operation.id).not.toBe(403)
      else expect([status, headers.get('www-authenticate')], operation.id).toEqual([401, 'Bearer'])
    }
  })

  it.each(['not-a-token', 'a.b.c', '00000000-0000-4000-8000-000000000000'])(
    'refuses the credential %s everywhere',
    async (token) => {
      for (const operation of operations) {
        if (operation.rule === 'public') continue
        const { status, headers } = await answerTo(operation, token)
        expect(status, operation.id).toBe(401)
        expect(headers.get('www-authenticate'), operation.id).toMatch(INVALID_TOKEN)
      }
    },
  )

  it.each(Object.keys(KIND) as CallerName[])('decides by the table for a %s', async (caller) => {
    for (const operation of operations) {
      if (operation.rule === 'public') continue
      const grant = operation.rule[KIND[caller]]
      const { status, headers } = await answerTo(operation, tokens[caller])
      const where = `${operation.method} ${operation.path} (${operation.id}: ${grant})`
      if (grant === 'unauthorized') {
        expect([status, headers.get('www-authenticate')], where).toEqual([
          401,
          expect.stringMatching(INVALID_TOKEN),
        ])
      }
      if (grant === 'unauthorized') continue
      if (!ALLOWED[grant].includes(caller)) expect(status, where).toBe(403)
      else expect([401, 403, 500], where).not.toContain(status)
    }
  })

  it('gives 404 for a space that does not exist, wherever a space is in the path', async () => {
    const nowhere = '01890000-0000-7000-8000-0000000000ff'
    for (const operation of operations) {
      if (!operation.path.includes('{spaceId}') || operation.rule === 'public') continue
      const caller =
        operation.rule.user === 'member' ||
        operation.rule.user === 'superuser' ||
        operation.rule.user === 'owner'
          ? 'superuser'
          : 'superuser client'
      const path = operation.path.replace('{spaceId}', nowhere)
      // Bodies are checked before the space by no contract, so the space is looked for first or the body refused.
      expect([400, 404], operation.id).toContain(await send({ ...operation, path }, tokens[caller]))
    }
  })
})

/** One of each kind that the workflows service has. @returns their ids by parameter */
async function fillWorkflows({ spaceId: space, ownerToken }: TestSpace): Promise<Record<string, string>> {
  const templateRef = { name: 'run-python-code', version: 'v1' }
  const tasks = [{ name: 'a', templateRef, arguments: { script: 'a.py' } }]
  for (const [path, body] of [
    ['workflows/theirs', { name: 'theirs' }],
    ['workflows/theirs/versions/theirs', { tasks }],
    ['workflows/theirs/configurations/theirs', { data: {} }],
    ['workflows/theirs/stages/test', { versionId: 'theirs', configurationId: 'theirs' }],
    ['secrets/THEIRS', { value: 'secret' }],
  ] as const) {
    const made = await platform.call('PUT', `/workflows/v1/spaces/${space}/${path}`, {
      token: ownerToken,
      body,
    })
    expect(made.status, JSON.stringify(made.body)).toBe(201)
  }
  return {
    workflowId: 'theirs',
    versionId: 'theirs',
    configurationId: 'theirs',
    stage: 'test',
    name: 'THEIRS',
  }
}

describe('a child of another space', () => {
  it('is not found under a space of one’s own, by any operation', async () => {
    const owner = { qxId: 'qx-owner-of-both' }
    const [mine, theirs] = [await platform.space({ owner: owner.qxId }), await platform.space()]
    const create = async (path: string, body: unknown): Promise<Record<string, string>> =>
      (
        await platform.call('POST', `/portal/v1/spaces/${theirs.spaceId}/${path}`, {
          token: tokens.superuser,
          body,
        })
      ).body
    const children: Record<string, string | undefined> = {
      apiKeyId: theirs.apiKeyId,
      userId: (
        await create('users', {
          qNumber: 'qx-child',
          name: 'Child',
          mailAddress: 'c@example.test',
          role: 'member',
        })
      ).userId,
      mkflwworkspaceId: (
        await create('mkflw-workspaces', { region: 'eu-central-1', clusterName: 'c', namespaceName: 'n' })
      ).workspaceId,
      cdhworkspaceId: (
        await create('cdh-links', {
          cdhEnvAccountID: '1',
          name: 'n',
          cdhType: 'Provider',
          cdhHub: 'hub',
          cdhProviderId: 'p',
          stage: 'Dev',
        })
      ).cdhWorkspaceId,
      invitationId: (await create('invitations', { mailAddress: 'i@example.test', role: 'member' }))
        .invitationId,
    }
    const agents = `/agents/v1/spaces/${theirs.spaceId}`
    const inAgents = async (path: string, body: unknown): Promise<Record<string, string>> =>
      (await platform.call('POST', `${agents}${path}`, { token: theirs.apiKey, body })).body
    const { agentId } = await inAgents('/agent?model=gpt-4o', {
      name: 'n',
      instructions: 'i',
      description: 'd',
      outputFormat: 'text',
      createdBy: { qxId: 'q', name: 'n' },
    })
    const { threadId } = await inAgents(`/agent/${agentId}/thread`, {})
    const { messageId } = await inAgents(`/agent/${agentId}/thread/${threadId}/message`, {
      role: 'user',
      content: [{ type: 'text', text: 'secret' }],
    })
    const { vectorStoreId } = await inAgents('/vector-stores', { name: 'store' })
    Object.assign(children, { agentId, threadId, messageId, vectorStoreId })
    Object.assign(children, await fillWorkflows(theirs))
    const trigger = await platform.call(
      'PUT',
      `/workflows/v1/spaces/${theirs.spaceId}/workflows/theirs/triggers/theirs`,
      { token: theirs.ownerToken, body: { type: 'webhook', stage: 'test' } },
    )
    const run = await platform.pool.query(
      `INSERT INTO workflows.runs (space_id, workflow_id, run_id, stage, version_id, resolved_configuration, plan,
         engine, status, completed_at, created_by)
       VALUES ($1, 'theirs', gen_random_uuid(), 'test', 'v', '{}', '[]', 'local', 'Failed', now(), 'q') RETURNING run_id`,
      [theirs.spaceId],
    )
    Object.assign(children, { triggerId: trigger.body.triggerId, runId: run.rows[0].run_id })
    Object.assign(children, { task: 'theirs', path: 'theirs' })
    const nested = operations.filter(
      ({ path, id }) =>
        /\{spaceId\}.*\{\w+\}/.test(path) && ![...MAKES_ITS_OWN, ...LOOKS_FOR_NOTHING].includes(id),
    )
    expect(nested.length).toBeGreaterThan(5)
    for (const operation of nested) {
      const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => {
        if (name === 'spaceId') return mine.spaceId
        const child = children[name]
        if (child === undefined) throw new Error(`${operation.id}: the test has no ${name} of another space`)
        return child
      })
      const rule = operation.rule as Exclude<AccessRule, 'public'>
      const token = rule.user === 'owner' ? mine.ownerToken : tokens.superuser
      const body =
        operation.service === 'workflows' && ['POST', 'PUT'].includes(operation.method)
          ? WORKFLOWS_BODY
          : operation.method === 'PATCH' || operation.method === 'PUT'
            ? { role: 'owner', name: 'taken over', namespaceName: 'taken' }
            : operation.service === 'agents' && ['POST', 'DELETE'].includes(operation.method)
              ? AGENTS_BODY
              : undefined
      const { status } = await platform.call(operation.method, `${path}${QUERIES[operation.id] ?? ''}`, {
        token,
        ...(body === undefined ? {} : { body }),
      })
      expect(status, `${operation.method} ${operation.path}`).toBe(404)
    }
  })
})

describe('every operation', () => {
  it.each([
    ['2 MiB of JSON', JSON.stringify({ spaceName: 'x'.repeat(2 * 1024 * 1024) }), [413]],
    ['nesting of 10,000', `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`, [400]],
    ['what is not JSON', '{"spaceName": ', [400]],
    ['NUL bytes in strings', '{"spaceName": "a\\u0000b", "model": "a\\u0000", "day": "\\u0000"}', [400]],
    ['another content type', undefined, [400]],
  ])('that takes a body refuses %s in the service’s own shape', async (what, body, expected) => {
    const store = await platform.call('POST', `/agents/v1/spaces/${spaceId}/vector-stores`, {
      token: tokens.owner,
      body: { name: 'store' },
    })
    for (const operation of operations.filter(
      ({ method, service, rule }) =>
        ['POST', 'PATCH', 'PUT'].includes(method) && service !== 'identity' && rule !== 'public',
    )) {
      if (expected[0] === 413 && TAKES_MUCH.includes(operation.id)) continue
      const rule = operation.rule as Exclude<AccessRule, 'public'>
      const caller = (['owner', 'superuser', 'superuser client', 'key'] as const).find((name) =>
        ALLOWED[rule[KIND[name]]].includes(name),
      )
      if (caller === undefined) throw new Error(`nobody may call ${operation.id}`)
      // Embeddings are read with their store's dimension in hand, so there must be one.
      const path = fill(operation.path.replace('{vectorStoreId}', store.body.vectorStoreId))
      const answer = await platform.call(operation.method, path, {
        token: tokens[caller],
        body: body ?? 'a=b',
        ...(body === undefined ? { headers: { 'content-type': 'text/plain' } } : {}),
      })
      expect(expected, `${operation.id}: ${what} → ${JSON.stringify(answer.body)}`).toContain(answer.status)
      expect(messageOf(operation, answer.body), operation.id).toMatch(/\w+/)
    }
  })

  it('answers unknown methods with 405 and Allow', async () => {
    for (const operation of operations) {
      const answer = await platform.call(
        'TRACE' === operation.method ? 'GET' : 'PROPFIND',
        fill(operation.path),
        { unchecked: true },
      )
      expect([answer.status, answer.headers.get('allow')], operation.id).toEqual([
        405,
        expect.stringContaining(operation.method),
      ])
    }
  })
})

describe('with a broken database', () => {
  it('every operation that needs it answers an opaque 500, liveness lives and readiness does not', async () => {
    await using broken = await startTestPlatform()
    const { token } = broken.superuser
    const { spaceId: space, apiKey } = await broken.space()
    const schemas = ['portal', 'identity', 'gateway', 'agents', 'workflows']
    for (const schema of schemas) {
      await broken.pool.query(`ALTER SCHEMA ${schema} RENAME TO gone_${schema}`)
    }
    // What is cached is trusted for less than a second.
    await new Promise((resolve) => setTimeout(resolve, 1000))
    for (const { method, path, rule, service, id } of operations) {
      // Flags do not come from the database; a user or client whose token is known gets them all the same.
      if (rule === 'public' || path.startsWith('/llm-cn') || id === 'getFeatureFlags') continue
      // The list of agents' models comes from no database either, but who a key is does.
      const needsKey = service === 'gateway' || (service === 'agents' && id === 'listModels')
      const credential = needsKey ? apiKey : token
      const answer = await broken.call(method, fill(path).replace(spaceId, space), {
        token:
          rule.user === 'forbidden' || rule.user === 'unauthorized'
            ? service === 'gateway'
              ? apiKey
              : broken.superuserClient.token
            : credential,
        ...(method === 'GET' || method === 'DELETE' ? {} : { body: {} }),
      })
      expect(answer.status, `${method} ${path} (${id})`).toBe(500)
      expect(JSON.stringify(answer.body)).not.toMatch(/relation|schema|portal\.|agents\.|workflows\./)
    }
    expect((await broken.call('GET', '/portal/liveness')).status).toBe(200)
    expect((await broken.call('GET', '/portal/health')).status).toBe(200)
    for (const schema of schemas) {
      await broken.pool.query(`ALTER SCHEMA gone_${schema} RENAME TO ${schema}`)
    }
  })
})
