import type { Answer, TestPlatform } from '@atrium/testing'
import { type Pipelines, task } from '../pipelines.ts'

export const WEBHOOK = { type: 'webhook', stage: 'test', enabled: true, config: {} }
export const NIGHTLY = { schedule: '30 2 * * 1-5', timezone: 'Europe/Berlin' }
export const SCHEDULE = { type: 'schedule', stage: 'test', enabled: true, config: NIGHTLY }

export interface Call {
  readonly body?: string | Buffer
  readonly headers?: Readonly<Record<string, string>>
}

/** The secret of a webhook, which its address ends with. */
export const secretOf = (url: string): string => url.split('/').at(-1) ?? ''

/** Calls of a webhook. */
export const callHook = (
  platform: TestPlatform,
  url: string,
  { body, headers = {} }: Call = {},
): Promise<Answer> =>
  platform.call('POST', new URL(url).pathname, { headers, ...(body === undefined ? {} : { body }) })

/** A workflow whose stage `test` has a version and a configuration. @returns its id */
export const ready = (pipelines: Pipelines): Promise<string> =>
  pipelines.workflow([task('only')], { KEY: 'value' })

export const putTrigger = (
  pipelines: Pipelines,
  workflow: string,
  id: string,
  body: unknown,
  headers = {},
): Promise<Answer> => pipelines.call('PUT', `/${workflow}/triggers/${id}`, { body, headers })

/** The row of the only trigger of a workflow. */
export async function triggerRow({ pool }: TestPlatform, workflow: string) {
  const { rows } = await pool.query('SELECT * FROM workflows.triggers WHERE workflow_id = $1', [workflow])
  return rows[0]
}
