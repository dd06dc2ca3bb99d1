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
}
