import { type IncomingHttpHeaders, request } from 'node:http'
import { startTestPlatform, type TestPlatform } from '@atrium/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const INGRESS = '127.0.0.2'
const SECRET = 'what only the ingress knows'
const USER = 'x-auth-request-user'
const NAME = 'x-auth-request-preferred-username'

interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  // biome-ignore lint/suspicious/noExplicitAny: bodies of two services
  readonly body: any
}

/** Calls from an address of this machine's own choice. */
function callFrom(
  localAddress: string,
  { url }: TestPlatform,
  path: string,
  options: { method?: string; headers?: Record<string, string | string[]>; body?: unknown } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    // As bytes: Node.js writes headers and a text in one go, in the text's encoding.
    const body = options.body === undefined ? undefined : Buffer.from(JSON.stringify(options.body))
    const sent = request(
      url + path,
      {
        localAddress,
        method: options.method ?? 'GET',
        headers: {
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...options.headers,
        },
      },
      (answer) => {
        let text = ''
        answer.setEncoding('utf8')
        answer.on('data', (chunk: string) => {
          text += chunk
        })
        answer.on('end', () =>
          resolve({
            status: answer.statusCode ?? 0,
            headers: answer.headers,
            body: text.startsWith('{') || text.startsWith('[') ? JSON.parse(text) : text,
          }),
        )
      },
    )
    sent.on('error', reject)
    sent.end(body)
  })
}

let platform: TestPlatform
let member: Record<string, string>
let spacePath = ''
let spaceId = ''

beforeAll(async () => {
  platform = await startTestPlatform({
    env: {
      ATRIUM_INGRESS_ADDRESSES: `${INGRESS}, 10.9.0.0/16, fd00::/8`,
      ATRIUM_TRUSTED_PROXIES: '127.0.0.0/8',
    },
  })
  const space = await platform.space({ owner: 'qx-owner', members: ['qx-member'] })
  spaceId = space.spaceId
  spacePath = `/portal/v1/spaces/${spaceId}`
  member = { [USER]: 'qx-member' }
})
afterAll(() => platform.close())

describe('headers of an ingress that authenticates', () => {
  it('name the person, whose roles decide, in portal and agents', async () => {
    expect((await callFrom(INGRESS, platform, spacePath, { headers: member })).status).toBe(200)
    const agents = `/agents/v1/spaces/${spaceId}/agent`
    expect((await callFrom(INGRESS, platform, agents, { headers: member })).status).toBe(200)
    const stranger = { [USER]: 'qx-stranger' }
    expect((await callFrom(INGRESS, platform, spacePath, { headers: stranger })).status).toBe(403)
    expect((await callFrom(INGRESS, platform, spacePath)).status).toBe(401)
    const patched = await callFrom(INGRESS, platform, spacePath, {
      method: 'PATCH',
      headers: { [USER]: 'qx-owner', [NAME]: Buffer.from('Zoë Öztürk').toString('latin1') },
      body: { description: 'by an owner' },
    })
    expect(patched.status).toBe(200)
    const audit = await callFrom(INGRESS, platform, `${spacePath}/audit?limit=1`, {
      headers: { [USER]: 'qx-owner' },
    })
    expect(audit.body.data[0].actor).toMatchObject({ id: 'qx-owner', name: 'Zoë Öztürk' })
  })

  it('are nothing from any other address, whatever X-Forwarded-For says', async () => {
    for (const headers of [
      member,
      { ...member, 'x-forwarded-for': INGRESS },
      { ...member, forwarded: `for=${INGRESS}` },
    ])
      expect((await callFrom('127.0.0.1', platform, spacePath, { headers })).status).toBe(401)
    const viaProxy = { ...member, 'x-forwarded-for': '203.0.113.9' }
    expect((await callFrom(INGRESS, platform, spacePath, { headers: viaProxy })).status).toBe(200)
  })

  it('count less than a credential of the caller’s own', async () => {
    const stranger = await platform.userToken({ qxId: 'qx-stranger' })
    const asStranger = { ...member, authorization: `Bearer ${stranger}` }
    expect((await callFrom(INGRESS, platform, spacePath, { headers: asStranger })).status).toBe(403)
    const bad = { ...member, authorization: 'Bearer nothing' }
    expect((await callFrom(INGRESS, platform, spacePath, { headers: bad })).status).toBe(401)
  })

  it('must name one person by a possible id', async () => {
    const wrong = [' ', 'a b', 'a/b', 'a\tb', 'x'.repeat(129), ['qx-member', 'qx-owner']]
    for (const id of wrong) {
      const answer = await callFrom(INGRESS, platform, spacePath, { headers: { [USER]: id } })
      expect(answer.status, String(id)).toBe(401)
    }
  })

  it('do not let pages of other sites write', async () => {
    const write = (headers: Record<string, string>) =>
      callFrom(INGRESS, platform, spacePath, {
        method: 'PATCH',
        headers: { [USER]: 'qx-owner', ...headers },
        body: { description: 'by a page' },
      })
    expect((await write({ 'sec-fetch-site': 'cross-site' })).status).toBe(403)
    expect((await write({ 'sec-fetch-site': 'same-site' })).status).toBe(403)
    expect((await write({ origin: 'https://evil.example' })).status).toBe(403)
    expect((await write({ origin: 'null' })).status).toBe(403)
    expect((await write({ 'sec-fetch-site': 'same-origin' })).status).toBe(200)
  })

  it('open neither the gateway nor what is for machines', async () => {
    const gateway = await callFrom(INGRESS, platform, '/llm/v1/models', { headers: member })
    expect(gateway.status).toBe(401)
    const machines = await callFrom(INGRESS, platform, '/portal/v1/spaces-with-workflows', {
      headers: member,
    })
    expect(machines.status).toBe(401)
  })

  it('are named by the health probe', async () => {
    const { body } = await callFrom('127.0.0.1', platform, '/portal/health')
    expect(body.authentication).toBe('JWT, gateway headers, API keys')
  })
})

describe('an ingress with a secret', () => {
  it('is believed with it alone', async () => {
    await using closed = await startTestPlatform({
      env: {
        ATRIUM_INGRESS_ADDRESSES: INGRESS,
        ATRIUM_INGRESS_SECRET: SECRET,
        ATRIUM_INGRESS_USER_HEADER: 'X-Forwarded-User',
      },
    })
    const me = { 'x-forwarded-user': closed.superuser.qxId }
    const list = (headers: Record<string, string>) =>
      callFrom(INGRESS, closed, '/portal/v1/spaces', { headers })
    expect((await list(me)).status).toBe(401)
    expect((await list({ ...me, 'x-ingress-secret': 'guessed' })).status).toBe(401)
    expect((await list({ ...me, 'x-ingress-secret': SECRET })).status).toBe(200)
    expect((await list({ [USER]: closed.superuser.qxId, 'x-ingress-secret': SECRET })).status).toBe(401)
  })
})

describe('an ingress that signs', () => {
  it('names people by tokens that are verified like any other, in a header of its own', async () => {
    await using signed = await startTestPlatform({
      env: { ATRIUM_INGRESS_ADDRESSES: INGRESS, ATRIUM_INGRESS_TOKEN_HEADER: 'x-ingress-assertion' },
    })
    const list = (from: string, headers: Record<string, string>) =>
      callFrom(from, signed, '/portal/v1/spaces', { headers })
    const { token, qxId } = signed.superuser
    expect((await list(INGRESS, { 'x-ingress-assertion': token })).status).toBe(200)
    expect((await list('127.0.0.1', { 'x-ingress-assertion': token })).status).toBe(401)
    expect((await list(INGRESS, { 'x-ingress-assertion': `${token}x` })).status).toBe(401)
    expect((await list(INGRESS, { 'x-ingress-assertion': signed.superuserClient.token })).status).toBe(401)
    expect((await list(INGRESS, { [USER]: qxId })).status).toBe(401)
  })
})

it('an address that is none stops the start', async () => {
  await expect(startTestPlatform({ env: { ATRIUM_INGRESS_ADDRESSES: 'ingress.local' } })).rejects.toThrow(
    'ATRIUM_INGRESS_ADDRESSES: ingress.local is neither an address nor a network',
  )
})
