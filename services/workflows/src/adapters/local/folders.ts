import { randomUUID } from 'node:crypto'
import { chownSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { lstat, mkdir, opendir, readFile, realpath, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { isUuid } from '@atrium/kernel/ids'
import type { RunRef } from '../../ports.ts'
import { removeTree } from './remove-tree.ts'

/** Folders of one task that runs. */
export interface TaskFolders {
  /** Of the whole run. */
  readonly workspace: string
  /** Of the space. */
  readonly cache: string
  /** Of this task alone, gone when it has ended: temporary files, home, and what follows. */
  readonly own: string
  readonly temporary: string
  readonly home: string
  readonly artifacts: string
  readonly metrics: string
}

/**
 * The local engine's files. What a task may write to belongs to the user that it runs as, and every folder above to
 * the platform, so that no link of a task leads the platform elsewhere.
 */
export class Folders {
  readonly root: string
  /** Tells folders apart: processes that share one share its runs. */
  readonly id: string

  private constructor(root: string, id: string) {
    this.root = root
    this.id = id
  }

  static async open(folder: string): Promise<Folders> {
    await mkdir(path.join(folder, 'sandbox'), { recursive: true, mode: 0o700 })
    await mkdir(path.join(folder, 'locks'), { recursive: true, mode: 0o700 })
    await mkdir(path.join(folder, 'spaces'), { recursive: true })
    const root = await realpath(folder)
    const file = path.join(root, 'folder.id')
    await writeFile(file, `${randomUUID()}\n`, { flag: 'wx' }).catch(() => {})
    return new Folders(root, await readId(file))
  }

  get sandbox(): string {
    return path.join(this.root, 'sandbox')
  }

  get locks(): string {
    return path.join(this.root, 'locks')
  }

  ofSpace(spaceId: string): string {
    return path.join(this.root, 'spaces', spaceId)
  }

  cacheOf(spaceId: string): string {
    return path.join(this.ofSpace(spaceId), 'cache')
  }

  ofRun({ spaceId, runId }: Pick<RunRef, 'spaceId' | 'runId'>): string {
    return path.join(this.ofSpace(spaceId), 'runs', runId)
  }

  /** Makes what a task finds when it starts; what an earlier start left of its own goes. */
  async prepare(ref: RunRef, position: number, uid: number | undefined): Promise<TaskFolders> {
    const run = this.ofRun(ref)
    const own = path.join(run, 'tasks', String(position))
    const folders: TaskFolders = {
      workspace: path.join(run, 'workspace'),
      cache: this.cacheOf(ref.spaceId),
      own,
      temporary: path.join(own, 'tmp'),
      home: path.join(own, 'home'),
      artifacts: path.join(own, 'artifacts'),
      metrics: path.join(own, 'metrics.jsonl'),
    }
    const { workspace, cache, temporary, home, artifacts, metrics } = folders
    // A few calls that touch no data: synchronous, they take a tenth of the time.
    if (existsSync(own)) await removeTree(own)
    mkdirSync(own, { recursive: true })
    for (const folder of [workspace, cache, temporary, home, artifacts]) {
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      if (uid !== undefined) chownSync(folder, uid, uid)
    }
    writeFileSync(metrics, '', { flag: 'wx', mode: 0o600 })
    if (uid !== undefined) chownSync(metrics, uid, uid)
    return folders
  }

  /** Removes what is one task's own. */
  removeOwn = (folders: TaskFolders): Promise<void> => removeTree(folders.own)

  removeRun(ref: Pick<RunRef, 'spaceId' | 'runId'>): Promise<void> {
    return removeTree(this.ofRun(ref))
  }

  /** Spaces that have a folder. */
  spaces(): AsyncGenerator<string> {
    return namesIn(path.join(this.root, 'spaces'))
  }

  /** Runs that have a folder; reads no more of the disk than is asked for. */
  async *runs(): AsyncGenerator<Pick<RunRef, 'spaceId' | 'runId'>> {
    for await (const spaceId of this.spaces()) {
      for await (const runId of namesIn(path.join(this.ofSpace(spaceId), 'runs'))) yield { spaceId, runId }
    }
  }

  removeCache(spaceId: string): Promise<void> {
    return removeTree(this.cacheOf(spaceId))
  }

  /** Whether anything of the run began here and its folder was kept. */
  hasRun(ref: Pick<RunRef, 'spaceId' | 'runId'>): boolean {
    return existsSync(this.ofRun(ref))
  }

  removeSpace(spaceId: string): Promise<void> {
    return removeTree(this.ofSpace(spaceId))
  }
}

/** Names of entries that are ids; none where there is no such folder. */
async function* namesIn(folder: string): AsyncGenerator<string> {
  const entries = await opendir(folder).catch(() => undefined)
  if (entries === undefined) return
  for await (const { name } of entries) if (isUuid(name)) yield name
}

/** Another process may be writing it at this moment. */
async function readId(file: string): Promise<string> {
  for (let tries = 0; tries < 100; tries++) {
    const id = (await readFile(file, 'utf8')).trim()
    if (id !== '') return id
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error(`${file} is empty`)
}

/** Whether it is a folder itself, and no link to one. */
export const isRealFolder = async (folder: string): Promise<boolean> =>
  (await lstat(folder).catch(() => undefined))?.isDirectory() === true
