import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { check, type Entries, type Violation } from './check.ts'

const FOLDERS = '{packages,services,apps,acceptance,bench,scripts}'
const isForeign = (file: string): boolean => /(?:^|\/)(?:node_modules|fixtures|assembly)(?:\/|$)/.test(file)

/** The entries that the workspaces below `root` export. */
export function readEntries(root: string): Entries {
  const entries = new Set<string>()
  for (const file of globSync(`${FOLDERS}/{.,*}/package.json`, { cwd: root, exclude: isForeign })) {
    const { name, exports = {} } = JSON.parse(readFileSync(path.join(root, file), 'utf8')) as {
      name: string
      exports?: Record<string, string>
    }
    for (const entry of Object.keys(exports)) entries.add(path.posix.join(name, entry))
  }
  return entries
}

/** Checks every source below `root`. */
export function checkRepository(root: string): Violation[] {
  const entries = readEntries(root)
  return globSync(`${FOLDERS}/**/*.{ts,tsx}`, { cwd: root, exclude: isForeign })
    .sort()
    .flatMap((file) => check(file, readFileSync(path.join(root, file), 'utf8'), entries))
}
