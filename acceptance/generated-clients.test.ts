import { execFileSync } from 'node:child_process'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { startTestPlatform, type TestPlatform } from '@atrium/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { root } from './processes.ts'

/** The path that a script prints; undefined where its packages cannot be had. */
function find(script: string): string | undefined {
  try {
    return execFileSync(path.join(root, 'scripts', script), { encoding: 'utf8' }).trim()
  } catch {
    return undefined
  }
}

const python = find('get-openapi-python-client.sh')
const typescript = find('get-openapi-typescript.sh')

let platform: TestPlatform
let folder = ''
beforeAll(async () => {
  platform = await startTestPlatform()
  folder = await mkdtemp(path.join(tmpdir(), 'atrium-clients-'))
})
afterAll(async () => {
  await platform.close()
  await rm(folder, { recursive: true, force: true })
})

async function documentOf(address: string): Promise<string> {
  const file = path.join(folder, `${address}.json`)
  await writeFile(file, await (await fetch(`${platform.url}/${address}/openapi-3.1.json`)).text())
  return file
}

describe.skipIf(python === undefined)('a Python client (skipped without Python packages)', () => {
  it.each([
    ['auth', 60],
    ['portal', 130],
    ['llm', 40],
    ['agents', 70],
    ['workflows', 70],
  ])('of /%s compiles, with models that read well', async (address, most) => {
    const client = path.join(folder, address)
    const from = await documentOf(address)
    execFileSync(python ?? '', ['generate', '--path', from, '--output-path', client, '--meta', 'none'])
    execFileSync('python3', ['-m', 'compileall', '-q', client])
    const models = (await readdir(path.join(client, 'models'))).filter((file) => file.endsWith('.py'))
    expect(models.length).toBeLessThan(most)
    expect(
      models.filter((file) => /response_\d|_body|(?<!_(after|before))_type_\d|_item/.test(file)),
    ).toEqual([])
    expect(models).toContain('error.py')
  })
})

/** What an application would write with the types of a service: the compiler finds wrong values, and only these. */
const USES = {
  auth: `
    import type { components, operations } from './auth.d.ts'
    const account: components['schemas']['CreateAccount'] = { qxId: 'ada', name: 'Ada' }
    type Sessions = operations['listSessions']['responses'][200]['content']['application/json']
    export const idsOf = ({ sessions }: Sessions): string[] => sessions.map((session) => session.sessionId)
    // @ts-expect-error no name
    export const accounts: components['schemas']['CreateAccount'][] = [account, { qxId: 'bob' }]`,
  portal: `
    import type { components, operations } from './portal.d.ts'
    type Query = NonNullable<operations['listApiKeys']['parameters']['query']>
    const query: Query = { sortBy: 'expiryDate', sortOrder: 'desc' }
    // @ts-expect-error no field of a key
    export const queries: Query[] = [query, { sortBy: 'nothing' }]
    export const rotation: components['schemas']['RotateApiKey'] = {}
    type Created = operations['createApiKey']['responses'][201]['content']['application/json']
    export const valueOf = (key: Created): string => key.apiKeyValue`,
  llm: `
    import type { components } from './llm.d.ts'
    type Input = components['schemas']['ChatCompletionRequest']
    export const input: Input = { model: 'm', messages: [{ role: 'user', content: 'Hello' }] }
    type Answer = components['schemas']['ChatCompletion']
    export const textOf = ({ choices }: Answer): string => choices[0]?.message.content ?? ''
    type Chunk = components['schemas']['ChatCompletionChunk']
    export const partOf = ({ choices }: Chunk): string => choices[0]?.delta.content ?? ''
    // @ts-expect-error no messages
    export const empty: Input = { model: 'm' }`,
  agents: `
    import type { components, operations } from './agents.d.ts'
    type Search = components['schemas']['VectorSearch']
    export const search: Search = { queryEmbedding: [1, 2], limit: 3 }
    type Query = NonNullable<operations['listAgents']['parameters']['query']>
    export const query: Query = { sortBy: 'name' }
    // @ts-expect-error no field of an agent
    export const wrong: Query = { sortBy: 'nothing' }`,
  workflows: `
    import type { components, operations } from './workflows.d.ts'
    type Task = components['schemas']['PutTask']
    const templateRef = { name: 'run-python-code', version: 'v1' }
    const task: Task = { name: 'train', templateRef, arguments: { script: 'main.py' } }
    // @ts-expect-error a script is text
    export const tasks: Task[] = [task, { name: 'a', templateRef, arguments: { script: 5 } }]
    type Page = operations['listVersions']['responses'][200]['content']['application/json']
    export const namesOf = ({ versions }: Page): string[] => versions.flatMap(({ tasks }) => tasks.map(({ name }) => name))
    // @ts-expect-error no stage
    export const stages: components['schemas']['Stage'][] = ['test', 'int', 'e2e', 'prod', 'dev']`,
}

describe.skipIf(typescript === undefined)('types for TypeScript (skipped without npm packages)', () => {
  it.each(Object.entries(USES))('of /%s compile with a use of them', async (address, use) => {
    execFileSync(
      typescript ?? '',
      [await documentOf(address), '--default-non-nullable=false', '-o', path.join(folder, `${address}.d.ts`)],
      {
        stdio: 'pipe',
      },
    )
    const file = path.join(folder, `use-${address}.ts`)
    await writeFile(file, use)
    const options = ['--noEmit', '--strict', '--noUncheckedIndexedAccess', '--allowImportingTsExtensions']
    const tsc = [path.join(root, 'node_modules/.bin/tsc'), ...options, '--module', 'esnext']
    const run = () =>
      execFileSync(tsc[0] ?? '', [...tsc.slice(1), '--moduleResolution', 'bundler', file], {
        cwd: folder,
        stdio: 'pipe',
      })
    expect(run().toString()).toBe('')
  })
})
