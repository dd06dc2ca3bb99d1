import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readWorkflowFile } from './workflow-file.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'atrium-workflow-file-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

async function read(text: string, variables: Record<string, string> = {}) {
  const name = path.join(folder, 'workflow.yaml')
  await writeFile(name, text)
  return readWorkflowFile(name, variables)
}

/** The lines of what is wrong, without the file's name. */
async function faultsOf(text: string, variables: Record<string, string> = {}): Promise<string[]> {
  const error = await read(text, variables).catch((refused: unknown) => refused)
  if (!(error instanceof Error)) return []
  return error.message.split('\n').map((line) => line.replace(/^.*?\.yaml:/, ''))
}

const file = (more: string): string => `id: forecast\nname: Forecast\n${more}`

const oneTask = (lines: string): string =>
  file(`versions:
  v1:
    tasks:
      - name: train
        templateRef: {name: run-python-code, version: v1}
        arguments:
${lines.replace(/^/gm, '          ')}
`)

const argumentsOf = async (lines: string, variables?: Record<string, string>) =>
  (await read(oneTask(lines), variables)).file.versions.v1?.tasks[0]?.arguments

test('numbers and truth values are taken as they are written', async () => {
  expect(await argumentsOf('timeoutSeconds: 0600\nargs: 1.10\nscript: yes\nimage: true')).toEqual({
    timeoutSeconds: '0600',
    args: '1.10',
    script: 'yes',
    image: 'true',
  })
})

test('a mapping is JSON where the argument is JSON, and a fault elsewhere', async () => {
  expect(await argumentsOf('env: {A: "1", B: "${secret.TOKEN}"}')).toEqual({
    env: '{"A":"1","B":"${secret.TOKEN}"}',
  })
  expect(await faultsOf(oneTask('args: [a, b]'))).toEqual([
    '9:11: versions.v1.tasks.0.arguments.args: must be a text',
  ])
})

test('variables of the environment are filled in, and read for no references', async () => {
  const variables = { COMMIT: 'abc', HOSTILE: '${secret.TOKEN}' }
  expect(
    await argumentsOf(
      'script: "${env.COMMIT}.py"\nargs: "${env.HOSTILE} ${config.KEY} $${env.COMMIT}"\nenv: {A: "${env.COMMIT}"}',
      variables,
    ),
  ).toEqual({
    script: 'abc.py',
    args: '$${secret.TOKEN} ${config.KEY} $${env.COMMIT}',
    env: '{"A":"abc"}',
  })
  const { configurations } = (
    await read(
      file('configurations:\n  test:\n    A: ${env.HOSTILE}\n    B: $${env.COMMIT}\n    C: $${x}\n'),
      variables,
    )
  ).file
  expect(configurations).toEqual({ test: { A: '${secret.TOKEN}', B: '${env.COMMIT}', C: '$${x}' } })
})

test('what a file leaves out is empty', async () => {
  const read1 = await read(file(''))
  expect(read1.file).toMatchObject({ versions: {}, configurations: {}, stages: {}, triggers: {} })
})

test('every mistake is told at once, with its place', async () => {
  expect(
    await faultsOf(`id: Forecast
nam: x
versions:
  Version One:
    tasks: []
  v1: {}
configurations:
  test:
    DAYS:
    HOST: \${env.MISSING}
stages:
  prod: {versionId: v1, config: x}
  production: {versionId: v1}
triggers:
  nightly: {type: cron, stage: prod}
`),
  ).toEqual([
    '1:1: name: is required',
    expect.stringMatching(/^1:1: id: must be 1 to 63/),
    '2:1: nam: is not known here',
    expect.stringMatching(/^4:3: versions\.Version One: must be 1 to 63/),
    '6:3: versions.v1.tasks: is required',
    '9:5: configurations.test.DAYS: has no value; write "" for an empty text',
    '10:5: configurations.test.HOST: the environment variable MISSING is not set',
    '12:25: stages.prod.config: is not known here',
    '13:3: stages.production: is not known here',
    '15:13: triggers.nightly.type: must be one of webhook, schedule',
  ])
})

test.each([
  ['a key that stands twice', 'a: 1\na: 2\n', /^2:1: .*unique/],
  ['no YAML', 'a: [1,\nb: 2\n', /^2:1: /],
  ['several documents', 'a: 1\n---\nb: 2\n', /multiple documents/],
  ['a list', '- a\n', /^1:1: the file: must be an object/],
  ['nothing', '', /^1:1: the file: must be an object/],
])('%s is told with its line', async (_name, text, message) => {
  expect((await faultsOf(text))[0]).toMatch(message)
})

test('a reference that nobody quoted is told once, with what to do', async () => {
  const faults = await faultsOf(file('configurations:\n  test: {A: ${env.NOPE}, B: ${env.NOPE}, C: c}\n'))
  expect(faults).toEqual([
    expect.stringMatching(/^4:.*a text with \$\{…\} within \{\} or \[\] stands in quotes$/),
  ])
})

test('a schedule that no clock has is told with the rest', async () => {
  const nightly = (schedule: string, timezone: string) =>
    file(
      `maxParallelRuns: 0\ntriggers:\n  nightly:\n    type: schedule\n    stage: test\n    config: {schedule: "${schedule}", timezone: ${timezone}}\n`,
    )
  expect(await faultsOf(nightly('61 * * * *', 'UTC'))).toEqual([
    expect.stringMatching(/^3:1: maxParallelRuns/),
    expect.stringMatching(/^8:14: triggers\.nightly\.config\.schedule: .*minute "61"/),
  ])
  expect(await faultsOf(nightly('61 * * * *', 'Mars/X'))).toEqual([
    expect.stringMatching(/^3:1: /),
    expect.stringMatching(/^8:14: triggers\.nightly\.config\.schedule: .*minute "61"/),
    expect.stringMatching(/^8:\d+: triggers\.nightly\.config\.timezone: /),
  ])
  expect(await faultsOf(file('triggers:\n  nightly: {type: schedule, stage: test}\n'))).toEqual([
    '4:3: triggers.nightly.config.schedule: is required',
  ])
})

test('aliases stand for what they name, and cannot grow without end', async () => {
  const text = file(`configurations:
  test: &common {DAYS: 07}
  int: *common
stages:
  test: {versionId: v1, configurationId: test}
`)
  expect((await read(text)).file.configurations).toEqual({ test: { DAYS: '07' }, int: { DAYS: '07' } })
  const levels = Array.from(
    { length: 12 },
    (_, i) => `  - &a${i + 1} [${Array(9).fill(`*a${i}`).join(', ')}]`,
  )
  await expect(read(`x:\n  - &a0 [1]\n${levels.join('\n')}\n`)).rejects.toThrow(/alias/i)
})

test('a file that is not there is an error in words', async () => {
  await expect(readWorkflowFile(path.join(folder, 'missing.yaml'), {})).rejects.toThrow(
    /missing\.yaml cannot be read: ENOENT/,
  )
})
