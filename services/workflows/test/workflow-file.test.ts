import { faultsOfValue } from '@atrium/kernel/http'
import { expect, it } from 'vitest'
import { workflowFileSchema } from '../src/domain/workflow-file.ts'

const schema = workflowFileSchema()

const fetching = {
  name: 'code',
  templateRef: { name: 'fetch-git-code', version: 'v1' },
  arguments: { repository: 'https://git.example/a.git', depth: 1 },
}
const running = {
  name: 'train',
  templateRef: { name: 'run-python-code', version: 'v1.1' },
  arguments: { script: 'train.py', env: { A: '${secret.A}' }, timeoutSeconds: 60 },
  dependencies: ['code'],
}
const fileOf = (...tasks: unknown[]) => ({
  id: 'forecast',
  name: 'Forecast',
  versions: { v1: { tasks } },
  configurations: { test: { DAYS: 7, DRY: true } },
  stages: { test: { versionId: 'v1', configurationId: 'test' } },
  triggers: { nightly: { type: 'schedule', stage: 'test', config: { schedule: '0 3 * * *' } } },
})

/** Places of what editors underline, without that of the task. */
const underlined = (...tasks: unknown[]): string[] =>
  faultsOfValue(schema, fileOf(...tasks)).map(({ path }) => path.slice(4).join('.'))

it('editors take a right file', () => {
  expect(faultsOfValue(schema, fileOf(fetching, running))).toEqual([])
})

it.each([
  [
    'an argument that its template has not',
    { ...running, arguments: { script: 'a.py', scirpt: 1 } },
    'arguments.scirpt',
  ],
  [
    'an argument of another template',
    { ...fetching, arguments: { repository: 'x', script: 'y' } },
    'arguments.script',
  ],
  ['a required argument that is missing', { ...running, arguments: {} }, 'arguments.script'],
  ['no arguments', { ...running, arguments: undefined }, 'arguments'],
  ['a mapping where no JSON is wanted', { ...running, arguments: { script: { a: 1 } } }, 'arguments.script'],
  ['an unknown template', { ...running, templateRef: { name: 'run', version: 'v1' } }, 'templateRef.name'],
  [
    'a version without v',
    { ...running, templateRef: { name: 'run-python-code', version: '1.2.3' } },
    'templateRef.version',
  ],
  ['an unknown field', { ...running, dependsOn: [] }, 'dependsOn'],
])('editors underline %s', (_name, task, place) => {
  expect(underlined(fetching, JSON.parse(JSON.stringify(task)))).toEqual([place])
})
