import type { SpaceDirectory } from '../ports.ts'
import { deleteSpaceRows, selectSpacesWithData } from '../queries/spaces.ts'
import type { AgentsDb } from '../queries/tables.ts'
import type { Upkeep } from './upkeep.ts'

export interface RemovalDeps {
  readonly db: AgentsDb
  readonly upkeep: Upkeep
  readonly spaces: SpaceDirectory
}

/**
 * Removes all that is kept of spaces which are gone, embeddings too. It asks what is here and whose it is, so it goes on
 * wherever an earlier run was broken off.
 */
export async function removeGoneSpaces(
  { db, upkeep, spaces }: RemovalDeps,
  signal: AbortSignal,
): Promise<void> {
  const gone = await spaces.goneAmong(await selectSpacesWithData(db))
  if (gone.length === 0) return
  for (const spaceId of gone) {
    if (signal.aborted) return
    await deleteSpaceRows(db, spaceId)
  }
  await upkeep.sweep()
}
