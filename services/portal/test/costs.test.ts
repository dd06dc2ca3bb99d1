import { sharedTestPlatform, type TestPlatform } from '@atrium/testing'
import { beforeAll, describe, expect, test } from 'vitest'
import { type Cast, createCast, UNKNOWN_ID } from './cast.ts'

let platform: TestPlatform
let cast: Cast
beforeAll(async () => {
  platform = await sharedTestPlatform()
  cast = await createCast(platform)
})

const entry = (more: object = {}) => ({
  day: '2026-01-15',
  service: 'compute',
  calculatedCost: 1.5,
  currency: 'USD',
  usageDetails: '{"hours":3}',
  description: 'three hours',
  ...more,
})
const record = (body: unknown, spaceId = cast.home.spaceId, token = cast.tokens.superuserClient) =>
  platform.call('POST', `/portal/v1/spaces/${spaceId}/costs`, { token, body })
const report = (query: string, spaceId = cast.home.spaceId, token = cast.tokens.superuser) =>
  platform.call('GET', `/portal/v1/spaces/${spaceId}/costs/report?${query}`, { token })
const rawReport = async (query: string, spaceId: string) => {
  const response = await fetch(`${platform.url}/portal/v1/spaces/${spaceId}/costs/report?${query}`, {
    headers: { authorization: `Bearer ${cast.tokens.superuser}` },
  })
  return response.text()
}
const freshSpace = async () => (await platform.space()).spaceId
const thisMonth = new Date().toISOString().slice(0, 7)

describe('POST …/costs', () => {
  test('records an entry', async () => {
    const answer = await record(entry({ entryId: 'mine', status: 'Paid' }))
    expect(answer.status).toBe(201)
    expect(answer.body).toEqual({
      entryId: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/),
      day: '2026-01-15',
      service: 'compute',
      calculatedCost: 1.5,
      currency: 'USD',
      status: 'Recorded',
    })
    const { rows } = await platform.pool.query('SELECT * FROM portal.cost_entries WHERE entry_id = $1', [
      answer.body.entryId,
    ])
    expect(rows).toMatchObject([
      {
        amount: '1.5',
        usage_details: '{"hours":3}',
        description: 'three hours',
        status: 'Recorded',
        created_by_id: platform.superuserClient.clientId,
      },
    ])
  })

  test('a client with any role in the space may, too', async () => {
    expect((await record(entry(), cast.home.spaceId, cast.tokens.memberClient)).status).toBe(201)
    expect((await record(entry(), cast.home.spaceId, cast.tokens.strangerClient)).status).toBe(403)
  })

  test('the wrong kind of credential: 403 for a user, 401 for a key and for none, before anything else', async () => {
    const user = await record('not json', UNKNOWN_ID, cast.tokens.superuser)
    expect(user.status).toBe(403)
    expect(user.body.error.message).toBe('Recording a cost needs an M2M token')
    expect((await record(entry(), cast.home.spaceId, cast.tokens.key)).status).toBe(401)
    expect(
      (await platform.call('POST', `/portal/v1/spaces/${cast.home.spaceId}/costs`, { body: entry() })).status,
    ).toBe(401)
    expect((await record(entry(), UNKNOWN_ID)).status).toBe(404)
  })

  test('keeps every digit that was written', async () => {
    const spaceId = await freshSpace()
    const exact = JSON.stringify(entry()).replace('1.5', '123456789012.123456789012')
    const response = await fetch(`${platform.url}/portal/v1/spaces/${spaceId}/costs`, {
      method: 'POST',
      headers: { authorization: `Bearer ${cast.tokens.superuserClient}`, 'content-type': 'application/json' },
      body: exact,
    })
    expect(await response.text()).toContain('"calculatedCost":123456789012.123456789012,')
    expect(await rawReport('month=2026-01', spaceId)).toContain('"overallCost":123456789012.123456789012,')
  })

  test.each([
    [{ calculatedCost: -1 }, 'body.calculatedCost'],
    [{ calculatedCost: -1e-12 }, 'body.calculatedCost'],
    [{ calculatedCost: '5' }, 'body.calculatedCost'],
    [{ calculatedCost: null }, 'body.calculatedCost'],
    [{ calculatedCost: undefined }, 'body.calculatedCost'],
    [{ calculatedCost: 1e12 }, 'body.calculatedCost'],
    [{ calculatedCost: 1e-13 }, 'body.calculatedCost'],
    [{ day: '2026-02-31' }, 'body.day'],
    [{ day: '2026-02-29' }, 'body.day'],
    [{ day: '2026-1-1' }, 'body.day'],
    [{ day: '0000-01-01' }, 'body.day'],
    [{ day: '1969-12-31' }, 'body.day must be a day, 1970-01-01 or later'],
    [{ day: '2026-01-15T00:00:00Z' }, 'body.day'],
    [{ day: undefined }, 'body.day'],
    [{ currency: 'usd' }, 'body.currency'],
    [{ currency: 'USDX' }, 'body.currency'],
    [{ currency: undefined }, 'body.currency'],
    [{ service: '' }, 'body.service'],
    [{ service: 'x'.repeat(129) }, 'body.service'],
    [{ service: 'a\0b' }, 'body.service'],
    [{ usageDetails: '{"open":' }, 'body.usageDetails'],
    [{ usageDetails: '' }, 'body.usageDetails'],
    [{ usageDetails: { hours: 3 } }, 'body.usageDetails'],
    [{ description: 5 }, 'body.description'],
  ])('refuses %j', async (wrong, field) => {
    const answer = await record(entry(wrong))
    expect(answer.status).toBe(400)
    expect(answer.body.error.message).toContain(field)
  })

  test.each([
    ['Infinity by exponent', JSON.stringify(entry()).replace('1.5', '1e400'), 400],
    ['too many digits', JSON.stringify(entry()).replace('1.5', '0.1234567890123'), 400],
    ['a tiny exponent', JSON.stringify(entry()).replace('1.5', '1e-999999999'), 400],
    ['NaN', JSON.stringify(entry()).replace('1.5', 'NaN'), 400],
    ['not JSON', '{', 400],
    ['depth 10,000', `${'['.repeat(10_000)}${']'.repeat(10_000)}`, 400],
    ['2 MiB', JSON.stringify(entry({ description: 'x'.repeat(2 * 1024 * 1024) })), 413],
  ])('refuses a body with %s', async (_name, body, expected) => {
    expect((await record(body)).status).toBe(expected)
  })

  test('leap days and nested details are fine', async () => {
    const deep = `${'['.repeat(5000)}${']'.repeat(5000)}`
    expect((await record(entry({ day: '2024-02-29', usageDetails: deep }))).status).toBe(201)
    expect(
      (await record(entry({ calculatedCost: 0, usageDetails: undefined, description: undefined }))).status,
    ).toBe(201)
  })
})

describe('GET …/costs/report', () => {
  test('sums without noise, services by name, days only when asked for', async () => {
    const spaceId = await freshSpace()
    for (const [day, service, calculatedCost] of [
      ['2026-01-02', 'storage', 0.1],
      ['2026-01-02', 'storage', 0.2],
      ['2026-01-01', 'storage', 10],
      ['2026-01-31', 'compute', 1e-12],
      ['2026-02-01', 'compute', 99],
      ['2025-12-31', 'compute', 99],
    ] as const) {
      await record(entry({ day, service, calculatedCost }), spaceId)
    }
    const answer = await report('month=2026-01', spaceId)
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({
      spaceId,
      month: '2026-01',
      currency: 'USD',
      services: [
        { service: 'compute', totalCost: 1e-12 },
        { service: 'storage', totalCost: 10.3 },
      ],
      totals: { overallCost: 10.300000000001, services: { compute: 1e-12, storage: 10.3 } },
      generatedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    })
    expect(await rawReport('month=2026-01', spaceId)).toContain('"overallCost":10.300000000001,')
    const detailed = (await report('month=2026-01&includeDetails=true', spaceId)).body
    expect(detailed.services[1]).toEqual({
      service: 'storage',
      totalCost: 10.3,
      billingPositions: [
        { day: '2026-01-01', calculatedCost: 10 },
        { day: '2026-01-02', calculatedCost: 0.3 },
      ],
    })
    const plain = (await report('month=2026-01&includeDetails=false', spaceId)).body
    expect(plain.services[0]).not.toHaveProperty('billingPositions')
  })

  test('the current month counts each entry at once, and exactly', async () => {
    const spaceId = await freshSpace()
    for (const calculatedCost of [0.1, 0.2, 0.3])
      await record(entry({ day: `${thisMonth}-01`, calculatedCost }), spaceId)
    const { body } = await report(`month=${thisMonth}&includeDetails=true`, spaceId)
    expect(body.totals.overallCost).toBe(0.6)
    expect(body.services[0].billingPositions).toEqual([{ day: `${thisMonth}-01`, calculatedCost: 0.6 }])
    const { rows } = await platform.pool.query(
      'SELECT amount, entries FROM portal.cost_daily_totals WHERE space_id = $1',
      [spaceId],
    )
    expect(rows).toEqual([{ amount: '0.6', entries: '3' }])
  })

  test('a late entry of a completed month counts at once', async () => {
    const spaceId = await freshSpace()
    await record(entry({ day: '2025-11-30', calculatedCost: 1 }), spaceId)
    expect((await report('month=2025-11', spaceId)).body.totals.overallCost).toBe(1)
    await record(entry({ day: '2025-11-30', calculatedCost: 0.25 }), spaceId)
    expect((await report('month=2025-11', spaceId)).body.totals.overallCost).toBe(1.25)
  })

  test('several currencies: the one with most entries first, and one report for each', async () => {
    const spaceId = await freshSpace()
    for (const currency of ['USD', 'EUR', 'EUR', 'CNY', 'USD'])
      await record(entry({ currency, calculatedCost: 2 }), spaceId)
    for (const month of ['2026-01']) {
      const { body } = await report(`month=${month}`, spaceId)
      expect(body.currency).toBe('EUR')
      expect(body.totals.overallCost).toBe(4)
      expect(body.reports.map((one: { currency: string }) => one.currency)).toEqual(['EUR', 'USD', 'CNY'])
      expect(body.reports[2]).toMatchObject({ spaceId, month, totals: { overallCost: 2 } })
    }
  })

  test('the last month that a date can name', async () => {
    const spaceId = await freshSpace()
    expect((await record(entry({ day: '9999-12-31' }), spaceId)).status).toBe(201)
    expect((await report('month=9999-12', spaceId)).body.totals.overallCost).toBe(1.5)
  })

  test('a month without entries', async () => {
    const { body } = await report('month=2020-02')
    expect(body).toMatchObject({ currency: 'USD', services: [], totals: { overallCost: 0, services: {} } })
    expect(body).not.toHaveProperty('reports')
  })

  test('costs of another space never show', async () => {
    const spaceId = await freshSpace()
    await record(entry({ service: 'secret' }), cast.other.spaceId)
    expect((await report('month=2026-01', spaceId)).body.services).toEqual([])
  })

  test('service names that are awkward keys', async () => {
    const spaceId = await freshSpace()
    for (const service of ['__proto__', 'constructor', 'a"b\\c']) await record(entry({ service }), spaceId)
    const text = await rawReport('month=2026-01', spaceId)
    expect(text).toContain('"__proto__":1.5')
    expect(JSON.parse(text).services).toHaveLength(3)
  })

  test.each([
    ...['', 'month=', 'month=2026-13', 'month=2026-00', 'month=2026-1', 'month=26-01', 'month=2026-01-01'],
    ...['month=january', 'month=0000-01', 'month=1969-12', 'month=2026-01&includeDetails=perhaps'],
  ])('refuses ?%s', async (query) => {
    const answer = await report(query)
    expect(answer.status).toBe(400)
    expect(answer.body.error.message).toMatch(/query\.(month|includeDetails)/)
  })

  test('user tokens only: 403 for a client, 401 for a key and for none', async () => {
    const client = await report('month=2026-01', cast.home.spaceId, cast.tokens.superuserClient)
    expect(client.status).toBe(403)
    expect(client.body.error.message).toBe('The cost report needs a user token')
    expect((await report('month=2026-01', cast.home.spaceId, cast.tokens.key)).status).toBe(401)
    expect(
      (await platform.call('GET', `/portal/v1/spaces/${cast.home.spaceId}/costs/report?month=2026-01`))
        .status,
    ).toBe(401)
    expect((await report('month=2026-01', cast.home.spaceId, cast.tokens.stranger)).status).toBe(403)
    expect((await report('month=2026-01', UNKNOWN_ID)).status).toBe(404)
  })
})
