import { constants } from 'node:fs'
import { open, opendir, readlink } from 'node:fs/promises'
import path from 'node:path'
import type { MetricPoint, TaskOutput, TaskRef } from '../../ports.ts'
import { isRealFolder, type TaskFolders } from './folders.ts'

const POINTS_AT_ONCE = 1000
const LONGEST_LINE = 4096
const LONGEST_NAME = 200
/** What is read of a file of metrics at most. */
const LARGEST_METRICS = 64 * 2 ** 20
/** Entries of the folder of artifacts that are looked at. */
const MOST_ENTRIES = 20_000
const DEEPEST = 32

type Say = (line: string) => void

/** Keeps the files and numbers that a task left. Nothing of the task runs any more. */
export async function keepResults(
  output: TaskOutput,
  ref: TaskRef,
  folders: TaskFolders,
  say: Say,
): Promise<void> {
  await keepMetrics(output, ref, folders.metrics, say)
  await keepArtifacts(output, ref, folders.artifacts, say)
}

async function keepArtifacts(output: TaskOutput, ref: TaskRef, folder: string, say: Say): Promise<void> {
  if (!(await isRealFolder(folder))) return
  let refused = 0
  for await (const { file, reason } of filesIn(folder)) {
    const name = path.relative(folder, file).split(path.sep).join('/')
    const problem = reason ?? (await output.keepArtifact(ref, name, file))
    if (problem === undefined) continue
    refused++
    if (refused <= 20) say(`The artifact ${name} is not kept: ${problem}`)
  }
  if (refused > 20) say(`${refused - 20} more artifacts are not kept`)
}

interface Found {
  readonly file: string
  /** Why it is none to keep. */
  readonly reason: string | undefined
}

async function* filesIn(folder: string): AsyncGenerator<Found> {
  const waiting: { folder: string; depth: number }[] = [{ folder, depth: 0 }]
  let entries = 0
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    for await (const entry of await opendir(at.folder)) {
      const file = path.join(at.folder, entry.name)
      if (++entries > MOST_ENTRIES) {
        yield { file, reason: `there are more than ${MOST_ENTRIES} entries` }
        return
      }
      if (entry.isDirectory() && at.depth < DEEPEST) waiting.push({ folder: file, depth: at.depth + 1 })
      else yield { file, reason: entry.isFile() ? undefined : await reasonFor(file, entry.isDirectory()) }
    }
  }
}

async function reasonFor(file: string, isFolder: boolean): Promise<string> {
  if (isFolder) return `folders deeper than ${DEEPEST}`
  const target = await readlink(file).catch(() => undefined)
  return target === undefined ? 'it is not a plain file' : 'it is a symbolic link'
}

/** @returns undefined for a line that is no point */
function pointOf(line: string): MetricPoint | undefined {
  if (line.length > LONGEST_LINE) return undefined
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    return undefined
  }
  const { name, step = null, value: number } = (value ?? {}) as Record<string, unknown>
  const isStep = step === null || (Number.isSafeInteger(step) && (step as number) >= 0)
  if (typeof name !== 'string' || name === '' || name.length > LONGEST_NAME || name.includes('\0'))
    return undefined
  if (typeof number !== 'number' || !Number.isFinite(number) || !isStep) return undefined
  return { name, step: step as number | null, value: number }
}

async function keepMetrics(output: TaskOutput, ref: TaskRef, file: string, say: Say): Promise<void> {
  const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
    () => undefined,
  )
  if (handle === undefined) return
  try {
    const { size } = await handle.stat()
    if (!(await handle.stat()).isFile() || size === 0) return
    let points: MetricPoint[] = []
    let wrong = 0
    let dropped = 0
    const send = async (): Promise<void> => {
      if (points.length > 0) dropped += await output.appendMetrics(ref, points)
      points = []
    }
    const lines = linesOf(
      handle.createReadStream({ encoding: 'utf8', end: LARGEST_METRICS - 1, autoClose: false }),
    )
    for await (const line of lines) {
      if (line.trim() === '') continue
      const point = pointOf(line)
      if (point === undefined) wrong++
      else points.push(point)
      if (points.length >= POINTS_AT_ONCE) await send()
    }
    await send()
    if (wrong > 0) {
      say(
        `${wrong} lines of $ATRIUM_METRICS are not kept: a line is {"name": …, "step": a whole number or absent, "value": a number}`,
      )
    }
    if (dropped > 0) say(`${dropped} metrics are not kept: there are too many`)
    if (size > LARGEST_METRICS) say(`$ATRIUM_METRICS is read up to ${LARGEST_METRICS / 2 ** 20} MiB`)
  } finally {
    await handle.close()
  }
}

/** Lines of a stream; of one that is too long the beginning. */
async function* linesOf(stream: AsyncIterable<string>): AsyncGenerator<string> {
  let rest = ''
  for await (const text of stream) {
    const lines = (rest + text).split('\n')
    rest = (lines.pop() ?? '').slice(0, LONGEST_LINE + 1)
    yield* lines
  }
  yield rest
}
