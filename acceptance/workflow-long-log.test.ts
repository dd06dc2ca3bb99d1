import type { ChildProcess } from 'node:child_process'
import { get, type IncomingMessage } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { type OwnPostgres, startOwnPostgres } from '@atrium/testing'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { memoryOfGroup, spawnAtrium, stopProcess, waitForOutput } from './processes.ts'
import {
  fetchTask,
  pythonTask,
  setUpWorkflows,
  type WorkflowSetUp,
  WorkflowSpace,
} from './workflow-client.ts'

const LINES = 1_000_000
/** 60 bytes each: 57 MiB, which a log may have. */
const lineOf = (number: number): string => `${String(number).padStart(7, '0')} ${'a word '.repeat(7)}end`
const SCRIPT = `
for number in range(${LINES}):
    print(f"{number:07d} " + "a word " * 7 + "end")
`
/** Who asks and never reads: were the log kept for each of them, that would be 1,140 MiB. */
const STALLED = 20
/**
 * What a process may take more than at rest: buffers of a task and of followers are a few megabytes together; the rest
 * is what Node.js leaves uncollected of the strings that pass through, 200 MiB with no reader that stalls and 4 for each
 * that does.
 */
const MORE_MIB = 450

let postgres: OwnPostgres
let setUp: WorkflowSetUp
let server: ChildProcess
let space: WorkflowSpace
let other: WorkflowSpace
const stalled: IncomingMessage[] = []

beforeAll(async () => {
  postgres = await startOwnPostgres()
  setUp = await setUpWorkflows({ files: { 'main.py': SCRIPT } })
  const env = { ...setUp.env(0), DATABASE_URL: postgres.url }
  server = spawnAtrium(['up'], env)
  await waitForOutput(server, /Atrium is ready/)
  const [url = ''] = setUp.urls
  space = await WorkflowSpace.make(url, env)
  other = await WorkflowSpace.make(url, env)
  await other.push('small', [fetchTask(setUp.git)])
  await space.push('long', [fetchTask(setUp.git), pythonTask('print', { script: 'main.py' }, ['fetch'])])
}, 120_000)
afterAll(async () => {
  for (const reader of stalled) reader.destroy()
  await stopProcess(server, 'SIGTERM')
  await setUp?.close()
  await postgres?.close()
}, 60_000)

/** Opens an answer and reads nothing of it. */
const open = (path: string): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${space.token}` }
    get(space.at(path), { headers, agent: false }, resolve).on('error', reject)
  })

interface Followed {
  lines: number
  /** The first line that was not the one to come next. */
  wrong: string | undefined
  end: string | undefined
}

/** Follows the log of the task to its end, holding none of it. */
async function follow(path: string): Promise<Followed> {
  const seen: Followed = { lines: 0, wrong: undefined, end: undefined }
  const take = (block: string): void => {
    const data = /^data: (.*)$/m.exec(block)?.[1]
    if (data === undefined) return
    const { text, status } = JSON.parse(data) as { text?: string; status?: string }
    seen.end ??= status
    for (const line of (text ?? '').split('\n').slice(0, -1)) {
      if (line !== lineOf(seen.lines)) seen.wrong ??= `${seen.lines}: ${line.slice(0, 200)}`
      seen.lines++
    }
  }
  const answer = await open(path)
  expect(answer.statusCode).toBe(200)
  let rest = ''
  for await (const chunk of answer.setEncoding('utf8') as AsyncIterable<string>) {
    const blocks = (rest + chunk).split('\n\n')
    rest = blocks.pop() ?? ''
    for (const block of blocks) take(block)
  }
  return seen
}

it('a million lines reach whoever follows them, and neither memory nor others feel it', async () => {
  const group = server.pid ?? 0
  // What first calls load is no matter of the log.
  await other.start('small')
  await delay(3000)
  const before = memoryOfGroup(group)
  let highest = before
  const watch = setInterval(() => {
    highest = Math.max(highest, memoryOfGroup(group))
  }, 100)

  const { runId } = await space.start('long')
  const log = `long/runs/${runId}/logs?task=print&follow=true`
  for (let n = 0; n < STALLED; n++) stalled.push(await open(log))
  const following = follow(log)
  const isOver = following.then(() => true)

  const answers = { count: 0, refused: [] as number[], longest: 0 }
  while (!(await Promise.race([isOver, delay(50, false)]))) {
    const asked = Date.now()
    const { status } = await other.get('small/runs')
    answers.count++
    answers.longest = Math.max(answers.longest, Date.now() - asked)
    if (status !== 200) answers.refused.push(status)
  }
  expect(await following).toEqual({ lines: LINES, wrong: undefined, end: 'Succeeded' })
  clearInterval(watch)
  expect(answers.refused).toEqual([])
  expect(answers.count).toBeGreaterThan(10)
  expect((await (await space.get(`long/runs/${runId}`)).json()) as object).toMatchObject({
    status: 'Succeeded',
  })
  const mib = (bytes: number): number => Math.round(bytes / 2 ** 20)
  process.stderr.write(
    `memory at rest ${mib(before)} MiB, at most ${mib(highest)}; ${answers.count} calls of another space, the longest ${answers.longest} ms\n`,
  )
  expect(mib(highest - before)).toBeLessThan(MORE_MIB)
}, 170_000)
