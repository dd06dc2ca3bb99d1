import { sql } from 'kysely'

/** Who acts, as `createdBy` and `modifiedBy` show it. */
export interface Actor {
  readonly qxId: string
  readonly name: string
}

export const createdBy = (actor: Actor) => ({
  created_by_id: actor.qxId,
  created_by_name: actor.name,
  modified_by_id: actor.qxId,
  modified_by_name: actor.name,
})

export const modifiedBy = (actor: Actor) => ({
  modified_at: sql<Date>`now()`,
  modified_by_id: actor.qxId,
  modified_by_name: actor.name,
  version: sql<number>`version + 1`,
})
