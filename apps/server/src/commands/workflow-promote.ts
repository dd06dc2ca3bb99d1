import { OperatorError } from '@atrium/kernel/errors'
import { connectToSpace, type WorkflowOptions } from './workflow-connection.ts'

export interface PromoteOptions extends WorkflowOptions {
  readonly from: string
  readonly to: string
  /** What the target has from now on; false: none. */
  readonly configuration?: string | false
}

interface Assignment {
  readonly versionId: string
  readonly configurationId?: string | null
}

/**
 * Gives a stage the version of another. Its configuration stays its own.
 * @throws UsageError, OperatorError where the source has no version, or it is not clear which configuration is meant
 */
export async function promote(
  env: NodeJS.ProcessEnv,
  workflowId: string,
  options: PromoteOptions,
): Promise<void> {
  const space = connectToSpace(options, env)
  const path = (stage: string): string => space.workflowPath(workflowId, 'stages', stage)
  const { from, to } = options
  const source = await space.find<Assignment>(path(from))
  if (source === undefined) throw new OperatorError(`${workflowId} has no version in ${from}`)
  const present = await space.find<Assignment>(path(to))
  const configurationId = configurationFor(options, source, present)
  const before = present === undefined ? 'nothing' : present.versionId
  const isSame =
    present?.versionId === source.versionId && (present.configurationId ?? undefined) === configurationId
  if (!isSame)
    await space.put(path(to), {
      versionId: source.versionId,
      ...(configurationId === undefined ? {} : { configurationId }),
    })
  const withConfiguration =
    configurationId === undefined ? 'no configuration' : `configuration ${configurationId}`
  process.stdout.write(
    isSame
      ? `${to}: ${source.versionId} with ${withConfiguration}, unchanged\n`
      : `${to}: ${before} -> ${source.versionId} with ${withConfiguration}\n`,
  )
}

/** A stage keeps its configuration; that of another stage never comes along unasked. */
function configurationFor(
  { configuration, from, to }: PromoteOptions,
  source: Assignment,
  present: Assignment | undefined,
): string | undefined {
  if (configuration === false) return undefined
  if (configuration !== undefined) return configuration
  if (present !== undefined) return present.configurationId ?? undefined
  if (source.configurationId === undefined || source.configurationId === null) return undefined
  throw new OperatorError(
    `${to} has no configuration yet, and that of ${from} (${source.configurationId}) may not fit: give --configuration <id>, or --no-configuration`,
  )
}
