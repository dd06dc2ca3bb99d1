import { setTimeout as delay } from 'node:timers/promises'
import { startTestPlatform, type TestPlatform } from '@atrium/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Cast, createCast, UNKNOWN_ID } from './cast.ts'

let platform: TestPlatform
let cast: Cast
beforeAll(async () => {
  platform = await startTestPlatform({ env: { ATRIUM_KEY_USE_SECONDS: '1' } })
  cast = await createCast(platform)
})
afterAll(() => platform.close())

const UUID_V4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const keysOf = (spaceId: string) => `/portal/v1/spaces/${spaceId}/apikeys`
const create = (body: unknown, spaceId = cast.home.spaceId) =>
  platform.call('POST', keysOf(spaceId), { token: cast.tokens.superuser, body })
const revoke = (
  keyId: string,
  options: { spaceId?: string; token?: string; headers?: Record<string, string> } = {},
) =>
  platform.call('DELETE', `${keysOf(options.spaceId ?? cast.home.spaceId)}/${keyId}`, {
    token: cast.tokens.owner,
    ...options,
  })
const useKey = (token: string) => platform.call('GET', `/portal/v1/spaces/${cast.home.spaceId}`, { token })

describe('POST …/apikeys', () => {
  test('shows the key once, and stores only its hash', async () => {
    const answer = await create({ name: 'ci', status: 'Revoked', apiKeyValue: 'mine', apiKeyId: 'mine' })
    expect(answer.status).toBe(201)
    const { apiKeyValue, expiryDate, createdAt } = answer.body
    const administrator = { qxId: platform.superuser.qxId, name: 'Administrator' }
    expect(answer.body).toEqual({
      apiKeyId: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/),
      spaceId: cast.home.spaceId,
      name: 'ci',
      expiryDate: expect.any(String),
      apiKeyArn: `arn:atrium:apikey:${cast.home.spaceId}:****${apiKeyValue.slice(-4)}`,
      status: 'Active',
      createdBy: administrator,
      modifiedBy: administrator,
      createdAt: expect.any(String),
      updatedAt: createdAt,
      apiKeyValue: expect.stringMatching(UUID_V4),
    })
    const days = (Date.parse(expiryDate) - Date.parse(createdAt)) / 86_400_000
    expect(days).toBeCloseTo(365, 1)
    const { rows } = await platform.pool.query('SELECT * FROM portal.api_keys')
    expect(JSON.stringify(rows)).not.toContain(apiKeyValue)
    expect((await useKey(apiKeyValue)).status).toBe(200)
    expect((await useKey(apiKeyValue.toUpperCase())).status).toBe(200)
  })

  test('expiryDate is honoured to the moment', async () => {
    const expiryDate = new Date(Date.now() + 1200).toISOString()
    const { body } = await create({ name: 'short', expiryDate })
    expect(body.expiryDate).toBe(expiryDate)
    expect((await useKey(body.apiKeyValue)).status).toBe(200)
    await delay(Date.parse(expiryDate) - Date.now() + 20)
    const late = await useKey(body.apiKeyValue)
    expect(late.status).toBe(401)
    expect(late.body.error.message).toContain('expired')
  })

  test.each([
    [{}, 'body.name'],
    [{ name: '' }, 'body.name'],
    [{ name: 'x'.repeat(201) }, 'body.name'],
    [{ name: 'k', expiryDate: '2020-01-01T00:00:00Z' }, 'body.expiryDate'],
    [{ name: 'k', expiryDate: 'tomorrow' }, 'body.expiryDate'],
    [{ name: 'k', expiryDate: '2031-02-31T00:00:00Z' }, 'body.expiryDate'],
    [{ name: 'k', expiryDate: '2031-12-31T23:59:60Z' }, 'body.expiryDate'],
    [{ name: 'k', expiryDate: 5 }, 'body.expiryDate'],
  ])('refuses %j', async (body, field) => {
    const answer = await create(body)
    expect(answer.status).toBe(400)
    expect(answer.body.error.message).toContain(field)
  })

  test('404 for an unknown space', async () => {
    expect((await create({ name: 'k' }, UNKNOWN_ID)).status).toBe(404)
  })
})

describe('GET …/apikeys', () => {
  test('lists without values, filtered, searched, sorted and paged', async () => {
    const { spaceId, ownerToken } = await platform.space()
    const list = async (query = '') =>
      (await platform.call('GET', `${keysOf(spaceId)}${query}`, { token: ownerToken })).body
    const names = async (query: string) =>
      ((await list(query)).data as { name: string }[]).map((key) => key.name)
    const made = [await create({ name: 'Beta' }, spaceId), await create({ name: 'alpha' }, spaceId)]
    await revoke(made[0]?.body.apiKeyId, { spaceId, token: ownerToken })

    const all = await list()
    expect(all.pagination.totalRecords).toBe(3)
    expect(JSON.stringify(all)).not.toContain('apiKeyValue')
    for (const answer of made) expect(JSON.stringify(all)).not.toContain(answer.body.apiKeyValue)
    expect(await names('?status=Revoked')).toEqual(['Beta'])
    expect(await names('?status=Active&sortBy=name')).toEqual(['alpha', expect.stringMatching(/^key /)])
    expect(await names('?search=BET')).toEqual(['Beta'])
    expect(await names('?search=alpha&status=Revoked')).toEqual([])
    expect(await names('?sortBy=createdAt&sortOrder=desc&limit=1')).toEqual(['alpha'])
    const fields = [
      'apiKeyId',
      'spaceId',
      'expiryDate',
      'apiKeyArn',
      'status',
      'revokedAt',
      'lastUsedAt',
      'updatedAt',
    ]
    for (const field of fields) {
      expect(await names(`?sortBy=${field}`)).toHaveLength(3)
    }
    const revoked = (await list('?status=Revoked')).data[0]
    expect(revoked).toMatchObject({ status: 'Revoked', revokedAt: expect.stringMatching(/Z$/) })
    const counted = await platform.call('GET', `/portal/v1/spaces/${spaceId}`, { token: ownerToken })
    expect(counted.body.apiKeysCount).toBe(2)
  })

  test.each(['status=Expired', 'sortBy=key_hash', 'limit=0'])('refuses ?%s', async (query) => {
    const { status } = await platform.call('GET', `${keysOf(cast.home.spaceId)}?${query}`, {
      token: cast.tokens.owner,
    })
    expect(status).toBe(400)
  })

  test('says when a key was last used, without a write per request', async () => {
    const { body } = await create({ name: 'busy' })
    await Promise.all(Array.from({ length: 20 }, () => useKey(body.apiKeyValue)))
    const usedAt = async () => {
      const answer = await platform.call('GET', `${keysOf(cast.home.spaceId)}?search=busy`, {
        token: cast.tokens.owner,
      })
      return answer.body.data[0].lastUsedAt as string | undefined
    }
    await expect.poll(usedAt, { timeout: 4000 }).toMatch(/Z$/)
    expect(Math.abs(Date.parse((await usedAt()) ?? '') - Date.now())).toBeLessThan(5000)
  })
})

describe('DELETE …/apikeys/{apiKeyId}', () => {
  test('revokes at once, and again is fine', async () => {
    const { body } = await create({ name: 'leaked' })
    expect((await useKey(body.apiKeyValue)).status).toBe(200)
    expect((await revoke(body.apiKeyId)).status).toBe(204)
    const refused = await useKey(body.apiKeyValue)
    expect(refused.status).toBe(401)
    expect(refused.body.error.message).toContain('revoked')
    const before = await platform.pool.query('SELECT revoked_at FROM portal.api_keys WHERE key_id = $1', [
      body.apiKeyId,
    ])
    expect((await revoke(body.apiKeyId)).status).toBe(204)
    const after = await platform.pool.query('SELECT revoked_at FROM portal.api_keys WHERE key_id = $1', [
      body.apiKeyId,
    ])
    expect(after.rows).toEqual(before.rows)
  })

  test('404 for a key of another space; it stays valid', async () => {
    expect((await revoke(cast.other.apiKeyId)).status).toBe(404)
    expect((await revoke(UNKNOWN_ID)).status).toBe(404)
    const { status } = await platform.call('GET', `/portal/v1/spaces/${cast.other.spaceId}`, {
      token: cast.other.apiKey,
    })
    expect(status).toBe(200)
  })

  test('If-Match', async () => {
    const created = await create({ name: 'etag' })
    expect((await revoke(created.body.apiKeyId, { headers: { 'if-match': '"99"' } })).status).toBe(412)
    const headers = { 'if-match': created.headers.get('etag') ?? '' }
    expect((await revoke(created.body.apiKeyId, { headers })).status).toBe(204)
  })
})

test('an unknown key is not told apart from nonsense', async () => {
  const answers = await Promise.all([useKey(UNKNOWN_ID), useKey('nonsense'), useKey('a.b')])
  for (const answer of answers) {
    expect(answer.status).toBe(401)
    expect(answer.body).toEqual({ error: { code: 401, message: 'The API key is not valid' } })
  }
})
