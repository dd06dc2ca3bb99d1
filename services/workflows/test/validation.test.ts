import { beforeAll, describe, expect, it } from 'vitest'
import { createWorld, pythonTask, type World } from './world.ts'

let world: World
beforeAll(async () => {
  world = await createWorld()
  await world.put('workflows/w', { name: 'w' })
})

async function errorsOf(tasks: readonly unknown[]): Promise<string[]> {
  const { status, body } = await world.send('POST', 'workflows/w/versions:validate', { body: { tasks } })
  expect(status).toBe(200)
  expect(body.valid).toBe(body.errors.length === 0)
  return body.errors
}

const task = (templateRef: object, values: object, name = 'a') => ({ name, templateRef, arguments: values })
const python = (values: object, version = 'v1') =>
  task({ name: 'run-python-code', version }, { script: 'main.py', ...values })
const git = (values: object, version = 'v1') =>
  task({ name: 'fetch-git-code', version }, { repository: 'https://git.example/a.git', ...values })
const ray = (values: object) =>
  task({ name: 'submit-ray-job', version: 'v1' }, { entrypoint: 'e', ...values })
const app = (values: object) =>
  task(
    { name: 'fetch-git-code-atc', version: 'v1' },
    { repository: 'https://g.example/a', appId: '1', installationId: '2', ...values },
  )

describe('valid tasks', () => {
  it.each([
    ['a chain', [pythonTask('a'), pythonTask('b', 'a'), pythonTask('c', 'b')]],
    [
      'a diamond, its end first',
      [pythonTask('d', 'b', 'c'), pythonTask('b', 'a'), pythonTask('c', 'a'), pythonTask('a')],
    ],
    ['200 tasks', Array.from({ length: 200 }, (_, n) => pythonTask(`t${n}`, ...(n === 0 ? [] : ['t0'])))],
    ['a name of 128', [pythonTask(`a${'-'.repeat(126)}Z`)]],
    [
      'every form of a version',
      ['v1', 'v1.0', 'v1.1.0'].map((version, n) => ({ ...python({}, version), name: `t${n}` })),
    ],
    ['secrets and configuration in env', [python({ env: '{"A": "${config.A}x", "T": "${secret.T}"}' })]],
    ['env that is one reference', [python({ env: '${config.ENV}' })]],
    [
      'text that is no reference',
      [python({ args: 'echo $HOME $(id) `id` ; rm -rf / && $${config.A} > a | b' })],
    ],
    ['an argument of 64 KiB', [python({ args: 'x'.repeat(65_536) })]],
    [
      'repositories of every form',
      [
        'https://g.example/a.git',
        'ssh://git@g.example:22/a',
        'git@g.example:a/b.git',
        'http://g.example/a',
        '${config.REPO}',
      ].map((repository, n) => ({ ...git({ repository }), name: `t${n}` })),
    ],
    ['a secret key of an app', [app({ privateKey: '${secret.KEY}' })]],
    [
      'a ray job',
      [
        ray({
          rayAddress: 'http://ray.example:8265',
          entrypointNumCpus: '0.5',
          runtimeEnv: '{"pip": ["a"]}',
        }),
      ],
    ],
  ])('%s', async (_, tasks) => {
    expect(await errorsOf(tasks)).toEqual([])
  })
})

describe('faults', () => {
  it.each([
    ['no tasks', [], /1 to 200 tasks; these are 0/],
    ['201 tasks', Array.from({ length: 201 }, (_, n) => pythonTask(`t${n}`)), /these are 201/],
    ['no object', [5], /^task 1: must be an object$/],
    ['null', [null], /^task 1: must be an object$/],
    ['no name', [{ ...pythonTask('a'), name: undefined }], /^task 1: name is required/],
    ['a name with _', [pythonTask('a_b')], /task "a_b": name must be/],
    ['a name that begins with a digit', [pythonTask('1a')], /name must be/],
    ['a name of 129', [pythonTask('a'.repeat(129))], /name must be/],
    ['an unknown field', [{ ...pythonTask('a'), retries: 3 }], /^task "a": there is no field "retries"$/],
    [
      'an unknown field of the template',
      [{ ...pythonTask('a'), templateRef: { name: 'run-python-code', version: 'v1', x: 1 } }],
      /no field "x" in templateRef/,
    ],
    ['no template', [{ ...pythonTask('a'), templateRef: 'run-python-code' }], /templateRef is required/],
    [
      'an unknown template',
      [task({ name: 'rm', version: 'v1' }, {})],
      /^task "a": there is no template "rm"$/,
    ],
    [
      'a name that every object has',
      [task({ name: 'constructor', version: 'v1' }, {})],
      /no template "constructor"/,
    ],
    ...[
      '1.2.3',
      '1',
      'v',
      'v01',
      'v1.',
      'v1.2.3.4',
      'V1',
      'v1.x',
      'latest',
      '',
      'v1 ',
      'v1.0.0-rc1',
      'v-1',
    ].map((version): [string, unknown[], RegExp] => [
      `version ${JSON.stringify(version)}`,
      [python({}, version)],
      /template version .* must be like v1, v1\.2 or v1\.2\.3$/,
    ]),
    [
      'a release that there is not',
      [python({}, 'v1.7')],
      /^task "a": there is no release v1\.7 of the template run-python-code$/,
    ],
    ['a major that there is not', [python({}, 'v2')], /no release v2/],
    ['duplicate names', [pythonTask('a'), pythonTask('a')], /^task "a": several tasks have this name$/],
    ['itself', [pythonTask('a', 'a')], /^task "a": depends on itself$/],
    [
      'a cycle of two',
      [pythonTask('a', 'b'), pythonTask('b', 'a')],
      /^task "a": stands in a cycle: "a" → "b" → "a"$/,
    ],
    ['an unknown dependency', [pythonTask('a', 'x')], /^task "a": depends on "x", which is no task/],
    [
      'a dependency twice',
      [pythonTask('b'), pythonTask('a', 'b', 'b')],
      /^task "a": names a dependency twice$/,
    ],
    [
      'dependencies of another type',
      [{ ...pythonTask('a'), dependencies: 'b' }],
      /dependencies must be an array/,
    ],
    [
      'dependencies that are no names',
      [{ ...pythonTask('a'), dependencies: [1] }],
      /dependencies must be an array/,
    ],
    [
      'too many dependencies',
      [{ ...pythonTask('a'), dependencies: Array(50_000).fill('b') }],
      /there are 50000 dependencies/,
    ],
    [
      'arguments of another type',
      [{ ...pythonTask('a'), arguments: [] }],
      /arguments must be an object of strings/,
    ],
    [
      'an argument that is no string',
      [python({ timeoutSeconds: 5 })],
      /the argument "timeoutSeconds" must be a string/,
    ],
    [
      'an argument that is missing',
      [task({ name: 'run-python-code', version: 'v1' }, {})],
      /^task "a": script is required$/,
    ],
    [
      'an argument that is unknown',
      [python({ scripts: 'x' })],
      /^task "a": there is no argument "scripts" in run-python-code v1\.1\.0$/,
    ],
    [
      'an argument of a later release',
      [python({ timeoutSeconds: '5' }, 'v1.0')],
      /no argument "timeoutSeconds" in run-python-code v1\.0\.0/,
    ],
    ['a quote without an end', [python({ args: 'a "b' })], /^task "a": args: a quote has no end$/],
    ['an argument over 64 KiB', [python({ args: 'ä'.repeat(32_769) })], /"args" is longer than 65536 bytes/],
    [
      'a reference without end',
      [python({ args: 'a ${config.A' })],
      /^task "a": args: "\$\{config\.A" is no reference$/,
    ],
    [
      'a nested reference',
      [python({ args: '${config.${config.A}}' })],
      /args: "\$\{config\.\$\{config\.A\}" is no reference/,
    ],
    ['a reference to the environment', [python({ args: '${env.HOME}' })], /is no reference/],
    ['an empty reference', [python({ args: '${}' })], /"\$\{\}" is no reference/],
    [
      'a secret in a command line',
      [python({ args: '${secret.T}' })],
      /^task "a": args: no secret may stand in it$/,
    ],
    ['a secret in a revision', [git({ revision: '${secret.T}' })], /revision: no secret/],
    ['a token in clear', [git({ token: 'abc' })], /token: must be one secret reference/],
    ['a token with more around it', [git({ token: 'x${secret.T}' })], /token: must be one secret reference/],
    [
      'a token from the configuration',
      [git({ token: '${config.T}' })],
      /token: must be one secret reference/,
    ],
    ['a key in clear', [app({ privateKey: 'PEM' })], /privateKey: must be one secret reference/],
    [
      'both ray addresses',
      [ray({ rayAddress: 'http://a', rayCluster: 'b' })],
      /exactly one of rayAddress, rayCluster/,
    ],
    ['no ray address', [ray({})], /exactly one of rayAddress, rayCluster/],
    ...['0', '-1', '1.5', '604801', 'x', '', '1e3'].map((timeoutSeconds): [string, unknown[], RegExp] => [
      `timeout ${JSON.stringify(timeoutSeconds)}`,
      [python({ timeoutSeconds })],
      /timeoutSeconds: must be a whole number from 1 to 604800/,
    ]),
    ...['/etc/passwd', '../x', 'a/../../x', 'a\\..\\x', '', '-c', 'a\nb'].map(
      (script): [string, unknown[], RegExp] => [
        `script ${JSON.stringify(script)}`,
        [python({ script })],
        /script: must be a path within the workspace/,
      ],
    ),
    ...[
      '--upload-pack=x',
      '-u',
      'ext::sh -c id',
      'git://',
      'ftp://a/b',
      'https://u:p@g.example/a',
      'a b',
      'ssh://-oProxyCommand=id/x',
      'x@-oProxyCommand=id:a',
      'git@h:-a',
    ].map((repository): [string, unknown[], RegExp] => [
      `repository ${repository}`,
      [git({ repository })],
      /repository: (?:must|is|may|the)/,
    ]),
    ...['-x', 'a..b', 'a b', 'a~1', 'a^', 'a:b', '@{u}', 'x.lock', ''].map(
      (revision): [string, unknown[], RegExp] => [
        `revision ${JSON.stringify(revision)}`,
        [git({ revision })],
        /revision: must be a branch/,
      ],
    ),
    ...['x', '[]', '{"A": 1}', '{"A-B": "x"}', '{"ATRIUM_RUN_ID": "x"}', '{"A": ${config.A}}'].map(
      (env): [string, unknown[], RegExp] => [`env ${env}`, [python({ env })], /env: must/],
    ),
  ] as [string, unknown[], RegExp][])('%s', async (_, tasks, fault) => {
    const errors = await errorsOf(tasks)
    expect(errors).toHaveLength(1)
    expect(errors[0]).toMatch(fault)
  })

  it('are told all at once, each with its task', async () => {
    const tasks = [
      pythonTask('a', 'b'),
      pythonTask('b', 'c'),
      pythonTask('c', 'a', 'nowhere'),
      { ...python({ scripts: 'x', args: '${x}' }, 'v1.0'), name: 'e', color: 'red' },
      'f',
    ]
    expect(await errorsOf(tasks)).toEqual([
      'task "e": there is no field "color"',
      'task "e": there is no argument "scripts" in run-python-code v1.0.0',
      'task "e": args: "${x}" is no reference',
      'task 5: must be an object',
      'task "c": depends on "nowhere", which is no task of this version',
      'task "a": stands in a cycle: "a" → "b" → "c" → "a"',
    ])
  })

  it('of a megabyte are bounded', async () => {
    const fields = Object.fromEntries(Array.from({ length: 60_000 }, (_, n) => [`f${n}`, 1]))
    expect(await errorsOf([{ ...pythonTask('a'), ...fields }])).toHaveLength(50)
    const references = Array.from({ length: 15 }, (_, n) => ({
      ...python({ args: '${'.repeat(32_000) }),
      name: `t${n}`,
    }))
    expect((await errorsOf(references)).length).toBeLessThanOrEqual(150)
    const long = [{ ...pythonTask('a'), name: 'x'.repeat(900_000) }]
    expect((await errorsOf(long))[0]?.length).toBeLessThan(400)
    const ring = Array.from({ length: 200 }, (_, n) => pythonTask(`t${n}`, `t${(n + 1) % 200}`))
    expect(await errorsOf(ring)).toEqual([
      expect.stringMatching(/^task "t0": stands in a cycle: "t0" → .*"t19" → … → "t0"$/),
    ])
  })

  it('of a body that is none are answered 400 and 413', async () => {
    const send = (body: unknown) => world.send('POST', 'workflows/w/versions:validate', { body })
    for (const body of [{}, { tasks: {} }, { tasks: null }, [], '{"tasks": ['])
      expect((await send(body)).status).toBe(400)
    expect((await send(`{"tasks": ${'['.repeat(50_000)}${']'.repeat(50_000)}}`)).status).toBe(400)
    expect((await send({ tasks: ['x'.repeat(1_100_000)] })).status).toBe(413)
  })

  it('change nothing', async () => {
    await errorsOf([pythonTask('a')])
    expect((await world.send('GET', 'workflows/w/versions')).body.totalSize).toBe(0)
  })
})
