import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const root = path.resolve(import.meta.dirname, '../../..')
let tree = ''

/** Lints one import as if it stood in `file`, under the project's own rules. */
function lint(file: string, specifier: string): string {
  const target = path.join(tree, file)
  mkdirSync(path.dirname(target), { recursive: true })
  writeFileSync(target, `import { thing } from '${specifier}'\n\nconsole.log(thing)\n`)
  const { stdout, stderr } = spawnSync(path.join(root, 'node_modules/.bin/biome'), ['lint', file], {
    cwd: tree,
    encoding: 'utf8',
  })
  rmSync(target)
  return stdout + stderr
}

describe('the import-boundary rule', () => {
  beforeAll(() => {
    tree = mkdtempSync(path.join(tmpdir(), 'atrium-boundaries-'))
    copyFileSync(path.join(root, 'biome.json'), path.join(tree, 'biome.json'))
    writeFileSync(path.join(tree, '.gitignore'), 'node_modules\n')
    symlinkSync(path.join(root, 'node_modules'), path.join(tree, 'node_modules'))
  })
  afterAll(() => rmSync(tree, { recursive: true, force: true }))

  it.each([
    ['packages/kernel/src/x.ts', '@atrium/access', 'the kernel imports another package'],
    ['packages/access/src/x.ts', '@atrium/portal', 'a package imports a service'],
    ['packages/testing/src/x.ts', '@atrium/server', 'a package imports an app'],
    ['services/portal/src/index.ts', '../../gateway/src/index.ts', 'a service reaches into another one'],
    [
      'services/portal/src/routes/x.ts',
      '../../../gateway/src/index.ts',
      'a route reaches into another service',
    ],
    ['services/portal/src/routes/x.ts', '@atrium/server', 'a service imports an app'],
    ['services/portal/src/domain/x.ts', 'fastify', 'domain code sees the framework'],
    ['services/portal/src/domain/x.ts', '../routes/spaces.ts', 'domain imports routes'],
    ['services/portal/src/queries/x.ts', '../domain/keys.ts', 'queries import domain'],
    ['acceptance/x.ts', '@atrium/portal', 'an acceptance test imports a service'],
  ])('refuses %s importing %s: %s', (file, specifier) => {
    expect(lint(file, specifier)).toContain('noRestrictedImports')
  })

  it.each([
    ['packages/access/src/x.ts', '@atrium/kernel/errors'],
    ['services/portal/src/index.ts', '@atrium/identity'],
    ['services/portal/src/routes/x.ts', '../domain/keys.ts'],
    ['services/portal/src/domain/x.ts', '../queries/keys.ts'],
    ['apps/server/src/x.ts', '@atrium/portal'],
    ['acceptance/x.ts', '@atrium/testing'],
  ])('lets %s import %s', (file, specifier) => {
    expect(lint(file, specifier)).not.toContain('noRestrictedImports')
  })
})
