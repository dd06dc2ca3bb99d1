import { execFile } from 'node:child_process'
import { readdir, readFile, stat } from 'node:fs/promises'
import { promisify } from 'node:util'

const AT_MOST_MS = 60_000
const MOST_OUTPUT = 16 * 2 ** 20
/** Threads whose open files are looked at. */
const MOST_THREADS = 5000
const run = promisify(execFile)

/** What files take of a disk. */
export interface Size {
  /** MiB. */
  readonly mb: number
  /** Files, folders and links. */
  readonly files: number
}

/** What a program printed, also one that failed at a part of its work or took too long. */
const outputOf = (command: string, args: readonly string[]): Promise<string> =>
  run(command, args, { timeout: AT_MOST_MS, maxBuffer: MOST_OUTPUT }).then(
    ({ stdout }) => stdout,
    (error: { stdout?: string }) => error.stdout ?? '',
  )

/** @returns what the folders take together; 0 where it cannot be told */
export async function sizeOf(folders: readonly string[]): Promise<Size> {
  const total = async (flags: readonly string[]): Promise<number> =>
    Number.parseInt(
      (await outputOf('du', [...flags, '--', ...folders])).trimEnd().split('\n').at(-1) ?? '',
      10,
    ) || 0
  const [kb, files] = await Promise.all([total(['-skxc']), total(['-sxc', '--inodes'])])
  return { mb: kb / 1024, files }
}

/**
 * What processes hold of a disk by files that have no name any more: they are open, or mapped.
 * @param pids with all their descendants
 * @param folder one of that disk
 */
export async function heldBy(pids: readonly number[], folder: string): Promise<Size> {
  const places = await placesOf(pids)
  if (places.length === 0) return { mb: 0, files: 0 }
  const disk = String((await stat(folder)).dev)
  const tests = ['-maxdepth', '1', '-type', 'f', '-links', '0', '-printf', '%D %i %b\\n']
  const blocks = new Map<string, number>()
  for (const line of (await outputOf('find', ['-L', ...places, ...tests])).split('\n')) {
    const [device, inode = '', count] = line.split(' ')
    if (device === disk) blocks.set(inode, Number(count) || 0)
  }
  const sum = [...blocks.values()].reduce((all, count) => all + count, 0)
  return { mb: sum / 2048, files: blocks.size }
}

/** Folders of /proc with what the processes and their descendants have open or mapped; none where there is no /proc. */
async function placesOf(pids: readonly number[]): Promise<string[]> {
  const places: string[] = []
  const waiting = [...pids]
  let threads = 0
  for (let pid = waiting.pop(); pid !== undefined && threads < MOST_THREADS; pid = waiting.pop()) {
    const folder = `/proc/${pid}/task`
    const tasks = await readdir(folder).catch(() => [])
    if (tasks.length === 0) continue
    threads += tasks.length
    places.push(`/proc/${pid}/map_files`)
    for (const task of tasks) {
      places.push(`${folder}/${task}/fd`)
      const children = await readFile(`${folder}/${task}/children`, 'utf8').catch(() => '')
      waiting.push(
        ...children
          .split(' ')
          .map(Number)
          .filter((child) => child > 0),
      )
    }
  }
  return places
}
