import { type Answer, sharedTestPlatform, type TestPlatform, type TestSpace } from '@atrium/testing'

export interface Sent {
  readonly body?: unknown
  /** A member's by default; null for none. */
  readonly token?: string | null
  readonly headers?: Readonly<Record<string, string>>
}

/** A space of one's own on the shared platform, and calls below `/v1/spaces/{spaceId}` in it. */
export interface World {
  readonly platform: TestPlatform
  readonly space: TestSpace
  /** @param path below the space: `workflows/w/versions` */
  send(method: string, path: string, options?: Sent): Promise<Answer>
  /** A PUT that must succeed. */
  put(path: string, body: unknown): Promise<Answer>
}

export async function createWorld(shared?: TestPlatform): Promise<World> {
  const platform = shared ?? (await sharedTestPlatform())
  const space = await platform.space()
  const send = async (method: string, path: string, { body, token, headers }: Sent = {}): Promise<Answer> =>
    platform.call(method, `/workflows/v1/spaces/${space.spaceId}/${path}`, {
      ...(token === null ? {} : { token: token ?? space.memberToken }),
      ...(body === undefined ? {} : { body }),
      ...(headers === undefined ? {} : { headers }),
    })
  return {
    platform,
    space,
    send,
    async put(path, body) {
      const answer = await send('PUT', path, { body, token: space.ownerToken })
      if (![200, 201].includes(answer.status))
        throw new Error(`PUT ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
      return answer
    },
  }
}

/** A task that runs a script, as a client writes it. */
export const pythonTask = (name: string, ...dependencies: string[]) => ({
  name,
  templateRef: { name: 'run-python-code', version: 'v1' },
  arguments: { script: 'main.py' },
  dependencies,
})

/** The statuses of operations for no token, an API key, and a stranger to the space. */
export async function statusesOfOthers(
  world: World,
  method: string,
  path: string,
  body?: unknown,
): Promise<number[]> {
  const stranger = (await world.platform.space()).ownerToken
  const statuses: number[] = []
  for (const token of [null, world.space.apiKey, stranger])
    statuses.push((await world.send(method, path, { token, body })).status)
  return statuses
}

/** Puts a run into the table that uses a version; `completed` when it has ended. */
export async function insertRun(
  { platform, space }: World,
  workflowId: string,
  versionId: string,
  status: string,
): Promise<void> {
  const completed = ['Succeeded', 'Failed', 'Cancelled'].includes(status) ? new Date() : null
  await platform.pool.query(
    `INSERT INTO workflows.runs (space_id, workflow_id, run_id, stage, version_id, resolved_configuration, plan,
       engine, status, created_by, completed_at)
     VALUES ($1, $2, gen_random_uuid(), 'test', $3, '{}', '[]', 'local', $4, 'q', $5)`,
    [space.spaceId, workflowId, versionId, status, completed],
  )
}

/** Ends all runs of a workflow. */
export async function endRuns({ platform, space }: World, workflowId: string): Promise<void> {
  await platform.pool.query(
    `UPDATE workflows.runs SET status = 'Cancelled', completed_at = now() WHERE space_id = $1 AND workflow_id = $2`,
    [space.spaceId, workflowId],
  )
}
