import { sql } from '@atrium/kernel/db'

type Given<T> = { [K in keyof T]?: Exclude<T[K], undefined> }

/** Leaves out what is undefined: fields that a PATCH does not name. */
export const given = <T extends object>(fields: T): Given<T> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Given<T>

export const nextVersion = () => ({ version: sql<number>`version + 1` })
export const touched = () => ({ ...nextVersion(), updated_at: sql<Date>`now()` })
