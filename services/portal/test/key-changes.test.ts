import { setTimeout as delay } from 'node:timers/promises'
import { sharedTestPlatform, type TestPlatform } from '@atrium/testing'
import { beforeAll, describe, expect, test } from 'vitest'
import { type Cast, createCast, UNKNOWN_ID } from './cast.ts'

let platform: TestPlatform
let cast: Cast
beforeAll(async () => {
  platform = await sharedTestPlatform()
  cast = await createCast(platform)
})

interface Key {
  apiKeyId: string
  apiKeyValue: string
}

const path = (keyId: string) => `/portal/v1/spaces/${cast.home.spaceId}/apikeys/${keyId}`
async function create(more: object = {}): Promise<Key> {
  const { body } = await platform.call('POST', `/portal/v1/spaces/${cast.home.spaceId}/apikeys`, {
    token: cast.tokens.superuser,
    body: { name: 'k', ...more },
  })
  return body
}
type Options = { token?: string; headers?: Record<string, string> }
const rotate = (keyId: string, body?: unknown, options: Options = {}) =>
  platform.call('POST', `${path(keyId)}:rotate`, { token: cast.tokens.owner, body, ...options })
const patch = (keyId: string, body: unknown, options: Options = {}) =>
  platform.call('PATCH', path(keyId), { token: cast.tokens.owner, body, ...options })
const revoke = (keyId: string) => platform.call('DELETE', path(keyId), { token: cast.tokens.owner })
const useKey = async (token: string) =>
  (await platform.call('GET', `/portal/v1/spaces/${cast.home.spaceId}`, { token })).status

describe('POST …/apikeys/{apiKeyId}:rotate', () => {
  test('gives a new value; the old one works for the overlap, both as the same key', async () => {
    const key = await create()
    const answer = await rotate(key.apiKeyId, { overlapSeconds: 1 })
    expect(answer.status).toBe(200)
    expect(answer.body).toMatchObject({ apiKeyId: key.apiKeyId, status: 'Active', name: 'k' })
    expect(answer.body.apiKeyValue).not.toBe(key.apiKeyValue)
    expect(answer.body.apiKeyArn).toContain(answer.body.apiKeyValue.slice(-4))
    expect(await useKey(key.apiKeyValue)).toBe(200)
    expect(await useKey(answer.body.apiKeyValue)).toBe(200)
    await delay(Date.parse(answer.body.formerValidUntil) - Date.now() + 20)
    expect(await useKey(key.apiKeyValue)).toBe(401)
    expect(await useKey(answer.body.apiKeyValue)).toBe(200)
    const stored = await platform.pool.query('SELECT * FROM portal.former_key_values')
    expect(JSON.stringify(stored.rows)).not.toContain(key.apiKeyValue)
  })

  test('costs of either value go on under the same key', async () => {
    const { spaceId, apiKey, apiKeyId, ownerToken } = await platform.space()
    const { body } = await platform.call('POST', `/portal/v1/spaces/${spaceId}/apikeys/${apiKeyId}:rotate`, {
      token: ownerToken,
    })
    for (const token of [apiKey, body.apiKeyValue]) {
      const chat = { model: 'gpt-4o', messages: [{ role: 'user', content: 'Hi' }] }
      expect((await platform.call('POST', '/llm/v1/chat/completions', { token, body: chat })).status).toBe(
        200,
      )
    }
    const requests = async () => {
      const { rows } = await platform.pool.query(
        'SELECT key_id, usage_details FROM portal.cost_entries WHERE space_id = $1',
        [spaceId],
      )
      return rows.map((row) => [row.key_id, JSON.parse(row.usage_details).requests])
    }
    await expect.poll(requests, { timeout: 10_000 }).toEqual([[apiKeyId, 2]])
  })

  test('a day without a body; at once with 0; never beyond the key’s own end', async () => {
    const key = await create()
    const first = await rotate(key.apiKeyId)
    expect((Date.parse(first.body.formerValidUntil) - Date.now()) / 1000).toBeCloseTo(86_400, -1)
    const second = await rotate(key.apiKeyId, { overlapSeconds: 0 })
    // A leak: whatever came before ends too.
    for (const value of [key.apiKeyValue, first.body.apiKeyValue]) expect(await useKey(value)).toBe(401)
    expect(await useKey(second.body.apiKeyValue)).toBe(200)
    const expiryDate = new Date(Date.now() + 60_000).toISOString()
    const short = await create({ expiryDate })
    expect((await rotate(short.apiKeyId)).body.formerValidUntil).toBe(expiryDate)
  })

  test('revoking ends every value at once', async () => {
    const key = await create()
    const { body } = await rotate(key.apiKeyId)
    expect([await useKey(key.apiKeyValue), await useKey(body.apiKeyValue)]).toEqual([200, 200])
    expect((await revoke(key.apiKeyId)).status).toBe(204)
    expect([await useKey(key.apiKeyValue), await useKey(body.apiKeyValue)]).toEqual([401, 401])
  })

  test('400, 403, 404, 409, 412', async () => {
    const key = await create()
    for (const overlapSeconds of [-1, 2_592_001, 1.5, '5', null]) {
      expect((await rotate(key.apiKeyId, { overlapSeconds })).status).toBe(400)
    }
    expect((await rotate('not-a-uuid')).status).toBe(400)
    expect((await rotate(key.apiKeyId, {}, { token: cast.tokens.superuser })).status).toBe(403)
    expect((await rotate(UNKNOWN_ID)).status).toBe(404)
    expect((await rotate(cast.other.apiKeyId)).status).toBe(404)
    expect((await rotate(key.apiKeyId, {}, { headers: { 'if-match': '"99"' } })).status).toBe(412)
    await revoke(key.apiKeyId)
    expect((await rotate(key.apiKeyId)).status).toBe(409)
    const short = await create({ expiryDate: new Date(Date.now() + 300).toISOString() })
    await delay(320)
    expect((await rotate(short.apiKeyId)).status).toBe(409)
  })
})

describe('PATCH …/apikeys/{apiKeyId}', () => {
  test('changes what it names, and shows it', async () => {
    const key = await create()
    const expiryDate = new Date(Date.now() + 3_600_000).toISOString()
    const answer = await patch(key.apiKeyId, { name: 'new name', expiryDate, monthlyBudget: 12.345678 })
    expect(answer.status).toBe(200)
    expect(answer.headers.get('etag')).toBe('"2"')
    expect(answer.body).toMatchObject({ name: 'new name', expiryDate, monthlyBudget: 12.345678 })
    expect(answer.body).not.toHaveProperty('requestsPerMinute')
    expect(answer.body).not.toHaveProperty('apiKeyValue')
    const listed = await platform.call(
      'GET',
      `/portal/v1/spaces/${cast.home.spaceId}/apikeys?search=new+name&sortBy=monthlyBudget`,
      { token: cast.tokens.owner },
    )
    expect(listed.body.data).toEqual([answer.body])
    const without = await patch(key.apiKeyId, { monthlyBudget: null }, { token: cast.tokens.superuser })
    expect(without.body).not.toHaveProperty('monthlyBudget')
  })

  test('an earlier expiry holds at once, and a superuser alone brings an expired key back', async () => {
    const key = await create()
    expect(await useKey(key.apiKeyValue)).toBe(200)
    const soon = Date.now() + 150
    await patch(key.apiKeyId, { expiryDate: new Date(soon).toISOString() })
    await delay(soon - Date.now() + 20)
    expect(await useKey(key.apiKeyValue)).toBe(401)
    const later = { expiryDate: new Date(Date.now() + 60_000).toISOString() }
    const refused = await patch(key.apiKeyId, later)
    expect([refused.status, refused.body.error.message]).toEqual([403, expect.stringContaining('expiryDate')])
    expect((await rotate(key.apiKeyId, { overlapSeconds: 60 })).status).toBe(409)
    expect(await useKey(key.apiKeyValue)).toBe(401)
    const revived = await patch(key.apiKeyId, later, { token: cast.tokens.superuser })
    expect([revived.status, revived.body.status]).toEqual([200, 'Active'])
    expect(await useKey(key.apiKeyValue)).toBe(200)
  })

  test('owners may bring the expiry down, and only superusers extend it', async () => {
    const key = await create()
    const dayAfter = (days: number) => ({
      expiryDate: new Date(Date.now() + days * 86_400_000).toISOString(),
    })
    const week = dayAfter(7)
    expect((await patch(key.apiKeyId, week)).status).toBe(200)
    expect((await patch(key.apiKeyId, { ...week, name: 'as it was' })).status).toBe(200)
    expect((await patch(key.apiKeyId, dayAfter(8))).status).toBe(403)
    expect((await patch(key.apiKeyId, dayAfter(8), { token: cast.tokens.ownerClient })).status).toBe(403)
    expect((await patch(key.apiKeyId, dayAfter(8), { token: cast.tokens.superuserClient })).status).toBe(200)
    // Rotation, whatever its overlap, ends with the key.
    expect((await rotate(key.apiKeyId, { overlapSeconds: 2_592_000 })).body.formerValidUntil).toBe(
      (await patch(key.apiKeyId, {})).body.expiryDate,
    )
    const beyond = { expiryDate: '9999-12-31T23:59:59-23:59' }
    expect((await patch(key.apiKeyId, beyond, { token: cast.tokens.superuser })).status).toBe(400)
  })

  test('an expired key is counted and listed with those that are over', async () => {
    const { spaceId, apiKeyId, ownerToken } = await platform.space()
    const read = async (path: string) =>
      (await platform.call('GET', `/portal/v1/spaces/${spaceId}${path}`, { token: ownerToken })).body
    const ids = async (query: string) =>
      (await read(`/apikeys?${query}`)).data.map((key: { apiKeyId: string }) => key.apiKeyId)
    const second = await platform.call('POST', `/portal/v1/spaces/${spaceId}/apikeys`, {
      token: cast.tokens.superuser,
      body: { name: 'second' },
    })
    expect([(await read('')).apiKeysCount, await ids('status=Revoked')]).toEqual([2, []])
    await platform.pool.query('UPDATE portal.api_keys SET expires_at = now() WHERE key_id = $1', [apiKeyId])
    const [key] = (await read('/apikeys?status=Revoked')).data
    expect(key).toMatchObject({ apiKeyId, status: 'Revoked' })
    expect(key).not.toHaveProperty('revokedAt')
    expect(await ids('status=Active')).toEqual([second.body.apiKeyId])
    expect(await ids('sortBy=status')).toEqual([second.body.apiKeyId, apiKeyId])
    expect(await ids('sortBy=status&sortOrder=desc&limit=1')).toEqual([apiKeyId])
    expect((await read('')).apiKeysCount).toBe(1)
  })

  test('owners may lower a budget, and only superusers raise or remove it', async () => {
    const key = await create()
    const superuser = { token: cast.tokens.superuser }
    expect((await patch(key.apiKeyId, { monthlyBudget: 10 })).status).toBe(200)
    expect((await patch(key.apiKeyId, { monthlyBudget: 9.5 })).status).toBe(200)
    for (const monthlyBudget of [9.500001, 10, 100, null]) {
      const refused = await patch(key.apiKeyId, { monthlyBudget })
      expect([refused.status, refused.body.error.message]).toEqual([
        403,
        expect.stringContaining('monthlyBudget'),
      ])
      expect((await patch(key.apiKeyId, { monthlyBudget }, superuser)).status).toBe(200)
      expect((await patch(key.apiKeyId, { monthlyBudget: 9.5 })).status).toBe(200)
    }
  })

  test('owners may lower the rate, and only superusers raise or remove it', async () => {
    const key = await create()
    const superuser = { token: cast.tokens.superuser }
    expect((await patch(key.apiKeyId, { requestsPerMinute: null })).status).toBe(200)
    expect((await patch(key.apiKeyId, { requestsPerMinute: 10 })).status).toBe(403)
    expect((await patch(key.apiKeyId, { requestsPerMinute: 10 }, superuser)).status).toBe(200)
    expect((await patch(key.apiKeyId, { requestsPerMinute: 10 })).status).toBe(200)
    expect((await patch(key.apiKeyId, { requestsPerMinute: 5 })).status).toBe(200)
    expect((await patch(key.apiKeyId, { requestsPerMinute: 6 })).status).toBe(403)
    expect((await patch(key.apiKeyId, { requestsPerMinute: null })).status).toBe(403)
    expect((await patch(key.apiKeyId, { requestsPerMinute: null }, superuser)).status).toBe(200)
  })

  test.each([
    [{ name: '' }, 'body.name'],
    [{ expiryDate: '2020-01-01T00:00:00Z' }, 'body.expiryDate'],
    [{ requestsPerMinute: 0 }, 'body.requestsPerMinute'],
    [{ requestsPerMinute: 1.5 }, 'body.requestsPerMinute'],
    [{ monthlyBudget: -1 }, 'body.monthlyBudget'],
    [{ monthlyBudget: 0.1234567 }, 'body.monthlyBudget'],
    [{ monthlyBudget: 1_000_000_000 }, 'body.monthlyBudget'],
  ])('refuses %j', async (body, field) => {
    const answer = await patch(cast.home.apiKeyId, body)
    expect(answer.status).toBe(400)
    expect(answer.body.error.message).toContain(field)
  })

  test('404, 409, 412', async () => {
    const key = await create()
    expect((await patch(UNKNOWN_ID, {})).status).toBe(404)
    expect((await patch(cast.other.apiKeyId, { name: 'mine' })).status).toBe(404)
    expect((await patch(key.apiKeyId, {}, { headers: { 'if-match': '"7"' } })).status).toBe(412)
    await revoke(key.apiKeyId)
    expect((await patch(key.apiKeyId, { name: 'x' })).status).toBe(409)
  })
})
