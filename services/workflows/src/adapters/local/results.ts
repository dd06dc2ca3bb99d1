import { opendir, readlink } from 'node:fs/promises'
import path from 'node:path'
import type { TaskOutput, TaskRef } from '../../ports.ts'
import { isRealFolder } from './folders.ts'

/** Entries of the folder of artifacts that are looked at. */
const MOST_ENTRIES = 20_000
const DEEPEST = 32

type Say = (line: string) => void

/** Keeps the files that a task left. Nothing of the task runs any more. */
export async function keepArtifacts(
  output: TaskOutput,
  ref: TaskRef,
  folder: string,
  say: Say,
): Promise<void> {
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
