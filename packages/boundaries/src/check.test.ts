import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { check, withoutKnown } from './check.ts'
import { checkRepository, readEntries } from './repository.ts'
import { EXCEPTIONS, LAYERS, type Layer, SERVICE_LAYERS, WORKSPACES } from './rules.ts'

const root = path.resolve(import.meta.dirname, '../../..')
const entries = readEntries(root)

const VALUE_FORMS: readonly ((specifier: string) => string)[] = [
  (specifier) => `import { thing } from '${specifier}'; thing()`,
  (specifier) => `import '${specifier}'`,
  (specifier) => `import * as thing from '${specifier}'; thing.act()`,
  (specifier) => `export { thing } from '${specifier}'`,
  (specifier) => `export * from '${specifier}'`,
  (specifier) => `const thing = await import('${specifier}')`,
  (specifier) => `const thing = await import(\`${specifier}\`)`,
  (specifier) => `const thing = require('${specifier}')`,
  (specifier) => `const address = import.meta.resolve('${specifier}')`,
  (specifier) => `const worker = new Worker(new URL('${specifier}', import.meta.url))`,
  (specifier) => `using thing = make(); import { act, type Thing } from '${specifier}'`,
]
const TYPE_FORMS: readonly ((specifier: string) => string)[] = [
  (specifier) => `import type { Thing } from '${specifier}'`,
  (specifier) => `export type { Thing } from '${specifier}'`,
  (specifier) => `export type * from '${specifier}'`,
  (specifier) => `let thing: import('${specifier}').Thing`,
]

const isRefused = (file: string, source: string): boolean => check(file, source, entries).length > 0

/** Whether the forms are refused, a line each: all are alike. */
function verdict(file: string, specifier: string, forms: readonly ((to: string) => string)[]): boolean {
  const source = forms.map((form) => form(specifier)).join('\n')
  const refused = new Set(check(file, source, entries).map(({ line }) => line))
  expect(refused.size, `${file} → ${specifier}`).toBeOneOf([0, forms.length])
  return refused.size > 0
}

const SERVICES = ['identity', 'portal', 'gateway', 'agents', 'workflows'] as const
const FILES = new Set<Layer>(['access', 'config', 'context', 'errors', 'index', 'ports', 'setup'])

function fileIn(service: string, layer: Layer): string {
  if (layer === 'test') return `services/${service}/test/some.ts`
  return `services/${service}/src/${FILES.has(layer) ? layer : `${layer}/some`}.ts`
}

function relative(from: string, to: string): string {
  const found = path.posix.relative(path.posix.dirname(from), to)
  return found.startsWith('.') ? found : `./${found}`
}

const layerPairs = LAYERS.flatMap((from) => LAYERS.map((to) => ({ from, to })))
const servicePairs = SERVICES.flatMap((one) => SERVICES.map((other) => ({ one, other })))

describe('layers of one service', () => {
  it.each(layerPairs)('$from → $to is as the table says', ({ from, to }) => {
    const { imports, types = [] } = SERVICE_LAYERS[from]
    for (const service of SERVICES) {
      const file = fileIn(service, from)
      const target = relative(file, fileIn(service, to))
      expect(verdict(file, target, VALUE_FORMS)).toBe(!imports.includes(to))
      expect(verdict(file, target, TYPE_FORMS)).toBe(!imports.includes(to) && !types.includes(to))
    }
  })

  it.each([
    ['routes', 'adapters'],
    ['adapters', 'routes'],
    ['domain', 'routes'],
    ['domain', 'adapters'],
    ['queries', 'domain'],
    ['queries', 'contract'],
    ['contract', 'domain'],
    ['domain', 'index'],
    ['index', 'test'],
  ] as const)('the table never lets %s see %s', (from, to) => {
    const { imports, types = [] } = SERVICE_LAYERS[from]
    expect([...imports, ...types]).not.toContain(to)
  })
})

describe('layers of different services', () => {
  const pairs = servicePairs.filter(({ one, other }) => one !== other)

  it.each(pairs)('nothing of $one reaches into $other', ({ one, other }) => {
    for (const from of LAYERS) {
      const file = fileIn(one, from)
      const targets = LAYERS.map((to) => fileIn(other, to))
      const specifiers = targets.flatMap((target) => [
        relative(file, target),
        `@atrium/${other}/${target.split('/').slice(2).join('/')}`,
      ])
      const source = specifiers
        .flatMap((specifier) => [...VALUE_FORMS, ...TYPE_FORMS].map((form) => form(specifier)))
        .join('\n')
      const refused = new Set(check(file, source, entries).map(({ line }) => line))
      expect(refused.size).toBe(source.split('\n').length)
    }
  })

  it.each(pairs)('$one sees $other’s face only where the table says', ({ one, other }) => {
    for (const layer of LAYERS) {
      const isAllowed = WORKSPACES[`services/${one}`]?.imports.includes(`@atrium/${other}`) === true
      expect(verdict(fileIn(one, layer), `@atrium/${other}`, VALUE_FORMS)).toBe(!isAllowed)
      expect(verdict(fileIn(one, layer), `@atrium/${other}`, TYPE_FORMS)).toBe(!isAllowed)
    }
  })
})

describe('packages, apps and tests', () => {
  it.each([
    ['packages/kernel/src/some.ts', '@atrium/access'],
    ['packages/kernel/src/some.ts', '../../access/src/index.ts'],
    ['packages/access/src/some.ts', '@atrium/portal'],
    ['packages/access/src/some.ts', '@atrium/testing'],
    ['packages/testing/src/some.ts', '@atrium/gateway'],
    ['packages/testing/src/some.ts', '../../../apps/server/src/platform.ts'],
    ['services/portal/src/routes/some.ts', '@atrium/server'],
    ['services/portal/src/routes/some.ts', '@atrium/testing'],
    ['services/portal/src/routes/some.ts', '@atrium/kernel/src/db/pool.ts'],
    ['services/portal/src/routes/some.ts', '/services/portal/src/domain/some.ts'],
    ['services/portal/src/routes/some.ts', '../helpers/some.ts'],
    ['apps/server/src/some.ts', '../../../services/portal/src/index.ts'],
    ['apps/server/src/some.ts', '@atrium/portal/src/index.ts'],
    ['apps/server/src/some.ts', '@atrium/testing'],
    ['apps/server/src/some.ts', '../test/some.ts'],
    ['acceptance/some.test.ts', '@atrium/kernel/jobs'],
    ['acceptance/some.test.ts', '@atrium/portal'],
    ['acceptance/some.test.ts', '../packages/testing/src/index.ts'],
    ['services/portal/src/domain/some.ts', 'fastify'],
    ['services/portal/src/domain/some.ts', '@fastify/cors'],
    ['services/portal/src/domain/some.ts', 'node:http'],
    ['services/portal/src/domain/some.ts', '@atrium/kernel/http'],
    ['services/portal/src/domain/some.ts', 'kysely'],
    ['services/portal/src/domain/some.ts', 'pg'],
    ['services/portal/src/routes/some.ts', 'kysely'],
    ['services/agents/src/domain/some.ts', '@lancedb/lancedb'],
    ['services/portal/src/adapters/some.ts', 'fastify'],
  ])('%s must not import %s', (file, specifier) => {
    expect(verdict(file, specifier, VALUE_FORMS)).toBe(true)
    expect(verdict(file, specifier, TYPE_FORMS)).toBe(true)
  })

  it.each([
    ['packages/access/src/some.ts', '@atrium/kernel/errors'],
    ['packages/access/test/some.test.ts', '@atrium/testing'],
    ['services/portal/test/some.test.ts', '@atrium/testing'],
    ['services/portal/src/queries/some.ts', 'kysely'],
    ['services/portal/src/domain/some.ts', '../../models.yaml'],
    ['services/identity/src/create-realms.ts', './adapters/some.ts'],
    ['apps/server/src/some.ts', '@atrium/portal'],
    ['acceptance/some.test.ts', '@atrium/testing'],
    ['acceptance/some.test.ts', '@atrium/portal/contract'],
  ])('%s may import %s', (file, specifier) => {
    expect(verdict(file, specifier, VALUE_FORMS)).toBe(false)
    expect(verdict(file, specifier, TYPE_FORMS)).toBe(false)
  })

  it('refuses SQL in the domain by its name, and a module that is made up at run time', () => {
    const file = 'services/portal/src/domain/some.ts'
    expect(isRefused(file, `import { sql } from '@atrium/kernel/db'`)).toBe(true)
    expect(isRefused(file, `import * as db from '@atrium/kernel/db'`)).toBe(true)
    expect(isRefused(file, `import { isUniqueViolation } from '@atrium/kernel/db'`)).toBe(false)
    expect(isRefused(file, 'const thing = await import(name)')).toBe(true)
    expect(
      isRefused(file, `// import '../routes/index.ts'\nconst text = "import '../routes/index.ts'"`),
    ).toBe(false)
  })
})

it('refuses a source that belongs to no layer', () => {
  expect(isRefused('services/portal/src/helpers/some.ts', '')).toBe(true)
  expect(isRefused('services/portal/src/helpers.ts', '')).toBe(true)
})

describe('this repository', () => {
  it('keeps its boundaries, and every exception is needed', () => {
    expect(withoutKnown(checkRepository(root), EXCEPTIONS)).toEqual({ violations: [], unneeded: [] })
  })

  it('has a rule for every workspace', () => {
    const named = [...entries].map((entry) => entry.split('/')[1])
    for (const name of named) expect(Object.keys(WORKSPACES).map((one) => path.basename(one))).toContain(name)
  })

  it('fails the command that `npm run lint` runs, naming file, line and reason', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'atrium-boundaries-'))
    try {
      await mkdir(path.join(folder, 'services/portal/src/domain'), { recursive: true })
      await writeFile(
        path.join(folder, 'services/portal/src/domain/some.ts'),
        `\nimport { thing } from '../../../gateway/src/domain/price.ts'\n`,
      )
      const run = promisify(execFile)(process.execPath, [path.join(import.meta.dirname, 'main.ts')], {
        cwd: folder,
      })
      await expect(run).rejects.toMatchObject({
        code: 1,
        stderr: expect.stringContaining(
          'services/portal/src/domain/some.ts:2: ../../../gateway/src/domain/price.ts: another workspace',
        ),
      })
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  })
})
