import { invalidInput } from '@atrium/kernel/errors'

/** A time of the clock on the wall, as the milliseconds that UTC would show the same time at. */
export type WallTime = number

const DAY_MS = 86_400_000
/** Formatters are slow to make; there are fewer than 600 names of zones, in any case of letters. */
const MOST_FORMATTERS = 600
const formatters = new Map<string, Intl.DateTimeFormat>()

function formatterOf(zone: string): Intl.DateTimeFormat {
  const known = formatters.get(zone)
  if (known !== undefined) return known
  const made = new Intl.DateTimeFormat('en-u-ca-iso8601-hc-h23', {
    timeZone: zone,
    era: 'short',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  })
  if (formatters.size >= MOST_FORMATTERS) formatters.clear()
  formatters.set(zone, made)
  return made
}

/** @throws AppError 400 when there is no such zone; offsets such as `+01:00` are none, they know no daylight saving */
export function demandTimeZone(field: string, zone: string): void {
  try {
    if (/^[A-Za-z]/.test(zone)) {
      formatterOf(zone)
      return
    }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
  }
  throw invalidInput(field, 'must be the name of a time zone, such as Europe/Berlin')
}

/** What the clock on the wall shows at an instant, to the second. */
export function wallTimeAt(instant: number, zone: string): WallTime {
  const parts: Partial<Record<Intl.DateTimeFormatPartTypes, number>> = {}
  for (const { type, value } of formatterOf(zone).formatToParts(instant)) parts[type] = Number(value)
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts
  return Date.UTC(year, month - 1, day, hour, minute, second)
}

const offsetAt = (instant: number, zone: string): number =>
  wallTimeAt(instant, zone) - Math.floor(instant / 1000) * 1000

/** When the clock first shows a time; undefined when it leaps over it, for daylight saving or a new meridian. */
export function firstInstantOf(wall: WallTime, zone: string): number | undefined {
  const offsets = [offsetAt(wall - DAY_MS, zone), offsetAt(wall + DAY_MS, zone)]
  const instants = offsets.map((offset) => wall - offset).filter((at) => wallTimeAt(at, zone) === wall)
  return instants.length === 0 ? undefined : Math.min(...instants)
}
