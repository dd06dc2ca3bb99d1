import type { WorkflowFile } from '@atrium/workflows/workflow-file'
import pLimit from 'p-limit'
import { differencesOf } from './differences.ts'
import type { SpaceClient } from './space-client.ts'
import type { YamlPath } from './yaml-source.ts'

const AT_ONCE = 8

export type StepKind = 'workflow' | 'version' | 'configuration' | 'stage' | 'trigger'

/** One thing that the file describes, and what a push would do about it. */
export interface PushStep {
  readonly kind: StepKind
  readonly id: string
  /** In the file. */
  readonly at: YamlPath
  /** On the platform. */
  readonly path: string
  readonly body: Readonly<Record<string, unknown>>
  readonly act: 'create' | 'update' | 'keep'
  /** What an update changes, for people. */
  readonly changes: string
}

type Entries = Readonly<Record<string, unknown>>

/** How a kind of thing is asked for, and what of it is compared, each entry by its name. */
interface Wanted extends Pick<PushStep, 'kind' | 'id' | 'at' | 'path' | 'body'> {
  readonly compared: (shown: Entries) => Entries
}

/**
 * What a push would do, in the order in which it must be done: things come after what they refer to.
 * @throws as PlatformClient.get
 */
export async function pushSteps(space: SpaceClient, file: WorkflowFile): Promise<PushStep[]> {
  const limit = pLimit(AT_ONCE)
  return Promise.all(
    wanted(space, file).map((one) =>
      limit(async () => {
        const { compared, ...step } = one
        const present = await space.find<Entries>(one.path)
        if (present === undefined) return { ...step, act: 'create' as const, changes: '' }
        const changes = differencesOf(compared(present), compared(one.body))
        return { ...step, act: changes === '' ? ('keep' as const) : ('update' as const), changes }
      }),
    ),
  )
}

function wanted(space: SpaceClient, file: WorkflowFile): Wanted[] {
  const { id, name, maxParallelRuns, versions, configurations, stages, triggers } = file
  const path = (...parts: string[]): string => space.workflowPath(id, ...parts)
  return [
    {
      kind: 'workflow',
      id,
      at: ['id'],
      path: path(),
      // Without the field the platform leaves its limit as it is.
      body: { name, ...(maxParallelRuns === undefined ? {} : { maxParallelRuns }) },
      compared: (shown) => ({
        name: shown.name,
        ...(maxParallelRuns === undefined ? {} : { maxParallelRuns: shown.maxParallelRuns }),
      }),
    },
    ...Object.entries(versions).map(([versionId, body]) => ({
      kind: 'version' as const,
      id: versionId,
      at: ['versions', versionId],
      path: path('versions', versionId),
      body,
      compared: comparedTasks,
    })),
    ...Object.entries(configurations).map(([configurationId, data]) => ({
      kind: 'configuration' as const,
      id: configurationId,
      at: ['configurations', configurationId],
      path: path('configurations', configurationId),
      body: { data },
      compared: (shown: Entries) => shown.data as Entries,
    })),
    ...Object.entries(stages).map(([stage, body]) => ({
      kind: 'stage' as const,
      id: stage,
      at: ['stages', stage],
      path: path('stages', stage),
      body,
      compared: (shown: Entries) => ({
        [`version ${String(shown.versionId)}`]: true,
        [`configuration ${String(shown.configurationId ?? 'none')}`]: true,
      }),
    })),
    ...Object.entries(triggers).map(([triggerId, body]) => ({
      kind: 'trigger' as const,
      id: triggerId,
      at: ['triggers', triggerId],
      path: path('triggers', triggerId),
      body,
      compared: comparedTrigger,
    })),
  ]
}

interface Task {
  readonly name: string
  readonly templateRef: unknown
  readonly arguments?: Entries
  readonly dependencies?: readonly string[]
}

/** By name, and their order, which only matters to whoever looks at them. */
const comparedTasks = ({ tasks }: Entries): Entries => ({
  ...Object.fromEntries(
    (tasks as Task[]).map(({ name, templateRef, arguments: values = {}, dependencies = [] }) => [
      name,
      { templateRef, arguments: values, dependencies },
    ]),
  ),
  order: (tasks as Task[]).map(({ name }) => name),
})

function comparedTrigger({ type, stage, enabled, config }: Entries): Entries {
  const { signatureValidation = false, schedule = null, timezone = 'UTC' } = (config ?? {}) as Entries
  return { type, stage, enabled: enabled ?? true, signatureValidation, schedule, timezone }
}
