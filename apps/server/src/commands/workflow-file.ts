import { writeFile } from 'node:fs/promises'
import { workflowFileSchema } from '@atrium/workflows/workflow-file'
import { UsageError } from '../usage-error.ts'
import { checkReferences, checkVersions } from '../workflows/check-versions.ts'
import { type Pushed, push } from '../workflows/push.ts'
import { FileRefused, type ReadWorkflow, readWorkflowFile } from '../workflows/workflow-file.ts'
import { connectToSpace, type WorkflowOptions } from './workflow-connection.ts'

export interface FileOptions extends WorkflowOptions {
  /** The id of the file's only version, whatever the file calls it. */
  readonly version?: string
  readonly json?: boolean
}

export interface PushOptions extends FileOptions {
  readonly dryRun?: boolean
  /** A file for the addresses of webhooks that are made. */
  readonly webhooksTo?: string
}

/** Prints the JSON Schema of workflow files. */
export function printSchema(): void {
  process.stdout.write(`${JSON.stringify(workflowFileSchema(), null, 2)}\n`)
}

/** Checks a file against a platform, storing nothing. @throws UsageError, FileRefused */
export async function validateFile(
  env: NodeJS.ProcessEnv,
  name: string,
  options: FileOptions,
): Promise<void> {
  const space = connectToSpace(options, env)
  const workflow = await read(name, env, options)
  const ids = Object.keys(workflow.file.versions)
  const faults = [
    ...(await checkVersions(space, workflow, new Set(ids))),
    ...(await checkReferences(space, workflow)),
  ]
  if (faults.length > 0) throw new FileRefused(name, faults)
  process.stdout.write(`${name}: ${workflow.file.id} is valid\n`)
}

/** Makes the platform have what a file says. @throws UsageError, FileRefused */
export async function pushFile(env: NodeJS.ProcessEnv, name: string, options: PushOptions): Promise<void> {
  const space = connectToSpace(options, env)
  const workflow = await read(name, env, options)
  const done: Pushed[] = []
  const isDryRun = options.dryRun === true
  try {
    await push(space, workflow, {
      isDryRun,
      onDone: (one) => {
        done.push(one)
        if (options.json !== true) process.stdout.write(lineOf(one))
      },
    })
  } finally {
    await tellWebhooks(done, workflow.file.id, options)
    if (options.json === true)
      process.stdout.write(`${JSON.stringify({ workflowId: workflow.file.id, dryRun: isDryRun, done })}\n`)
  }
  if (options.json !== true) process.stdout.write(summaryOf(workflow.file.id, done, isDryRun))
}

async function read(name: string, env: NodeJS.ProcessEnv, { version }: FileOptions): Promise<ReadWorkflow> {
  const workflow = await readWorkflowFile(name, env)
  return version === undefined ? workflow : renamed(workflow, version)
}

/** The only version gets another id, and stages that name it follow. */
function renamed(workflow: ReadWorkflow, version: string): ReadWorkflow {
  const { file, placeOf } = workflow
  const [only, ...more] = Object.entries(file.versions)
  if (only === undefined || more.length > 0)
    throw new UsageError(`--version is for files with exactly one version, which ${workflow.name} is not`)
  const [id, tasks] = only
  const stages = Object.fromEntries(
    Object.entries(file.stages).map(([stage, assigned]) => [
      stage,
      assigned.versionId === id ? { ...assigned, versionId: version } : assigned,
    ]),
  )
  return {
    ...workflow,
    file: { ...file, stages, versions: { [version]: tasks } },
    placeOf: ([part = '', one = '', ...rest]) =>
      placeOf(part === 'versions' && one === version ? [part, id, ...rest] : [part, one, ...rest]),
  }
}

const KIND_WIDTH = 'configuration'.length
const OUTCOME_WIDTH = 'unchanged'.length

const lineOf = ({ kind, id, outcome, changes }: Pushed): string =>
  `${`${kind.padEnd(KIND_WIDTH)}  ${outcome.padEnd(OUTCOME_WIDTH)}  ${id}  ${changes}`.trimEnd()}\n`

function summaryOf(workflowId: string, done: readonly Pushed[], isDryRun: boolean): string {
  const counts = (['created', 'updated', 'unchanged'] as const).flatMap((outcome) => {
    const count = done.filter((one) => one.outcome === outcome).length
    return count === 0 ? [] : [`${count} ${outcome}`]
  })
  return `${workflowId}: ${counts.join(', ')}${isDryRun ? ' (nothing was stored)' : ''}\n`
}

/** The address of a webhook is its secret: it goes to a file, or to eyes, and not into the log of a pipeline. */
async function tellWebhooks(
  done: readonly Pushed[],
  workflowId: string,
  options: PushOptions,
): Promise<void> {
  const made = done.flatMap(({ id, webhookUrl }) =>
    webhookUrl === undefined ? [] : [[id, webhookUrl] as const],
  )
  if (made.length === 0 || options.json === true) return
  if (options.webhooksTo !== undefined) {
    await writeFile(options.webhooksTo, `${JSON.stringify(Object.fromEntries(made), null, 2)}\n`, {
      mode: 0o600,
    })
    return
  }
  for (const [id, url] of made)
    process.stderr.write(
      process.stderr.isTTY
        ? `The address of webhook ${id}, which is shown this once: ${url}\n`
        : `The address of webhook ${id} is a secret and not shown here: use --webhooks-to, or POST …/workflows/${workflowId}/triggers/${id}:rotate-secret\n`,
    )
}
