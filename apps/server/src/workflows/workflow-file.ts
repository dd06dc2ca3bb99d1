import { readFile, stat } from 'node:fs/promises'
import { OperatorError } from '@atrium/kernel/errors'
import { faultsOfValue } from '@atrium/kernel/http'
import {
  checkedFileSchema,
  faultsOfSchedule,
  isJsonArgument,
  type WorkflowFile,
} from '@atrium/workflows/workflow-file'
import { FileTexts, isObject, type Variables } from './file-texts.ts'
import { type FileFault, type Place, type YamlPath, YamlSource } from './yaml-source.ts'

const LARGEST_FILE = 8 * 1024 * 1024

/** A file that was read, and how to tell what is wrong with it. */
export interface ReadWorkflow {
  /** As it was named. */
  readonly name: string
  readonly file: WorkflowFile
  /** Where in its text something stands. */
  readonly placeOf: (path: YamlPath) => Place
}

/** What is wrong with a file: every fault at once, each on a line `file:line:column: message`. */
export class FileRefused extends OperatorError {
  constructor(name: string, faults: readonly FileFault[]) {
    super(linesOf(name, faults).join('\n'))
  }
}

const linesOf = (name: string, faults: readonly FileFault[]): string[] =>
  faults
    .toSorted((a, b) => a.line - b.line || a.column - b.column)
    .map(({ line, column, message }) => `${name}:${line}:${column}: ${message}`)

/**
 * Reads and checks a file, all but its tasks: those the platform checks.
 * @param name its path
 * @throws FileRefused, OperatorError when it cannot be read
 */
export async function readWorkflowFile(name: string, variables: Variables): Promise<ReadWorkflow> {
  const source = new YamlSource(await textOf(name))
  if (source.faults.length > 0) throw new FileRefused(name, source.faults)
  const texts = new FileTexts(source, variables)
  const value = withTexts(source.value(), texts)
  const faults = [
    ...texts.faults,
    ...faultsOfValue(checkedFileSchema, value).map(({ path, reason }) => ({
      ...source.placeOf(path),
      message: `${path.join('.') || 'the file'}: ${reason}`,
    })),
    ...schedulesOf(value).flatMap(([id, config]) =>
      faultsOfSchedule(config).map(({ field, reason }) => {
        const path = ['triggers', id, 'config', field]
        return { ...source.placeOf(path), message: `${path.join('.')}: ${reason}` }
      }),
    ),
  ]
  if (faults.length > 0) throw new FileRefused(name, faults)
  return { name, file: value as WorkflowFile, placeOf: (path) => source.placeOf(path) }
}

/** Triggers that fire by the clock, whatever else is wrong with the file. */
function schedulesOf(value: unknown): [string, unknown][] {
  const triggers = isObject(value) && isObject(value.triggers) ? Object.entries(value.triggers) : []
  return triggers.flatMap(([id, trigger]) =>
    isObject(trigger) && trigger.type === 'schedule' ? [[id, trigger.config] as [string, unknown]] : [],
  )
}

async function textOf(name: string): Promise<string> {
  const reason = (error: unknown): never => {
    throw new OperatorError(`${name} cannot be read: ${(error as { code?: string }).code ?? String(error)}`, {
      cause: error,
    })
  }
  const { size } = await stat(name).catch(reason)
  if (size > LARGEST_FILE) throw new OperatorError(`${name} is larger than ${LARGEST_FILE} bytes`)
  return readFile(name, 'utf8').catch(reason)
}

/** The value with each argument and each value of a configuration as text, wherever its form lets us find them. */
function withTexts(value: unknown, texts: FileTexts): unknown {
  if (!isObject(value)) return value
  return {
    ...value,
    ...mapped(value, 'versions', (version, path) =>
      isObject(version) && Array.isArray(version.tasks)
        ? {
            ...version,
            tasks: version.tasks.map((task, at) => taskWithTexts(task, [...path, 'tasks', at], texts)),
          }
        : version,
    ),
    ...mapped(value, 'configurations', (data, path) => texts.convert(data, path, 'configuration')),
  }
}

function taskWithTexts(task: unknown, path: YamlPath, texts: FileTexts): unknown {
  if (!isObject(task) || !('arguments' in task)) return task
  const template = isObject(task.templateRef) ? String(task.templateRef.name) : ''
  return {
    ...task,
    arguments: texts.convert(task.arguments, [...path, 'arguments'], 'argument', (name) =>
      isJsonArgument(template, name),
    ),
  }
}

function mapped(
  value: Readonly<Record<string, unknown>>,
  part: string,
  change: (one: unknown, path: YamlPath) => unknown,
): Record<string, unknown> {
  const given = value[part]
  if (!isObject(given)) return {}
  return {
    [part]: Object.fromEntries(Object.entries(given).map(([id, one]) => [id, change(one, [part, id])])),
  }
}
