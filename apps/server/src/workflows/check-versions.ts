import type { WorkflowFile } from '@atrium/workflows/workflow-file'
import type { SpaceClient } from './space-client.ts'
import type { ReadWorkflow } from './workflow-file.ts'
import type { FileFault, YamlPath } from './yaml-source.ts'

interface Validation {
  readonly valid: boolean
  readonly errors: readonly string[]
}

/**
 * Asks the platform about the tasks of versions; nothing is stored.
 * @param only ids of the versions to ask about
 */
export async function checkVersions(
  space: SpaceClient,
  { file, placeOf }: ReadWorkflow,
  only: ReadonlySet<string>,
): Promise<FileFault[]> {
  const faults: FileFault[] = []
  for (const [versionId, version] of Object.entries(file.versions)) {
    if (!only.has(versionId)) continue
    const { errors } = await space.post<Validation>(
      space.workflowPath(file.id, 'versions:validate').replaceAll('%3A', ':'),
      version,
    )
    const at: YamlPath = ['versions', versionId, 'tasks']
    for (const error of errors) {
      const place = placeOf([...at, ...placeInTasks(error, version.tasks)])
      faults.push({ ...place, message: `versions.${versionId}: ${error}` })
    }
  }
  return faults
}

type Tasks = WorkflowFile['versions'][string]['tasks']

/** The platform names the task first, as JSON or by its number; then perhaps the argument or field. */
function placeInTasks(error: string, tasks: Tasks): YamlPath {
  const [, number, quoted, rest = ''] = /^task (?:(\d+)|("(?:[^"\\]|\\.)*")): (.*)$/s.exec(error) ?? []
  if (number === undefined && quoted === undefined) return []
  const sought: unknown = quoted === undefined ? undefined : JSON.parse(quoted)
  const index = number === undefined ? tasks.findLastIndex(({ name }) => name === sought) : Number(number) - 1
  if (index === -1) return []
  return [index, ...placeInTask(rest, tasks[index]?.arguments ?? {})]
}

function placeInTask(reason: string, given: Readonly<Record<string, unknown>>): YamlPath {
  const named = Object.keys(given).find(
    (name) => reason.startsWith(`${name}: `) || reason.includes(JSON.stringify(name)),
  )
  if (/^depends |dependenc|cycle/.test(reason)) return ['dependencies']
  if (/template/.test(reason)) return ['templateRef']
  return named === undefined ? [] : ['arguments', named]
}

/** Versions and configurations that stages name must stand in the file, or be on the platform. */
export async function checkReferences(
  space: SpaceClient,
  { file, placeOf }: ReadWorkflow,
): Promise<FileFault[]> {
  const faults: FileFault[] = []
  for (const [stage, { versionId, configurationId }] of Object.entries(file.stages)) {
    const wanted = [
      ['versionId', 'versions', versionId, file.versions],
      ['configurationId', 'configurations', configurationId, file.configurations],
    ] as const
    for (const [field, list, id, own] of wanted) {
      if (id === undefined || id === null || Object.hasOwn(own, id)) continue
      if ((await space.find(space.workflowPath(file.id, list, id))) !== undefined) continue
      const path = ['stages', stage, field]
      faults.push({
        ...placeOf(path),
        message: `${path.join('.')}: ${JSON.stringify(id)} stands neither in the file nor on the platform`,
      })
    }
  }
  return faults
}
