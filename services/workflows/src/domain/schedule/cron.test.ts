import { AppError } from '@atrium/kernel/errors'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { demandSchedule, dueTick, nextTick } from './cron.ts'

const NOW = new Date('2026-01-01T00:00:00Z')

function ticks(cron: string, timezone: string, from: string, until: string): string[] {
  const found: string[] = []
  for (let at = new Date(from); ; ) {
    const next = nextTick({ cron, timezone }, at)
    if (next === undefined || next > new Date(until)) return found
    found.push(next.toISOString().slice(0, 16))
    at = next
  }
}

describe('daylight saving', () => {
  const LA = 'America/Los_Angeles'
  const BERLIN = 'Europe/Berlin'

  it('skips a time that does not exist that day, in Los Angeles', () => {
    expect(ticks('30 2 * * *', LA, '2026-03-07T00:00:00Z', '2026-03-10T00:00:00Z')).toEqual([
      '2026-03-07T10:30',
      '2026-03-09T09:30',
    ])
  })

  it('skips a time that does not exist that day, in Berlin', () => {
    expect(ticks('30 2 * * *', BERLIN, '2026-03-27T12:00:00Z', '2026-03-31T00:00:00Z')).toEqual([
      '2026-03-28T01:30',
      '2026-03-30T00:30',
    ])
    expect(ticks('0 3 * * *', BERLIN, '2026-03-28T12:00:00Z', '2026-03-30T00:00:00Z')).toEqual([
      '2026-03-29T01:00',
    ])
  })

  it('fires once at a time that exists twice, the first, in Los Angeles', () => {
    expect(ticks('59 1 * * *', LA, '2026-10-31T00:00:00Z', '2026-11-03T00:00:00Z')).toEqual([
      '2026-10-31T08:59',
      '2026-11-01T08:59',
      '2026-11-02T09:59',
    ])
  })

  it('fires once at a time that exists twice, the first, in Berlin', () => {
    expect(ticks('30 2 * * *', BERLIN, '2026-10-24T12:00:00Z', '2026-10-27T00:00:00Z')).toEqual([
      '2026-10-25T00:30',
      '2026-10-26T01:30',
    ])
  })

  it('goes on from the second of two equal times', () => {
    // 01:10 in winter time, an hour after 01:10 in summer time.
    expect(nextTick({ cron: '*/30 * * * *', timezone: LA }, new Date('2026-11-01T09:10:00Z'))).toEqual(
      new Date('2026-11-01T10:00:00Z'),
    )
  })

  it('counts every hour once in both nights', () => {
    expect(ticks('0 * * * *', BERLIN, '2026-03-28T23:30:00Z', '2026-03-29T03:00:00Z')).toEqual([
      '2026-03-29T00:00',
      '2026-03-29T01:00',
      '2026-03-29T02:00',
      '2026-03-29T03:00',
    ])
    expect(ticks('0 * * * *', BERLIN, '2026-10-24T22:30:00Z', '2026-10-25T03:00:00Z')).toEqual([
      '2026-10-24T23:00',
      '2026-10-25T00:00',
      '2026-10-25T02:00',
      '2026-10-25T03:00',
    ])
  })

  it('knows zones whose offset is no whole hour, and a day that Samoa left out', () => {
    expect(ticks('0 9 * * *', 'Asia/Kathmandu', '2026-01-01T00:00:00Z', '2026-01-01T23:00:00Z')).toEqual([
      '2026-01-01T03:15',
    ])
    expect(ticks('0 12 * * *', 'Pacific/Apia', '2011-12-29T00:00:00Z', '2011-12-31T12:00:00Z')).toEqual([
      '2011-12-29T22:00',
      '2011-12-30T22:00',
    ])
  })

  it('ticks at times of the wall that match, later than asked, whatever the zone and moment', () => {
    const zones = ['UTC', LA, BERLIN, 'Australia/Lord_Howe', 'America/St_Johns', 'Africa/Casablanca']
    const moments = fc.date({ min: new Date('2025-01-01'), max: new Date('2028-01-01'), noInvalidDate: true })
    const property = fc.property(fc.constantFrom(...zones), moments, (timezone, after) => {
      const next = nextTick({ cron: '17,43 2 * * *', timezone }, after)
      if (next === undefined) throw new Error('no tick')
      expect(next.getTime()).toBeGreaterThan(after.getTime())
      const clock = next.toLocaleTimeString('en-GB', {
        timeZone: timezone,
        hour: '2-digit',
        minute: '2-digit',
      })
      expect(['02:17', '02:43']).toContain(clock)
      expect(next.getTime() - after.getTime()).toBeLessThan(50 * 3_600_000)
    })
    fc.assert(property, { numRuns: 300 })
  })
})

describe('the five fields', () => {
  it.each([
    ['0 0 * * 7', '2026-01-04T00:00'],
    ['0 0 * * 0', '2026-01-04T00:00'],
    ['0 0 * * sun', '2026-01-04T00:00'],
    ['0 0 * * 6-7', '2026-01-03T00:00'],
    ['0 0 * * MON-FRI', '2026-01-02T00:00'],
    ['5,10-12 3 * * *', '2026-01-01T03:05'],
    ['1-59/20 * * * *', '2026-01-01T00:01'],
    ['*/45 * * * *', '2026-01-01T00:45'],
    ['0 12 1 feb,APR *', '2026-02-01T12:00'],
    ['0 0 29 2 *', '2028-02-29T00:00'],
    // Both days restricted: either holds.
    ['0 0 13 * 5', '2026-01-02T00:00'],
    [' 0  0 \t2 1 * ', '2026-01-02T00:00'],
  ])('%s', (cron, first) => {
    demandSchedule({ cron, timezone: 'UTC' }, NOW)
    expect(nextTick({ cron, timezone: 'UTC' }, NOW)?.toISOString().slice(0, 16)).toBe(first)
  })

  it.each([
    ['61 * * * *', 'minute'],
    ['* 24 * * *', 'hour'],
    ['* * 0 * *', 'day of the month'],
    ['* * 32 * *', 'day of the month'],
    ['* * * 13 *', 'month'],
    ['* * * * 8', 'weekday'],
    ['* * * * FOO', 'weekday'],
    ['* * * MON *', 'month'],
    ['*/0 * * * *', 'step'],
    ['*/60 * * * *', 'step'],
    ['5/15 * * * *', 'minute'],
    ['10-5 * * * *', 'larger'],
    ['1,, * * * *', 'minute'],
    ['-1 * * * *', 'minute'],
    ['1.5 * * * *', 'minute'],
    ['0 0 L * *', 'day of the month'],
    ['0 0 ? * *', 'day of the month'],
    ['0 0 * * 5#2', 'weekday'],
    ['0 0 +1 * 5', 'day of the month'],
    ['* * * *', 'five fields'],
    ['* * * * * *', 'five fields'],
    ['@daily', 'five fields'],
    ['', 'five fields'],
    ['2030-01-01T00:00:00', 'five fields'],
    ['0 0 31 2 *', 'no day'],
    ['0 0 30,31 2 *', 'no day'],
    [`${'1,'.repeat(100)}1 * * * *`, 'longer'],
    ['0 0 * * *\n; DROP', 'weekday'],
  ])('refuses %j, for the %s', (cron, word) => {
    expect(() => demandSchedule({ cron, timezone: 'UTC' }, NOW)).toThrow(
      expect.objectContaining({
        status: 400,
        field: 'body.config.schedule',
        message: expect.stringContaining(word),
      }),
    )
  })

  it.each(['Mars/Olympus', '', '+01:00', 'Europe/Berlin; --', '../etc'])(
    'refuses the zone %j',
    (timezone) => {
      expect(() => demandSchedule({ cron: '* * * * *', timezone }, NOW)).toThrow(AppError)
    },
  )
})

describe('missed ticks', () => {
  const everyMinute = { cron: '* * * * *', timezone: 'UTC' }
  const hourly = { cron: '0 * * * *', timezone: 'UTC' }
  const GRACE = 5 * 60_000
  const at = (time: string) => new Date(`2026-01-01T${time}Z`)

  it('fires what is due now', () => {
    expect(dueTick(hourly, at('10:00:00'), at('10:00:00.400'), GRACE)).toEqual({
      fires: true,
      next: at('11:00:00'),
    })
  })

  it('fires once for many ticks of the last five minutes', () => {
    expect(dueTick(everyMinute, at('08:00:00'), at('10:00:30'), GRACE)).toEqual({
      fires: true,
      next: at('10:01:00'),
    })
  })

  it('fires for a tick exactly five minutes ago, and not for an older one', () => {
    expect(dueTick(hourly, at('10:00:00'), at('10:05:00'), GRACE).fires).toBe(true)
    expect(dueTick(hourly, at('08:00:00'), at('10:05:00'), GRACE).fires).toBe(true)
    expect(dueTick(hourly, at('10:00:00'), at('10:05:00.001'), GRACE)).toEqual({
      fires: false,
      next: at('11:00:00'),
    })
  })
})
