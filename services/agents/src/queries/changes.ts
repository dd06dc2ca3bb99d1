import { sql } from '@atrium/kernel/db'

export const nextVersion = () => ({ version: sql<number>`version + 1` })
export const touched = () => ({ ...nextVersion(), updated_at: sql<Date>`now()` })
