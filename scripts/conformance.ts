import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import type { Observation } from '@atrium/testing'
import { CONFORMANCE_DIR, observedFile } from '../apps/server/testing/global-setup.ts'

const PAGE = path.resolve(import.meta.dirname, '../docs/conformance.md')

/** Addresses under which a service is mounted. */
const SERVICES: Readonly<Record<string, readonly string[]>> = {
  identity: ['auth'],
  portal: ['portal'],
  gateway: ['llm', 'llm-cn'],
  agents: ['agents'],
  workflows: ['workflows'],
}

interface Operation {
  readonly service: string
  readonly name: string
  readonly route: string
  readonly statuses: readonly number[]
}

interface Document {
  readonly paths: Record<string, Record<string, { operationId: string; responses: Record<string, unknown> }>>
}

/** Made by one piece of code whatever the operation: long paths, limits, failures, and a database that is away. */
const COMMON = [414, 429, 500, 503]

async function readOperations(service: string): Promise<Operation[]> {
  const text = await readFile(path.join(CONFORMANCE_DIR, `${service}.openapi.json`), 'utf8')
  const { paths } = JSON.parse(text) as Document
  return Object.entries(paths).flatMap(([route, methods]) =>
    Object.entries(methods).map(([method, { operationId, responses }]) => ({
      service,
      name: operationId,
      route: `${method.toUpperCase()} ${route}`,
      statuses: Object.keys(responses)
        .map(Number)
        .sort((a, b) => a - b),
    })),
  )
}

/** Of both projects: a status may be seen by a slow test alone. */
async function readObservations(): Promise<Observation[]> {
  const texts = await Promise.all(
    ['fast', 'slow'].map((project) => readFile(observedFile(project), 'utf8').catch(() => '')),
  )
  const lines = texts
    .join('')
    .split('\n')
    .filter((line) => line !== '')
  return lines.map((line) => JSON.parse(line) as Observation)
}

const observations = await readObservations()
const missing: string[] = []
const sections: string[] = []
for (const [service, addresses] of Object.entries(SERVICES)) {
  const ofService = observations.filter((one) => addresses.includes(one.service))
  const rows = (await readOperations(service)).map(({ name, route, statuses }) => {
    const seen = ofService.filter((one) => one.operation === name)
    const unseen = statuses.filter(
      (status) => !(COMMON.includes(status) ? ofService : seen).some((one) => one.status === status),
    )
    if (unseen.length > 0) missing.push(`  ${service} ${name} (${route}): ${unseen.join(', ')}`)
    const tests = [
      ...new Set(seen.filter(({ test }) => !test.includes('access-matrix')).map(({ test }) => test)),
    ].sort()
    const links = tests.map((test) => `[${path.basename(test, '.test.ts').replace('.slow', '')}](../${test})`)
    return `| \`${name}\` | \`${route}\` | ${statuses.join(', ')} | ${links.join(', ')} |`
  })
  sections.push(
    `## ${service}\n\n| Operation | Route | Answers | Tests |\n| --- | --- | --- | --- |\n${rows.join('\n')}`,
  )
}

const page = `<!-- Written by \`npm run conformance\` from what the tests saw. -->

# Conformance

Every operation of every service, each status that its contract declares, and the tests in which it was seen over
HTTP with a body that fits the contract (what browsers and OAuth clients were sent is noted by its status). All of them are also walked by the
[access matrix](../apps/server/test/access-matrix.test.ts): without a credential, with bad ones, and as each kind of
caller. A status that no test saw fails the build; 414, 429, 500 and 503, which every operation may answer, are shown
once for each service.

${sections.join('\n\n')}
`

if (missing.length > 0) {
  process.stderr.write(`Declared answers that no test saw:\n${missing.join('\n')}\n`)
  process.exitCode = 1
}
/** Without the last column: which files see an answer is worth reading, but no promise to keep. */
const promises = (text: string): string => text.replace(/^(\|.*\|)[^|\n]*\|$/gm, '$1')

if (process.argv.includes('--check')) {
  if (promises(await readFile(PAGE, 'utf8').catch(() => '')) !== promises(page)) {
    process.stderr.write(
      'docs/conformance.md no longer fits the contracts: run npm test && npm run test:slow && npm run conformance\n',
    )
    process.exitCode = 1
  }
} else await writeFile(PAGE, page)
