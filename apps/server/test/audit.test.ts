import { gatewayAccess } from '@atrium/gateway'
import { type Answer, startTestPlatform, TEST_CREDENTIALS, type TestPlatform } from '@atrium/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addUser, setUserDisabled } from '../src/commands/user.ts'
import { SERVICES, type ServiceName } from '../src/config.ts'
import { idleEngine } from './idle-engine.ts'
import { ADDRESSES, changingOperations } from './operations.ts'
import { CONTENT, workflowsWalks } from './workflows-walks.ts'

type TestSpace = Awaited<ReturnType<TestPlatform['space']>>

interface Stage extends TestSpace {
  readonly platform: TestPlatform
}

interface Done {
  readonly answer: Answer
  readonly actor: { readonly kind: string; readonly id?: string }
  readonly resourceId: string
  /** Whether it belongs to the stage's space. */
  readonly inSpace: boolean
  readonly secrets?: readonly string[]
}

type Walk = (stage: Stage) => Promise<Done>

const inSpace = (stage: Stage, path: string) => `/agents/v1/spaces/${stage.spaceId}${path}`
const byKey = async (stage: Stage, method: string, path: string, body?: unknown): Promise<Answer> =>
  stage.platform.call(method, inSpace(stage, path), { token: stage.apiKey, body })
const done = ({ apiKeyId }: Stage, answer: Answer, resourceId: string): Done => ({
  answer,
  actor: { kind: 'key', id: apiKeyId },
  resourceId,
  inSpace: true,
})

async function agentOf(stage: Stage): Promise<string> {
  const answer = await byKey(stage, 'POST', '/agent?model=gpt-4o', agentInput)
  return answer.body.agentId as string
}
const agentInput = {
  name: 'n',
  instructions: CONTENT,
  description: CONTENT,
  outputFormat: 'text',
  createdBy: { qxId: 'q', name: 'n' },
  metadata: { about: CONTENT },
}
async function threadOf(stage: Stage): Promise<{ path: string; threadId: string }> {
  const agentId = await agentOf(stage)
  const { body } = await byKey(stage, 'POST', `/agent/${agentId}/thread`, { title: CONTENT })
  return { path: `/agent/${agentId}/thread/${body.threadId}`, threadId: body.threadId as string }
}
const messageInput = { role: 'user', content: [{ type: 'text', text: CONTENT }] }
async function messageOf(stage: Stage): Promise<{ path: string; messageId: string }> {
  const { path } = await threadOf(stage)
  const { body } = await byKey(stage, 'POST', `${path}/message`, messageInput)
  return { path: `${path}/message/${body.messageId}`, messageId: body.messageId as string }
}
async function storeOf(stage: Stage): Promise<string> {
  const { body } = await byKey(stage, 'POST', '/vector-stores', { name: 'store', description: CONTENT })
  return body.vectorStoreId as string
}
const embeddings = (count: number) => ({
  embeddings: Array.from({ length: count }, () => Array(1536).fill(0.123456789)),
  chunks: Array.from({ length: count }, () => CONTENT),
})

const agentsWalks: Readonly<Record<string, Walk>> = {
  async createAgent(stage) {
    const answer = await byKey(stage, 'POST', '/agent?model=gpt-4o', agentInput)
    return done(stage, answer, answer.body.agentId)
  },
  async updateAgent(stage) {
    const id = await agentOf(stage)
    return done(stage, await byKey(stage, 'PATCH', `/agent/${id}`, { instructions: CONTENT }), id)
  },
  async deleteAgent(stage) {
    const id = await agentOf(stage)
    return done(stage, await byKey(stage, 'DELETE', `/agent/${id}`), id)
  },
  async createThread(stage) {
    const agentId = await agentOf(stage)
    const answer = await byKey(stage, 'POST', `/agent/${agentId}/thread`, { title: CONTENT })
    return done(stage, answer, answer.body.threadId)
  },
  async updateThread(stage) {
    const { path, threadId } = await threadOf(stage)
    return done(stage, await byKey(stage, 'PATCH', path, { title: CONTENT }), threadId)
  },
  async deleteThread(stage) {
    const { path, threadId } = await threadOf(stage)
    return done(stage, await byKey(stage, 'DELETE', path), threadId)
  },
  async createMessage(stage) {
    const { path } = await threadOf(stage)
    const answer = await byKey(stage, 'POST', `${path}/message`, messageInput)
    return done(stage, answer, answer.body.messageId)
  },
  async updateMessage(stage) {
    const { path, messageId } = await messageOf(stage)
    return done(stage, await byKey(stage, 'PATCH', path, { content: messageInput.content }), messageId)
  },
  async deleteMessage(stage) {
    const { path, messageId } = await messageOf(stage)
    return done(stage, await byKey(stage, 'DELETE', path), messageId)
  },
  async createVectorStore(stage) {
    const answer = await byKey(stage, 'POST', '/vector-stores', { name: 'store' })
    return done(stage, answer, answer.body.vectorStoreId)
  },
  async updateVectorStore(stage) {
    const id = await storeOf(stage)
    return done(stage, await byKey(stage, 'PUT', `/vector-stores/${id}`, { description: CONTENT }), id)
  },
  async deleteVectorStore(stage) {
    const id = await storeOf(stage)
    return done(stage, await byKey(stage, 'DELETE', `/vector-stores/${id}`), id)
  },
  async createEmbeddings(stage) {
    const id = await storeOf(stage)
    return done(stage, await byKey(stage, 'POST', `/vector-stores/${id}/embeddings`, embeddings(3)), id)
  },
  async deleteEmbeddings(stage) {
    const id = await storeOf(stage)
    await byKey(stage, 'POST', `/vector-stores/${id}/embeddings`, embeddings(2))
    const body = { deleteAll: true }
    return done(stage, await byKey(stage, 'DELETE', `/vector-stores/${id}/embeddings`, body), id)
  },
}

const PASSWORD = 'a phrase that nobody else knows'
let accounts = 0
const byClient = async ({ platform }: Stage, method: string, path: string, body?: unknown): Promise<Answer> =>
  platform.call(method, `/auth/v1/admin/accounts${path}`, { token: platform.superuserClient.token, body })
const accountDone = ({ platform }: Stage, answer: Answer, resourceId: string): Done => ({
  answer,
  actor: { kind: 'client', id: platform.superuserClient.clientId },
  resourceId,
  inSpace: false,
  secrets: answer.body.passwordLink === undefined ? [] : [tokenOf(answer.body.passwordLink)],
})
const tokenOf = (link: string): string => new URL(link).searchParams.get('token') ?? ''
async function accountOf(stage: Stage): Promise<{ qxId: string; token: string }> {
  const qxId = `qx-audited-${process.pid}-${++accounts}`
  const { body } = await byClient(stage, 'POST', '', { qxId, name: 'n' })
  return { qxId, token: tokenOf(body.passwordLink) }
}
const byForm = async ({ platform }: Stage, path: string, fields: Record<string, string>): Promise<Answer> =>
  platform.call('POST', `/auth/oauth2/realms/root/realms${path}`, {
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams(fields).toString(),
  })

const identityWalks: Readonly<Record<string, Walk>> = {
  async createAccount(stage) {
    const qxId = `qx-audited-${process.pid}-${++accounts}`
    return accountDone(stage, await byClient(stage, 'POST', '', { qxId, name: 'n' }), qxId)
  },
  async updateAccount(stage) {
    const { qxId } = await accountOf(stage)
    return accountDone(stage, await byClient(stage, 'PATCH', `/${qxId}`, { disabled: true }), qxId)
  },
  async resetAccountPassword(stage) {
    const { qxId } = await accountOf(stage)
    return accountDone(stage, await byClient(stage, 'POST', `/${qxId}:reset-password`), qxId)
  },
  async choosePassword(stage) {
    const { qxId, token } = await accountOf(stage)
    const answer = await byForm(stage, '/people/choose-password', { token, new: PASSWORD, again: PASSWORD })
    const actor = { kind: 'user', id: qxId }
    return { answer, actor, resourceId: qxId, inSpace: false, secrets: [token, PASSWORD, 'argon2'] }
  },
  async revokeMachineToken(stage) {
    const { platform } = stage
    const { clientId, clientSecret } = platform.superuserClient
    const token = await platform.clientToken(clientId, clientSecret)
    const fields = { token, client_id: clientId, client_secret: clientSecret }
    const answer = await byForm(stage, '/machine2machine/token/revoke', fields)
    const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8'))
    return { answer, actor: { kind: 'client', id: clientId }, resourceId: claims.jti, inSpace: false }
  },
}

const MODEL_CALL = 'a call of a model: its use is in the costs and the request log'
/** What is no GET and yet changes nothing that the log is for. */
const HARMLESS: Readonly<Record<ServiceName, Readonly<Record<string, string>>>> = {
  identity: {
    issueMachineToken: 'tokens expire by themselves; metrics count them',
    issueUserToken: 'tokens of a session whose beginning is in the log',
    introspectMachineToken: 'reads',
    authorizePerson: 'reads; the sign-in that follows is in the log',
    resumeAuthorization: 'reads',
    requestSignOut: 'reads; the end of the session is in the log',
    postUserInfo: 'reads',
  },
  portal: {},
  workflows: { validateVersion: 'reads' },
  gateway: Object.fromEntries(Object.keys(gatewayAccess).map((name) => [name, MODEL_CALL])),
  agents: Object.fromEntries(
    ['queryAgents', 'queryThreads', 'queryMessages', 'vectorSearch', 'keywordSearch']
      .concat(['keywordFilterSearch', 'hybridSearch', 'evaluateSearch'])
      .map((name) => [name, 'reads']),
  ),
}

/** Operations that people sign in for; and the portal's own. */
const ELSEWHERE = 'services/identity/test/audit.test.ts'
const WALKED_ELSEWHERE = {
  signIn: ELSEWHERE,
  endSession: ELSEWHERE,
  endOtherSessions: ELSEWHERE,
  confirmSignOut: ELSEWHERE,
  revokeUserToken: ELSEWHERE,
  changePassword: ELSEWHERE,
  changePasswordOnPage: ELSEWHERE,
  acceptInvitationOnPage: 'below: it leaves several entries',
}

const WALKS: Readonly<
  Record<ServiceName, Readonly<Record<string, Walk>> | 'services/portal/test/audit.test.ts'>
> = {
  identity: identityWalks,
  portal: 'services/portal/test/audit.test.ts',
  gateway: {},
  agents: agentsWalks,
  workflows: workflowsWalks,
}

let platform: TestPlatform
beforeAll(async () => {
  platform = await startTestPlatform({ engine: idleEngine })
})
afterAll(() => platform.close())

describe.each(SERVICES)('%s', (service) => {
  const walks = WALKS[service]

  it('has an entry, or a reason for none, for every operation that is no GET', async () => {
    if (typeof walks === 'string') return
    const known = { ...walks, ...HARMLESS[service], ...(service === 'identity' ? WALKED_ELSEWHERE : {}) }
    const missing = (await changingOperations(platform.url, ADDRESSES[service])).filter(
      (operation) => !Object.hasOwn(known, operation),
    )
    expect(missing).toEqual([])
  })

  if (typeof walks === 'string') return
  it.each(Object.keys(walks))('%s leaves an entry that names actor, space and target', async (operation) => {
    const stage = { platform, ...(await platform.space()) }
    const walked = await walks[operation]?.(stage)
    if (walked === undefined) throw new Error(`${operation} is not walked`)
    const { answer, actor, resourceId } = walked
    expect([200, 201, 204], JSON.stringify(answer.body)).toContain(answer.status)
    const { rows } = await platform.pool.query(
      'SELECT *, audit_entries::text AS text FROM portal.audit_entries WHERE request_id = $1',
      [answer.headers.get('x-request-id')],
    )
    expect(rows).toEqual([
      expect.objectContaining({
        operation,
        actor_kind: actor.kind,
        actor_id: actor.id,
        space_id: walked.inSpace ? stage.spaceId : null,
        resource_id: resourceId,
        address: '127.0.0.1',
      }),
    ])
    for (const secret of [CONTENT, '0.12345', stage.apiKey, ...(walked.secrets ?? [])]) {
      expect(rows[0].text).not.toContain(secret)
    }
  })
})

it('acceptInvitationOnPage leaves entries for the account and the invitation', async () => {
  const stage = { platform, ...(await platform.space()) }
  const invitation = await platform.call('POST', `/portal/v1/spaces/${stage.spaceId}/invitations`, {
    token: platform.superuser.token,
    body: { mailAddress: 'invited@example.test', role: 'member' },
  })
  const { token } = invitation.body
  const user = `qx-invited-${process.pid}`
  const fields = { token, user, name: 'n', new: PASSWORD, again: PASSWORD }
  const answer = await byForm(stage, '/people/invitation', fields)
  expect(answer.status).toBe(200)
  const { rows } = await platform.pool.query(
    'SELECT *, audit_entries::text AS text FROM portal.audit_entries WHERE request_id = $1',
    [answer.headers.get('x-request-id')],
  )
  const by = { operation: 'acceptInvitationOnPage', actor_kind: 'user', actor_id: user, address: '127.0.0.1' }
  for (const row of rows) expect(row).toMatchObject(by)
  expect(rows).toContainEqual(expect.objectContaining({ ...by, resource_id: user, space_id: null }))
  expect(rows).toContainEqual(
    expect.objectContaining({ ...by, resource_type: 'invitation', space_id: stage.spaceId }),
  )
  for (const secret of [token, PASSWORD, 'argon2']) expect(JSON.stringify(rows)).not.toContain(secret)
})

describe('the command line', () => {
  it('leaves an entry for each change that it makes', async () => {
    const env = { ...TEST_CREDENTIALS, DATABASE_URL: platform.databaseUrl, ATRIUM_DATA_DIR: platform.dataDir }
    const qxId = `qx-by-command-${process.pid}`
    await addUser(env, qxId, {})
    await setUserDisabled(env, qxId, true)
    const { rows } = await platform.pool.query(
      'SELECT actor_kind, actor_id, operation FROM portal.audit_entries WHERE resource_id = $1 ORDER BY at',
      [qxId],
    )
    const actor = { actor_kind: 'system', actor_id: 'command line' }
    expect(rows).toEqual([
      { ...actor, operation: 'addUser' },
      { ...actor, operation: 'disableUser' },
    ])
  })
})
