import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { freePort, startTestPlatform, type TestPlatform } from '@atrium/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Cast, createCast } from './cast.ts'

type Context = Readonly<Record<string, string>>
interface Reply {
  readonly status: number
  readonly body: unknown
}

/** A flag that targets a person, one that is the same for all, and one that Atrium does not know. */
const isOlga = (context: Context): boolean => context.qxId === 'qx-olga'

/** AWS's agent: `GET …/configurations/{profile}`, caller attributes in the header `Context`. */
function answerAppConfig(request: IncomingMessage): Reply {
  if (request.method !== 'GET') return { status: 405, body: { Message: 'GET only' } }
  if (request.url !== '/applications/my%20app/environments/prod/configurations/flags') {
    return { status: 404, body: { Message: 'Configuration not found' } }
  }
  const context: Context = Object.fromEntries(
    String(request.headers.context)
      .split(',')
      .map((pair) => pair.trim().split('=') as [string, string]),
  )
  return {
    status: 200,
    body: {
      enable_agent_feature: {
        _variant: isOlga(context) ? 'olga' : 'default',
        enabled: isOlga(context),
        isPreview: true,
      },
      enable_cost_feature: { enabled: false },
      for_keys: { _variant: 'any', enabled: context.kind === 'key' && context.spaceId !== undefined },
      new_search: { enabled: true, isPreview: 'true', limit: 5 },
    },
  }
}

/** flagd: bulk evaluation of OFREP, the caller as evaluation context in the body. */
function answerOfrep(request: IncomingMessage, text: string): Reply {
  if (request.method !== 'POST' || request.url !== '/ofrep/v1/evaluate/flags')
    return { status: 404, body: {} }
  if (request.headers['content-type'] !== 'application/json') return { status: 400, body: {} }
  const { context } = JSON.parse(text) as { context: Context }
  if (context.targetingKey === undefined) return { status: 400, body: { errorCode: 'TARGETING_KEY_MISSING' } }
  const flag = (key: string, value: unknown, reason: string, metadata = {}) => ({
    key,
    value,
    reason,
    variant: value === true ? 'on' : 'off',
    metadata,
  })
  return {
    status: 200,
    body: {
      metadata: { flagSetId: 'atrium' },
      flags: [
        flag('enable_agent_feature', isOlga(context), isOlga(context) ? 'TARGETING_MATCH' : 'DEFAULT', {
          isPreview: true,
        }),
        flag('enable_cost_feature', false, 'STATIC'),
        flag('for_keys', context.kind === 'key' && context.spaceId !== undefined, 'TARGETING_MATCH'),
        flag('new_search', true, 'STATIC', { isPreview: true }),
        flag('greeting', 'hello', 'STATIC'),
        { key: 'broken', errorCode: 'PARSE_ERROR', errorDetails: 'bad rule' },
      ],
    },
  }
}

type Mood =
  | 'well'
  | 'slow'
  | 'slow body'
  | 'not JSON'
  | 'huge'
  | 'failing'
  | 'refusing'
  | 'another shape'
  | 'redirecting'

/** An agent that can be unwell in every way. */
class FakeAgent {
  mood: Mood = 'well'
  requests = 0
  readonly #answer: (request: IncomingMessage, text: string) => Reply
  readonly #port: number
  #server: Server | undefined

  constructor(port: number, answer: (request: IncomingMessage, text: string) => Reply) {
    this.#port = port
    this.#answer = answer
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`
  }

  async start(): Promise<void> {
    this.#server = createServer((request, response) => void this.#handle(request, response))
    this.#server.listen(this.#port, '127.0.0.1')
    await once(this.#server, 'listening')
  }

  async stop(): Promise<void> {
    const server = this.#server
    this.#server = undefined
    if (server === undefined) return
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.requests++
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const json = (status: number, body: unknown, headers = {}) =>
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
    switch (this.mood) {
      case 'slow':
        return
      case 'slow body':
        response.writeHead(200, { 'content-type': 'application/json' }).write('{')
        return
      case 'not JSON':
        response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>It works!</h1>')
        return
      case 'huge':
        response.writeHead(200, { 'content-type': 'application/json' })
        response.end(`{"flags": [], "filler": "${'x'.repeat(4 * 1_048_576)}"}`)
        return
      case 'failing':
        json(500, { Message: 'boom' })
        return
      case 'refusing':
        json(404, { Message: 'no such profile' })
        return
      case 'another shape':
        json(200, { flags: { enabled: 'perhaps' }, enable_cost_feature: true })
        return
      case 'redirecting':
        json(302, {}, { location: `${this.url}/elsewhere` })
        return
      case 'well': {
        const { status, body } = this.#answer(request, Buffer.concat(chunks).toString('utf8'))
        json(status, body)
      }
    }
  }
}

const BUILT_IN = {
  enable_agent_feature: { enabled: true, isPreview: false },
  enable_cost_feature: { enabled: true, isPreview: false },
  enable_workflow_feature: { enabled: true, isPreview: false },
}

describe.each([
  {
    source: 'AWS AppConfig agent',
    answer: answerAppConfig,
    envOf: (url: string) => ({
      ATRIUM_FLAGS_APPCONFIG_URL: url,
      ATRIUM_FLAGS_APPCONFIG_APPLICATION: 'my app',
      ATRIUM_FLAGS_APPCONFIG_ENVIRONMENT: 'prod',
      ATRIUM_FLAGS_APPCONFIG_PROFILE: 'flags',
    }),
  },
  { source: 'flagd', answer: answerOfrep, envOf: (url: string) => ({ ATRIUM_FLAGS_FLAGD_URL: `${url}/` }) },
])('from $source', ({ answer, envOf }) => {
  let platform: TestPlatform
  let agent: FakeAgent
  let cast: Cast

  beforeAll(async () => {
    agent = new FakeAgent(await freePort(), answer)
    platform = await startTestPlatform({ env: envOf(agent.url) })
    cast = await createCast(platform)
  })
  afterAll(async () => {
    await platform.close()
    await agent.stop()
  })

  const flagsFor = async (token: string) => {
    const answered = await platform.call('GET', '/portal/v1/feature-flags', { token })
    expect(answered.status).toBe(200)
    return answered.body
  }
  const health = async () => (await platform.call('GET', '/portal/v1/feature-flags/health')).body
  const healthy = () => ({
    status: 'healthy',
    sidecarHealthy: true,
    serviceStatus: { available: true, agentUrl: agent.url },
  })
  const becomes = (expected: object) => expect.poll(health, { timeout: 8000 }).toMatchObject(expected)

  test('before the agent was ever there, the built-in flags hold', async () => {
    expect(await flagsFor(cast.tokens.owner)).toEqual(BUILT_IN)
    expect(await health()).toEqual({
      status: 'degraded',
      sidecarHealthy: false,
      serviceStatus: { available: false, agentUrl: agent.url },
    })
  })

  test('flags come in when the agent does, targeted by qxId, kind and space', async () => {
    await agent.start()
    await becomes(healthy())
    const { owner, member, key } = cast.tokens
    const ofOwner = {
      enable_agent_feature: { enabled: true, isPreview: true },
      enable_cost_feature: { enabled: false, isPreview: false },
      // The agent does not have it, and an agent decides alone.
      enable_workflow_feature: { enabled: false, isPreview: false },
      for_keys: { enabled: false, isPreview: false },
      new_search: { enabled: true, isPreview: true },
    }
    expect(await flagsFor(owner)).toEqual(ofOwner)
    expect(await flagsFor(member)).toEqual({
      ...ofOwner,
      enable_agent_feature: { enabled: false, isPreview: true },
    })
    expect(await flagsFor(key)).toMatchObject({ for_keys: { enabled: true } })
  })

  test('one question to the agent serves many calls', async () => {
    await flagsFor(cast.tokens.owner)
    const before = agent.requests
    await Promise.all(Array.from({ length: 20 }, () => flagsFor(cast.tokens.owner)))
    expect(agent.requests - before).toBeLessThanOrEqual(2)
  })

  test('an id that would name other attributes is not passed on as such', async () => {
    const token = await platform.userToken({ qxId: 'x,qxId=qx-olga', name: 'Mallory' })
    expect(await flagsFor(token)).toMatchObject({ enable_agent_feature: { enabled: false } })
  })

  test.each<[Mood, { sidecarHealthy: boolean }]>([
    ['slow', { sidecarHealthy: false }],
    ['slow body', { sidecarHealthy: false }],
    ['not JSON', { sidecarHealthy: false }],
    ['huge', { sidecarHealthy: false }],
    ['failing', { sidecarHealthy: false }],
    ['another shape', { sidecarHealthy: false }],
    ['redirecting', { sidecarHealthy: false }],
    ['refusing', { sidecarHealthy: true }],
  ])('while the agent is %s, everybody keeps what they had', async (mood, { sidecarHealthy }) => {
    const { owner, member, stranger } = cast.tokens
    await flagsFor(owner)
    agent.mood = mood
    await becomes({ status: 'degraded', sidecarHealthy, serviceStatus: { available: false } })
    expect(await flagsFor(owner)).toMatchObject({
      enable_agent_feature: { enabled: true, isPreview: true },
      enable_cost_feature: { enabled: false },
      new_search: { enabled: true, isPreview: true },
    })
    expect(await flagsFor(member)).toMatchObject({ enable_cost_feature: { enabled: false } })
    // Who was never seen gets what holds for all, and never what was meant for somebody else.
    const newcomer = await platform.userToken({ qxId: `qx-new-${mood.replaceAll(' ', '-')}`, name: 'New' })
    const flags = await flagsFor(newcomer)
    expect(flags).toMatchObject({
      enable_agent_feature: { enabled: true, isPreview: false },
      enable_cost_feature: { enabled: false },
      new_search: { enabled: true, isPreview: true },
    })
    expect(flags).not.toHaveProperty('for_keys')
    agent.mood = 'well'
    await becomes(healthy())
    expect(await flagsFor(stranger)).toMatchObject({ for_keys: { enabled: false } })
  })

  test('while the agent is down, everybody keeps what they had, and it comes back', async () => {
    await flagsFor(cast.tokens.owner)
    await agent.stop()
    await becomes({ status: 'degraded', sidecarHealthy: false, serviceStatus: { available: false } })
    expect(await flagsFor(cast.tokens.owner)).toMatchObject({ enable_agent_feature: { enabled: true } })
    await agent.start()
    await becomes(healthy())
  })
})
