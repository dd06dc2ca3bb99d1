import { OperatorError } from '@atrium/kernel/errors'
import { Refused } from '../client/platform-client.ts'
import { checkReferences, checkVersions } from './check-versions.ts'
import { type PushStep, pushSteps } from './push-steps.ts'
import type { SpaceClient } from './space-client.ts'
import { FileRefused, type ReadWorkflow } from './workflow-file.ts'
import type { FileFault } from './yaml-source.ts'

const OUTCOMES = { create: 'created', update: 'updated', keep: 'unchanged' } as const

export interface Pushed {
  readonly kind: PushStep['kind']
  readonly id: string
  readonly outcome: (typeof OUTCOMES)[PushStep['act']] | 'refused'
  /** What an update changed. */
  readonly changes: string
  /** Of a webhook that was just made: the platform shows it this once. */
  readonly webhookUrl?: string
}

/**
 * Makes the platform have what the file says. Nothing is deleted.
 * @param options.isDryRun only says what would be done
 * @param options.onDone is told about each thing in turn
 * @throws FileRefused with everything that is wrong; where that shows before anything is stored, nothing is
 */
export async function push(
  space: SpaceClient,
  workflow: ReadWorkflow,
  options: { isDryRun: boolean; onDone: (done: Pushed) => void },
): Promise<void> {
  const { name, file, placeOf } = workflow
  const steps = await pushSteps(space, file)
  const changed = steps.filter(({ act }) => act !== 'keep')
  const versions = new Set(changed.flatMap(({ kind, id }) => (kind === 'version' ? [id] : [])))
  const found = [
    ...(await checkVersions(space, workflow, versions)),
    ...(await checkReferences(space, workflow)),
  ]
  if (found.length > 0) throw new FileRefused(name, found)
  const refused: FileFault[] = []
  for (const step of steps) {
    const { kind, id, act, changes } = step
    try {
      const webhookUrl = act === 'keep' || options.isDryRun ? undefined : await put(space, step)
      options.onDone({
        kind,
        id,
        outcome: OUTCOMES[act],
        changes,
        ...(webhookUrl === undefined ? {} : { webhookUrl }),
      })
    } catch (error) {
      if (!(error instanceof Refused)) throw error
      // Of everything else this says nothing.
      if (kind === 'workflow') throw new OperatorError(error.message, { cause: error })
      options.onDone({ kind, id, outcome: 'refused', changes })
      refused.push({ ...placeOf(step.at), message: `${step.at.join('.')}: ${error.reason}` })
    }
  }
  if (refused.length > 0) throw new FileRefused(name, refused)
}

async function put(space: SpaceClient, { path, body }: PushStep): Promise<string | undefined> {
  const { body: shown } = await space.put(path, body)
  return (shown as { webhookUrl?: string }).webhookUrl
}
