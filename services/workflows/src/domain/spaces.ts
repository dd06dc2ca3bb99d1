import type { SpaceDirectory } from '../ports.ts'
import { deleteSpaceRows, selectSpacesWithData } from '../queries/spaces.ts'
import type { WorkflowsDb } from '../queries/tables.ts'

export interface RemovalDeps {
  readonly db: WorkflowsDb
  readonly spaces: SpaceDirectory
  /** What the engine keeps of a space besides rows. */
  readonly engine: { removeSpace(spaceId: string): Promise<void> }
}

/** Removes all files and rows of spaces which are gone. It asks what is here, so it goes on wherever an earlier run was broken off. */
export async function removeGoneSpaces(
  { db, spaces, engine }: RemovalDeps,
  signal: AbortSignal,
): Promise<void> {
  for (const spaceId of await spaces.goneAmong(await selectSpacesWithData(db))) {
    if (signal.aborted) return
    // Rows go last: by them an unfinished removal is known.
    await engine.removeSpace(spaceId)
    await deleteSpaceRows(db, spaceId)
  }
}
