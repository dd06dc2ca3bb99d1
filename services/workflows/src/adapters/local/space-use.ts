import type { Logger } from '@atrium/kernel/log'
import { giveUpOldestKept, runsAnything } from '../../queries/kept-folders.ts'
import type { WorkflowsDb } from '../../queries/tables.ts'
import type { Folders } from './folders.ts'
import type { TaskLimits } from './limits.ts'
import { type Size, sizeOf } from './measure.ts'

/** Measuring takes no more than one part in so many of the time. */
const REST = 20
/** Folders that are given up in one step. */
const AT_ONCE = 50

interface Deps {
  readonly db: WorkflowsDb
  readonly folders: Folders
  readonly limits: TaskLimits
  readonly log: Logger
}

/**
 * What the files of each space take of the disk: folders of runs that go on and of those that failed, and the cache. A
 * space with more than its budget loses the oldest folders of failed runs, then its cache, then the right to new runs.
 */
export class SpaceUse {
  readonly #deps: Deps
  /** As last measured; of spaces that have files. */
  readonly #uses = new Map<string, Size>()
  /** Spaces to be measured, in the order in which they are. */
  readonly #changed = new Set<string>()
  #hasBegun = false
  #next = 0

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** Files of the space may have become more, or less. */
  touch(spaceId: string): void {
    this.#changed.add(spaceId)
  }

  /** Measures spaces that have changed, and brings those down that are over their budget. */
  async sweep(): Promise<void> {
    if (Date.now() < this.#next) return
    const began = Date.now()
    await this.catchUp()
    this.#next = Date.now() + REST * (Date.now() - began)
  }

  /** The same at once: whoever asks what spaces take now needs those that have changed, too; a part, where they are many. */
  async catchUp(): Promise<void> {
    if (!this.#hasBegun) {
      for await (const spaceId of this.#deps.folders.spaces()) this.touch(spaceId)
      this.#hasBegun = true
    }
    for (const spaceId of [...this.#changed].slice(0, AT_ONCE)) {
      this.#changed.delete(spaceId)
      await this.#bringDown(spaceId)
    }
  }

  /** MiB of each space, as last measured. */
  known(): Map<string, number> {
    return new Map([...this.#uses].map(([spaceId, { mb }]) => [spaceId, mb]))
  }

  async measure(spaceId: string): Promise<Size> {
    const size = await sizeOf([this.#deps.folders.ofSpace(spaceId)])
    if (size.files > 0 || size.mb > 0) this.#uses.set(spaceId, size)
    else this.#uses.delete(spaceId)
    return size
  }

  /** @returns why the space may begin no run, in words; undefined when it may */
  refusal(spaceId: string): string | undefined {
    const use = this.#uses.get(spaceId)
    if (use === undefined || !this.#isOver(use)) return undefined
    const { spaceMb, spaceFiles } = this.#deps.limits
    const [has, may] =
      use.mb > spaceMb
        ? [`${Math.ceil(use.mb)} MiB`, `${spaceMb} MiB`]
        : [`${use.files} files`, `${spaceFiles} files`]
    return `The runs of this space take ${has} of the disk, of ${may} that they may: no further one begins until some have ended`
  }

  /** Gives up the oldest folder of a failed run of the space, else its cache where nothing runs. @returns what it took */
  async giveUpOldest(spaceId: string): Promise<Size | undefined> {
    const { db, folders, log } = this.#deps
    const runId = await giveUpOldestKept(db, { spaceId, folder: folders.id })
    if (runId !== undefined) {
      const size = await sizeOf([folders.ofRun({ spaceId, runId })])
      log.info(
        { space: spaceId, run: runId, mb: Math.round(size.mb) },
        'the folder of a failed run goes early',
      )
      await folders.removeRun({ spaceId, runId })
      return size
    }
    if (await runsAnything(db, { spaceId, folder: folders.id })) return undefined
    const size = await sizeOf([folders.cacheOf(spaceId)])
    if (size.files <= 1) return undefined
    log.info({ space: spaceId, mb: Math.round(size.mb) }, 'the cache of a space goes')
    await folders.removeCache(spaceId)
    return size
  }

  async #bringDown(spaceId: string): Promise<void> {
    let use = await this.measure(spaceId)
    for (let given = 0; this.#isOver(use); given++) {
      if (given === AT_ONCE) return this.touch(spaceId)
      const gone = await this.giveUpOldest(spaceId)
      if (gone === undefined) return
      use = { mb: use.mb - gone.mb, files: use.files - gone.files }
      this.#uses.set(spaceId, use)
    }
  }

  #isOver({ mb, files }: Size): boolean {
    return mb > this.#deps.limits.spaceMb || files > this.#deps.limits.spaceFiles
  }
}
