import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import type { AccessTable, Grant } from '@atrium/access'
import { agentsAccess } from '@atrium/agents'
import { gatewayAccess } from '@atrium/gateway'
import { identityAccess } from '@atrium/identity'
import { envDocs } from '@atrium/kernel/config'
import { portalAccess } from '@atrium/portal'
import { workflowsAccess } from '@atrium/workflows'
import { workflowFileSchema } from '@atrium/workflows/workflow-file'
import { environment } from '../apps/server/src/config.ts'
import { faultsOfRecords } from './record-faults.ts'

const root = path.resolve(import.meta.dirname, '..')
const NOTE = '<!-- Written by `npm run docs` from the code; edit that instead. -->'

const row = (cells: readonly string[]): string =>
  `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [row(head), row(head.map(() => '---')), ...rows.map(row)].join('\n')

function configurationPage(): string {
  const sections = Object.entries(environment).map(([part, schema]) => {
    const rows = envDocs(schema).map(({ name, fallback, about }) => [
      `\`${name}\``,
      fallback === '' ? '' : `\`${fallback}\``,
      about,
    ])
    return `## ${part}\n\n${table(['Variable', 'Default', 'Meaning'], rows)}`
  })
  return [
    NOTE,
    '# Configuration',
    'Every setting is a variable of the environment, read once at start. A wrong value stops the start with the variable’s name; an empty one counts as unset. `atrium doctor` checks the environment.',
    ...sections,
    '',
  ].join('\n\n')
}

const GRANTS: Readonly<Record<Grant, string>> = {
  any: 'yes',
  member: 'member, owner or superuser',
  owner: 'owner',
  'owner-or-superuser': 'owner or superuser',
  superuser: 'superuser',
  self: 'about oneself, or superuser',
  forbidden: 'no (403)',
  unauthorized: 'no (401)',
}

function accessPage(): string {
  const tables: Readonly<Record<string, AccessTable>> = {
    identity: identityAccess,
    portal: portalAccess,
    gateway: gatewayAccess,
    agents: agentsAccess,
    workflows: workflowsAccess,
  }
  const sections = Object.entries(tables).map(([service, access]) => {
    const rows = Object.entries(access).map(([operation, rule]) =>
      rule === 'public'
        ? [`\`${operation}\``, 'everybody', 'everybody', 'everybody']
        : [`\`${operation}\``, GRANTS[rule.user], GRANTS[rule.client], GRANTS[rule.key]],
    )
    return `## ${service}\n\n${table(['Operation', 'User token', 'M2M token', 'API key'], rows)}`
  })
  return [
    NOTE,
    '# Who may call what',
    'This table decides: the guard of every route reads it, and the tests walk through all of it. “Member” and “owner” mean the caller’s role in the space of the path; an API key is a member of its own space alone. A space that does not exist gives 404, one that is not the caller’s gives 403. Operations marked `everybody` ask for no bearer token; those of identity authenticate by OAuth itself.',
    ...sections,
    '',
  ].join('\n\n')
}

const PAGES: readonly [string, () => string][] = [
  ['docs/configuration.md', configurationPage],
  ['docs/access.md', accessPage],
  // For editors: what `atrium workflow` takes.
  ['docs/workflow.schema.json', () => JSON.stringify(workflowFileSchema(), null, 2)],
]

const stale: string[] = []
for (const [file, render] of PAGES) {
  const target = path.join(root, file)
  const text = `${render().trim()}\n`
  if (process.argv.includes('--check')) {
    if ((await readFile(target, 'utf8').catch(() => '')) !== text) stale.push(file)
  } else await writeFile(target, text)
}
if (stale.length > 0) {
  process.stderr.write(`${stale.join(', ')} no longer fit the code: run npm run docs\n`)
  process.exitCode = 1
}
const faults = await faultsOfRecords(root)
if (faults.length > 0) {
  process.stderr.write(`${faults.join('\n')}\n`)
  process.exitCode = 1
}
