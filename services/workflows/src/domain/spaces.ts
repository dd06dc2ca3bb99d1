import type { SpaceDirectory } from '../ports.ts'
import { deleteSpaceRows, selectSpacesWithData } from '../queries/spaces.ts'
import type { WorkflowsDb } from '../queries/tables.ts'

export interface RemovalDeps {
  readonly db: WorkflowsDb
  readonly spaces: SpaceDirectory
}

/** Removes all rows of spaces which are gone. It asks what is here, so it goes on wherever an earlier run was broken off. */
export async function removeGoneSpaces({ db, spaces }: RemovalDeps, signal: AbortSignal): Promise<void> {
  for (const spaceId of await spaces.goneAmong(await selectSpacesWithData(db))) {
    if (signal.aborted) return
    await deleteSpaceRows(db, spaceId)
  }
}
