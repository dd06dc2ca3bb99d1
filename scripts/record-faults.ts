import { glob, readdir, readFile } from 'node:fs/promises'
import path from 'node:path'

const FILE = /`([\w./-]+\.(?:test\.ts|ts|sql|toml|md|json))`/g
const SOURCES = '{acceptance,apps,bench,docs,packages,scripts,services}/**/*.{ts,sql,toml,md,json}'
const COMMAND = /`npm run [\w:]+`/

const namesOf = (text: string): string[] => [...text.matchAll(FILE)].map(([, name = '']) => name)

function itemsOf(text: string, title: string): string[] {
  const [, section = ''] = text.split(`\n## ${title}\n`)
  const [own = ''] = section.split('\n## ')
  return own
    .split(/\n(?=- )/)
    .map((item) => item.trim())
    .filter((item) => item !== '')
}

/**
 * What is wrong with the decision records: tests that they name and that are not there, and consequences that name
 * neither a test nor a benchmark though the record tells them from what is only accepted.
 * @returns a line for each fault
 */
export async function faultsOfRecords(root: string): Promise<string[]> {
  const files = await Array.fromAsync(
    glob(SOURCES, { cwd: root, exclude: (name) => name === 'node_modules' }),
  )
  const isThere = (name: string): boolean => files.some((file) => file === name || file.endsWith(`/${name}`))
  const faults: string[] = []
  for (const name of await readdir(path.join(root, 'docs/adr'))) {
    const record = `docs/adr/${name}`
    const text = await readFile(path.join(root, record), 'utf8')
    for (const test of namesOf(text))
      if (test.endsWith('.test.ts') && !isThere(test))
        faults.push(`${record} names ${test}, which is not there`)
    if (!text.includes('\n## Accepted\n')) continue
    for (const item of itemsOf(text, 'Consequences'))
      if (!COMMAND.test(item) && !namesOf(item).some(isThere))
        faults.push(`${record} claims without a test or a benchmark: ${item.slice(0, 80)}`)
  }
  return faults
}
