import type { Answer, TestPlatform, TestSpace } from '@atrium/testing'

/** Content that must not stand in the audit log, whatever holds it. */
export const CONTENT = 'what-was-said-in-confidence'

interface Stage extends TestSpace {
  readonly platform: TestPlatform
}

/** What a change of the workflows service left, for the test of the audit log. */
interface Done {
  readonly answer: Answer
  readonly actor: { readonly kind: string; readonly id?: string }
  readonly resourceId: string
  readonly inSpace: boolean
  readonly secrets?: readonly string[]
}

/** Sends something as an owner of the space. */
async function sent(stage: Stage, method: string, path: string, body?: unknown): Promise<Answer> {
  return stage.platform.call(method, `/workflows/v1/spaces/${stage.spaceId}/${path}`, {
    token: stage.ownerToken,
    ...(body === undefined ? {} : { body }),
  })
}

/** Whom a user token names. */
const subjectOf = (token: string): string =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8')).sub as string

const done = (stage: Stage, answer: Answer, resourceId: string, secrets: readonly string[] = []): Done => ({
  answer,
  actor: { kind: 'user', id: subjectOf(stage.ownerToken) },
  resourceId,
  inSpace: true,
  secrets,
})

async function putWorkflow(stage: Stage): Promise<Answer> {
  return sent(stage, 'PUT', 'workflows/audited', { name: 'audited' })
}

const tasks = [
  {
    name: 'run',
    templateRef: { name: 'run-python-code', version: 'v1' },
    arguments: { script: 'main.py', args: CONTENT },
  },
]
async function putVersion(stage: Stage): Promise<Answer> {
  await putWorkflow(stage)
  return sent(stage, 'PUT', 'workflows/audited/versions/v-1', { tasks })
}

async function putConfiguration(stage: Stage): Promise<Answer> {
  await putWorkflow(stage)
  return sent(stage, 'PUT', 'workflows/audited/configurations/c-1', { data: { key: CONTENT } })
}
const putSecret = (stage: Stage): Promise<Answer> => sent(stage, 'PUT', 'secrets/TOKEN', { value: CONTENT })

/** Assigns a version to a stage. */
async function assignStage(stage: Stage, name = 'test'): Promise<Answer> {
  await putVersion(stage)
  return sent(stage, 'PUT', `workflows/audited/stages/${name}`, { versionId: 'v-1' })
}

async function createRun(stage: Stage): Promise<Answer> {
  await assignStage(stage)
  return sent(stage, 'POST', 'workflows/audited/runs?stage=test', { configuration: { about: CONTENT } })
}

/** A run that failed. @returns its path and id */
async function failedRun(stage: Stage): Promise<{ path: string; runId: string }> {
  const { runId } = (await createRun(stage)).body
  await stage.platform.pool.query(
    "UPDATE workflows.runs SET status = 'Failed', completed_at = now() WHERE run_id = $1",
    [runId],
  )
  return { path: `workflows/audited/runs/${runId}`, runId }
}

const TRIGGER = 'workflows/audited/triggers/hook'
const secretOf = ({ body }: Answer): string => body.webhookUrl.split('/').at(-1)
async function putTrigger(stage: Stage): Promise<Answer> {
  await assignStage(stage)
  return sent(stage, 'PUT', TRIGGER, { type: 'webhook', stage: 'test' })
}

/** How each operation of the service that is no GET is walked, and which entry it must leave. */
export const workflowsWalks: Readonly<Record<string, (stage: Stage) => Promise<Done>>> = {
  putWorkflow: async (stage) => done(stage, await putWorkflow(stage), 'audited'),
  async deleteWorkflow(stage) {
    await putWorkflow(stage)
    return done(stage, await sent(stage, 'DELETE', 'workflows/audited'), 'audited')
  },
  putVersion: async (stage) => done(stage, await putVersion(stage), 'v-1'),
  async deleteVersion(stage) {
    await putVersion(stage)
    return done(stage, await sent(stage, 'DELETE', 'workflows/audited/versions/v-1'), 'v-1')
  },
  putConfiguration: async (stage) => done(stage, await putConfiguration(stage), 'c-1'),
  async deleteConfiguration(stage) {
    await putConfiguration(stage)
    return done(stage, await sent(stage, 'DELETE', 'workflows/audited/configurations/c-1'), 'c-1')
  },
  assignStage: async (stage) => done(stage, await assignStage(stage, 'int'), 'audited/int'),
  async unassignStage(stage) {
    await assignStage(stage, 'int')
    return done(stage, await sent(stage, 'DELETE', 'workflows/audited/stages/int'), 'audited/int')
  },
  putSecret: async (stage) => done(stage, await putSecret(stage), 'TOKEN'),
  async deleteSecret(stage) {
    await putSecret(stage)
    return done(stage, await sent(stage, 'DELETE', 'secrets/TOKEN'), 'TOKEN')
  },

  async createRun(stage) {
    const answer = await createRun(stage)
    return done(stage, answer, answer.body.runId)
  },
  async cancelRun(stage) {
    const { runId } = (await createRun(stage)).body
    return done(stage, await sent(stage, 'POST', `workflows/audited/runs/${runId}:cancel`), runId)
  },
  async retryRun(stage) {
    const { path, runId } = await failedRun(stage)
    return done(stage, await sent(stage, 'POST', `${path}:retry`), runId)
  },
  async deleteRun(stage) {
    const { path, runId } = await failedRun(stage)
    return done(stage, await sent(stage, 'DELETE', path), runId)
  },
  async putTrigger(stage) {
    const answer = await putTrigger(stage)
    return done(stage, answer, 'hook', [secretOf(answer)])
  },
  async deleteTrigger(stage) {
    await putTrigger(stage)
    return done(stage, await sent(stage, 'DELETE', TRIGGER), 'hook')
  },
  async invokeTrigger(stage) {
    await putTrigger(stage)
    const answer = await sent(stage, 'POST', `${TRIGGER}:invoke`)
    return done(stage, answer, answer.body.runId)
  },
  async rotateTriggerSecret(stage) {
    await putTrigger(stage)
    const answer = await sent(stage, 'POST', `${TRIGGER}:rotate-secret`)
    return done(stage, answer, 'hook', [secretOf(answer)])
  },
  async callWebhook(stage) {
    const secret = secretOf(await putTrigger(stage))
    const answer = await stage.platform.call('POST', `/workflows/v1/webhooks/${secret}`, { body: CONTENT })
    const actor = { kind: 'system', id: 'webhook' }
    return { ...done(stage, answer, answer.body.runId, [secret]), actor }
  },
}
