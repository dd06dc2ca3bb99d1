import type { TaskLimits } from '../limits.ts'

/** What a program is to run in. Paths are absolute and without symbolic links. */
export interface Cell {
  readonly command: string
  readonly args: readonly string[]
  readonly cwd: string
  /** Reaches the program, and nothing that runs before it has lost all rights. */
  readonly env: Readonly<Record<string, string>>
  /** Standard error goes where standard output goes, so that what it says keeps its order. */
  readonly merges: boolean
  /** The user it runs as, where the platform may choose. */
  readonly uid: number
  /** Folders that it may write to. */
  readonly writable: readonly string[]
  /** Folders that it may read although they lie in hidden ones. */
  readonly readable?: readonly string[]
  readonly limits: TaskLimits
}

/** How a cell is started: what `spawn` gets. */
export interface Launch {
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string
  /** Removes what the launch needed. */
  close(): void
}

export type Mode = 'own namespaces' | 'user namespaces' | 'own user' | 'process group'

/** How programs of tasks are kept from the rest of this machine. */
export interface Confinement {
  readonly mode: Mode
  /** What holds and what does not, for the operator: one sentence each. */
  readonly about: { readonly enforced: readonly string[]; readonly open: readonly string[] }
  /** Whether the end of the first process is the end of all that it started. */
  readonly endsTogether: boolean
  uidOf(spaceId: string): number | undefined
  launch(cell: Cell): Promise<Launch>
}
