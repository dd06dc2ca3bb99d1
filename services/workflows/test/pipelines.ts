import { setTimeout as delay } from 'node:timers/promises'
import type { Answer, TestPlatform, TestSpace } from '@atrium/testing'

export const UNKNOWN_ID = '01890000-0000-7000-8000-000000000000'

interface Sent {
  readonly body?: unknown
  readonly token?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** A task of `run-python-code`. */
export const task = (name: string, dependencies: string[] = [], args: Record<string, string> = {}) => ({
  name,
  templateRef: { name: 'run-python-code', version: 'v1' },
  arguments: { script: 'main.py', ...args },
  dependencies,
})

export type Task = ReturnType<typeof task>

let made = 0

/** Calls below one space of the workflows service, and makes what most tests of runs begin with. */
export function pipelinesIn(platform: TestPlatform, space: TestSpace) {
  const call = (
    method: string,
    path: string,
    { token = space.memberToken, ...rest }: Sent = {},
  ): Promise<Answer> =>
    platform.call(method, `/workflows/v1/spaces/${space.spaceId}/workflows${path}`, { token, ...rest })

  async function put(path: string, body: unknown): Promise<Answer> {
    const answer = await call('PUT', path, { body })
    if (![200, 201].includes(answer.status))
      throw new Error(`PUT ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
    return answer
  }

  const configure = (workflow: string, id: string, data: Record<string, string>): Promise<Answer> =>
    put(`/${workflow}/configurations/${id}`, { data })

  const assign = (
    workflow: string,
    stage: string,
    versionId: string,
    configurationId?: string,
  ): Promise<Answer> =>
    put(`/${workflow}/stages/${stage}`, {
      versionId,
      ...(configurationId === undefined ? {} : { configurationId }),
    })

  /** A workflow with version `v1`, assigned to the stage `test`. @returns its id */
  async function workflow(tasks: readonly Task[] = [task('only')], configuration?: Record<string, string>) {
    const id = `w${process.pid}-${++made}`
    await put(`/${id}`, { name: id })
    await put(`/${id}/versions/v1`, { tasks })
    if (configuration !== undefined) await configure(id, 'stage-values', configuration)
    await assign(id, 'test', 'v1', configuration === undefined ? undefined : 'stage-values')
    return id
  }

  const run = (workflowId: string, sent: Sent = {}, query = 'stage=test'): Promise<Answer> =>
    call('POST', `/${workflowId}/runs?${query}`, sent)

  /** @returns the id of a new run */
  async function running(workflowId: string): Promise<string> {
    const answer = await run(workflowId)
    if (answer.status !== 201) throw new Error(`no run: ${JSON.stringify(answer.body)}`)
    return answer.body.runId as string
  }

  /** The run once it fits. */
  async function until(workflowId: string, runId: string, fits: (run: Answer['body']) => boolean) {
    for (;;) {
      const { body } = await call('GET', `/${workflowId}/runs/${runId}`)
      if (fits(body)) return body
      await delay(10)
    }
  }

  const inStatus = (workflowId: string, runId: string, status: string) =>
    until(workflowId, runId, (one) => one.status === status)

  return { call, put, configure, assign, workflow, run, running, until, inStatus }
}

export type Pipelines = ReturnType<typeof pipelinesIn>
