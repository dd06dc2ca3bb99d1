import { invalidInput } from '@atrium/kernel/errors'
import { Cron } from 'croner'
import { demandTimeZone, firstInstantOf, wallTimeAt } from './time-zone.ts'

/** When a schedule trigger fires: five fields of cron, and the zone whose clock they mean. */
export interface Schedule {
  readonly cron: string
  readonly timezone: string
}

/** Names that may stand for numbers. */
const MONTHS = 'jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec'
const WEEKDAYS = 'sun|mon|tue|wed|thu|fri|sat'

interface Field {
  readonly name: string
  readonly least: number
  readonly most: number
  readonly names?: string
}

const FIELDS: readonly Field[] = [
  { name: 'minute', least: 0, most: 59 },
  { name: 'hour', least: 0, most: 23 },
  { name: 'day of the month', least: 1, most: 31 },
  { name: 'month', least: 1, most: 12, names: MONTHS },
  { name: 'weekday', least: 0, most: 7, names: WEEKDAYS },
]

const LONGEST_CRON = 200

/** What one item of a field's list may look like: `*`, a value, a range, and steps of the first and the last. */
function itemOf({ names }: Field): RegExp {
  const value = `(?:\\d{1,2}${names === undefined ? '' : `|${names}`})`
  return new RegExp(`^(?:\\*|${value}-${value})(?:/\\d{1,2})?$|^${value}$`, 'i')
}

function faultOf(text: string, field: Field): string | undefined {
  for (const item of text.split(',')) {
    const shown = `${field.name} ${JSON.stringify(text)}`
    if (!itemOf(field).test(item)) {
      return `has the ${shown}, which is no list of values, ranges (a-b) and steps (*/n, a-b/n)`
    }
    const [range = '', step] = item.split('/')
    const isOutside = (value: string) =>
      /^\d+$/.test(value) && (Number(value) < field.least || Number(value) > field.most)
    if (range.split('-').some(isOutside)) {
      return `has the ${shown}, which goes from ${field.least} to ${field.most}`
    }
    if (step !== undefined && (Number(step) < 1 || Number(step) > field.most)) {
      return `has the ${shown}, whose step must be from 1 to ${field.most}`
    }
  }
  return undefined
}

// In wall time every day has 24 hours: what daylight saving does to a tick is decided here, the same for all engines.
const cronOf = (cron: string): Cron => new Cron(cron, { mode: '5-part', timezone: 'UTC', paused: true })

/** @throws AppError 400 that says what is wrong with the cron expression or the zone; also where it can never fire */
export function demandSchedule({ cron, timezone }: Schedule, now: Date): void {
  const field = 'body.config.schedule'
  demandTimeZone('body.config.timezone', timezone)
  if (cron.length > LONGEST_CRON) throw invalidInput(field, `is longer than ${LONGEST_CRON} characters`)
  const parts = cron.trim().split(/[ \t]+/)
  if (parts.length !== FIELDS.length) {
    throw invalidInput(field, 'must have five fields: minute, hour, day of the month, month, weekday')
  }
  const fault = FIELDS.map((known, index) => faultOf(parts[index] ?? '', known)).find(
    (one) => one !== undefined,
  )
  if (fault !== undefined) throw invalidInput(field, fault)
  let next: Date | undefined
  try {
    next = nextTick({ cron, timezone }, now)
  } catch (error) {
    const reason = (error as Error).message.replace(/^CronPattern: /, '')
    throw invalidInput(field, `is not understood: ${reason}`)
  }
  if (next === undefined) throw invalidInput(field, 'names no day that any year has')
}

/** A zone that leaps over a day leaves out so many minutes; no schedule has more ticks without an instant in a row. */
const MOST_LEAPT_OVER = 2000

/**
 * The first tick after an instant. A time that the clock leaps over has no tick; of one that it shows twice, the first
 * counts. Days of the month and weekdays that are both restricted count if either holds, as in cron.
 * @returns undefined when there is none for years
 */
export function nextTick({ cron, timezone }: Schedule, after: Date): Date | undefined {
  const times = cronOf(cron)
  let wall = new Date(wallTimeAt(after.getTime(), timezone))
  for (let tries = 0; tries < MOST_LEAPT_OVER; tries++) {
    const next = times.nextRun(wall)
    if (next === null) return undefined
    const instant = firstInstantOf(next.getTime(), timezone)
    if (instant !== undefined && instant > after.getTime()) return new Date(instant)
    wall = next
  }
  return undefined
}

/**
 * What is to be done at a moment about a schedule whose next tick was due at `dueAt`. Ticks that nobody took, because
 * every process was down, are made up for by one run, those older than `graceMs` by none.
 */
export function dueTick(
  schedule: Schedule,
  dueAt: Date,
  now: Date,
  graceMs: number,
): { readonly fires: boolean; readonly next: Date | undefined } {
  const oldest = new Date(now.getTime() - graceMs)
  const tick = dueAt >= oldest ? dueAt : nextTick(schedule, new Date(oldest.getTime() - 1))
  return { fires: tick !== undefined && tick <= now, next: nextTick(schedule, now) }
}
