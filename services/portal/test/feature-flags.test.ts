import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { startTestPlatform, type TestPlatform } from '@atrium/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Cast, createCast } from './cast.ts'

const BUILT_IN = {
  enable_agent_feature: { enabled: true, isPreview: false },
  enable_cost_feature: { enabled: true, isPreview: false },
  enable_workflow_feature: { enabled: true, isPreview: false },
}

const flagsOf = async (platform: TestPlatform, token: string) =>
  (await platform.call('GET', '/portal/v1/feature-flags', { token })).body
const healthOf = async (platform: TestPlatform) =>
  (await platform.call('GET', '/portal/v1/feature-flags/health')).body

describe('without a source of their own', () => {
  let platform: TestPlatform
  beforeAll(async () => {
    platform = await startTestPlatform()
  })
  afterAll(() => platform.close())

  test('the built-in flags are there for every kind of credential', async () => {
    const { tokens } = await createCast(platform)
    for (const token of [tokens.stranger, tokens.strangerClient, tokens.key]) {
      const answer = await platform.call('GET', '/portal/v1/feature-flags', { token })
      expect(answer.status).toBe(200)
      expect(answer.headers.get('cache-control')).toBe('no-store')
      expect(answer.body).toEqual(BUILT_IN)
    }
  })

  test('a credential is needed for the flags, and none for their health', async () => {
    expect((await platform.call('GET', '/portal/v1/feature-flags')).status).toBe(401)
    expect((await platform.call('GET', '/portal/v1/feature-flags', { token: 'nonsense' })).status).toBe(401)
    const health = await platform.call('GET', '/portal/v1/feature-flags/health', { token: 'nonsense' })
    expect(health.status).toBe(200)
    expect(health.body).toEqual({
      status: 'healthy',
      sidecarHealthy: true,
      serviceStatus: { available: true, agentUrl: 'in-process' },
    })
  })

  test('a key cannot be looked up without the database', async () => {
    const { apiKey } = await platform.space()
    await platform.pool.query('ALTER TABLE portal.api_keys RENAME TO gone')
    const answer = await platform.call('GET', '/portal/v1/feature-flags', { token: apiKey })
    await platform.pool.query('ALTER TABLE portal.gone RENAME TO api_keys')
    expect(answer.status).toBe(500)
  })
})

test.each([
  [
    { ATRIUM_FLAGS_FILE: 'x.json', ATRIUM_FLAGS_FLAGD_URL: 'http://localhost:1' },
    'ATRIUM_FLAGS_FILE and ATRIUM_FLAGS_FLAGD_URL are set',
  ],
  [
    { ATRIUM_FLAGS_APPCONFIG_URL: 'http://localhost:1' },
    'ATRIUM_FLAGS_APPCONFIG_URL needs ATRIUM_FLAGS_APPCONFIG_APPLICATION too',
  ],
  [{ ATRIUM_FLAGS_FLAGD_URL: 'http://user:secret@localhost:1' }, 'ATRIUM_FLAGS_FLAGD_URL'],
])('the start refuses %j', async (env, message) => {
  await expect(startTestPlatform({ env })).rejects.toThrow(message)
})

const onOff = { state: 'ENABLED', variants: { on: true, off: false } }

const FLAGS = {
  metadata: { owner: 'platform team' },
  flags: {
    enable_agent_feature: {
      ...onOff,
      defaultVariant: 'off',
      metadata: { isPreview: true },
      targeting: { if: [{ in: [{ var: 'qxId' }, ['qx-olga', 'qx-max']] }, 'on', 'off'] },
    },
    enable_cost_feature: { ...onOff, state: 'DISABLED', defaultVariant: 'on' },
    for_keys_of_home: { ...onOff, defaultVariant: 'off' },
    for_machines: {
      ...onOff,
      defaultVariant: 'off',
      targeting: { if: [{ '==': [{ var: 'kind' }, 'client'] }, 'on', 'off'] },
    },
    a_string: { state: 'ENABLED', variants: { a: 'x' }, defaultVariant: 'a' },
  },
}

describe('from a file', () => {
  let platform: TestPlatform
  let cast: Cast
  let file = ''

  /** As an editor or a mounted volume does it: the new file takes the old one's place. */
  const write = async (content: unknown): Promise<void> => {
    await writeFile(`${file}.new`, typeof content === 'string' ? content : JSON.stringify(content))
    await rename(`${file}.new`, file)
  }
  const flagFor = async (token: string, name: string) => (await flagsOf(platform, token))[name]
  const health = () => healthOf(platform)

  beforeAll(async () => {
    file = path.join(await mkdtemp(path.join(tmpdir(), 'atrium-flags-')), 'flags.json')
    platform = await startTestPlatform({ env: { ATRIUM_FLAGS_FILE: file } })
    cast = await createCast(platform)
  })
  afterAll(async () => {
    await platform.close()
    await rm(path.dirname(file), { recursive: true, force: true })
  })

  test('that is not there yet, the built-in flags hold and health says so', async () => {
    expect(await flagsOf(platform, cast.tokens.member)).toEqual(BUILT_IN)
    expect(await health()).toEqual({
      status: 'degraded',
      sidecarHealthy: true,
      serviceStatus: { available: false, agentUrl: 'in-process' },
    })
  })

  test('flags come in as soon as it is written, targeted by qxId, kind and spaceId', async () => {
    const { member, stranger, strangerClient, key, otherKey } = cast.tokens
    const ofHome = { if: [{ '==': [{ var: 'spaceId' }, cast.home.spaceId] }, 'on', 'off'] }
    const flags = {
      ...FLAGS,
      flags: { ...FLAGS.flags, for_keys_of_home: { ...FLAGS.flags.for_keys_of_home, targeting: ofHome } },
    }
    await write(flags)
    await expect.poll(health).toMatchObject({ status: 'healthy', serviceStatus: { available: true } })
    expect(await flagsOf(platform, member)).toEqual({
      enable_agent_feature: { enabled: true, isPreview: true },
      enable_cost_feature: { enabled: false, isPreview: false },
      enable_workflow_feature: { enabled: false, isPreview: false },
      for_keys_of_home: { enabled: false, isPreview: false },
      for_machines: { enabled: false, isPreview: false },
    })
    expect(await flagFor(stranger, 'enable_agent_feature')).toEqual({ enabled: false, isPreview: true })
    expect(await flagFor(strangerClient, 'for_machines')).toMatchObject({ enabled: true })
    expect(await flagFor(key, 'for_keys_of_home')).toMatchObject({ enabled: true })
    expect(await flagFor(otherKey, 'for_keys_of_home')).toMatchObject({ enabled: false })
  })

  test.each([
    ['cut off', '{"flags": {"enable_workflow_feature": '],
    ['of another form', '{"flags": {"enable_workflow_feature": {"state": "MAYBE"}}}'],
    ['with an unknown operator', JSON.stringify({ flags: { x: { ...onOff, targeting: { nope: [] } } } })],
    ['too large', JSON.stringify({ flags: {}, filler: 'x'.repeat(1_048_576) })],
  ])('that is %s leaves the last good flags in force, until it is repaired', async (_what, broken) => {
    const { member } = cast.tokens
    await write(broken)
    await expect
      .poll(health)
      .toMatchObject({ status: 'degraded', sidecarHealthy: true, serviceStatus: { available: false } })
    expect(await flagFor(member, 'enable_agent_feature')).toEqual({ enabled: true, isPreview: true })
    await write(FLAGS)
    await expect.poll(health).toMatchObject({ status: 'healthy' })
  })

  test('that is deleted leaves the last good flags in force', async () => {
    await rm(file)
    await expect.poll(health).toMatchObject({ status: 'degraded' })
    expect(await flagFor(cast.tokens.member, 'enable_agent_feature')).toMatchObject({ enabled: true })
  })
})
