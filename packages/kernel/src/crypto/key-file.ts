import { randomBytes, randomUUID } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { chmod, link, mkdir, open, rename, rm } from 'node:fs/promises'
import path from 'node:path'
import { OperatorError } from '../errors.ts'

/** The master keys of a data folder, one a line in base64; the first seals. */
export interface KeyFile {
  readonly lines: readonly [string, ...string[]]
  /** Another one whenever the file is another. */
  readonly stamp: string
}

const fileOf = (dataDir: string): string => path.join(dataDir, 'master.key')

function stampOf(dataDir: string): string {
  const { ino, mtimeMs, size } = statSync(fileOf(dataDir))
  return `${ino} ${mtimeMs} ${size}`
}

/** Synchronous, as sealing is: it is a line or two, read at start and when it has changed. */
export function readKeyFile(dataDir: string): KeyFile {
  const stamp = stampOf(dataDir)
  const [first, ...others] = readFileSync(fileOf(dataDir), 'utf8')
    .split('\n')
    .filter((line) => line.trim() !== '')
  if (first === undefined) throw new OperatorError(`${fileOf(dataDir)} holds no key`)
  return { lines: [first, ...others], stamp }
}

/** @returns undefined while it is the file of this stamp */
export const readKeyFileIfChanged = (dataDir: string, stamp: string): KeyFile | undefined =>
  stampOf(dataDir) === stamp ? undefined : readKeyFile(dataDir)

async function writeNew(dataDir: string, lines: readonly string[]): Promise<string> {
  // Not the process id: in containers that share a folder it is often the same.
  const fresh = `${fileOf(dataDir)}.${randomUUID()}.new`
  const file = await open(fresh, 'wx', 0o600)
  try {
    await file.writeFile(lines.map((line) => `${line}\n`).join(''))
    await file.sync()
  } finally {
    await file.close()
  }
  await chmod(fresh, 0o600)
  return fresh
}

export const newKeyLine = (): string => randomBytes(32).toString('base64')

/** Makes the file with one new key, unless it is there. */
export async function createKeyFile(
  dataDir: string,
  lines: readonly string[] = [newKeyLine()],
): Promise<void> {
  await mkdir(dataDir, { recursive: true })
  const fresh = await writeNew(dataDir, lines)
  try {
    // link() fails when the name exists, so a half-written key is never seen and none is replaced.
    await link(fresh, fileOf(dataDir))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    await rm(fresh)
  }
}

/** Puts other keys into the file, all at once. */
export async function replaceKeyFile(dataDir: string, lines: readonly string[]): Promise<void> {
  await rename(await writeNew(dataDir, lines), fileOf(dataDir))
}
