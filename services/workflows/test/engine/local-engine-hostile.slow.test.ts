import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import path from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { EngineRun, EngineTaskState, TaskRef } from '../../src/ports.ts'
import { until } from './engine-contract.ts'
import { LIMITS } from './limits.ts'
import { type LocalEngineTest, startLocalEngine } from './local-engine.ts'

let subject: LocalEngineTest
/** Bytes of each log; a gigabyte of it is not kept. */
const logged = new Map<string, number>()
const longest = { line: 0, piece: 0 }
const SECRET = 'correct horse battery staple'

beforeAll(async () => {
  subject = await startLocalEngine({
    limits: { ...LIMITS, workspaceMb: 48, processes: 100 },
    secrets: {
      PASSWORD: SECRET,
      KEY: '-----BEGIN KEY-----\nfirst line of it\nsecond line\n-----END KEY-----\n',
    },
  })
  const { output } = subject
  const append = output.appendLog.bind(output)
  output.appendLog = async (task: TaskRef, text: string) => {
    const size = (logged.get(task.runId) ?? 0) + Buffer.byteLength(text)
    logged.set(task.runId, size)
    longest.piece = Math.max(longest.piece, Buffer.byteLength(text))
    for (const line of text.split('\n')) longest.line = Math.max(longest.line, line.length)
    if (!text.endsWith('\n')) throw new Error('a piece that ends within a line')
    if (size < 2 ** 20) await append(task, text)
  }
})
afterAll(() => subject.close())

async function run(
  script: string,
  env: Readonly<Record<string, string>> = {},
): Promise<EngineTaskState & { log: string; run: EngineRun }> {
  const run = await subject.run(script, { env: JSON.stringify(env) })
  const { tasks } = await until(subject.engine, run, ({ isEnded }) => isEnded, 150_000)
  const log = subject.output.logOf({ ...run, task: 'task' })
  return { ...(tasks[0] as EngineTaskState), log, run }
}

it('masks secrets wherever they are said, also in pieces, in lines and in the message', async () => {
  const script = `
    printf 'correct horse '; sleep 0.3; printf 'battery staple\\n'
    printf '%s' "$PASSWORD" >&2
    printf '%8185s%s\\n' x "$PASSWORD"
    head -c 20000 /dev/zero | tr '\\0' y; printf '%s' "$PASSWORD"; head -c 20000 /dev/zero | tr '\\0' z; echo
    echo "$KEY"
    echo "last: $PASSWORD" >&2; exit 1`
  const env = { PASSWORD: '${secret.PASSWORD}', KEY: '${secret.KEY}' }
  const { log, message, status } = await run(script, env)
  expect(status).toBe('Failed')
  const joined = log.replaceAll('\n', '')
  for (const word of ['horse', 'staple', 'first line of it', 'second line', 'BEGIN KEY']) {
    expect(joined).not.toContain(word)
    expect(message).not.toContain(word)
  }
  expect(message).toContain('last: ***')
  expect(joined).toMatch(/y\*\*\*z/)
})

it('spells control characters out', async () => {
  const script = String.raw`printf 'a\033[31mred\033[0m \033]0;title\007 \000 \010 tab\there \342\200\256evil \302\233 \377 end\r\nnext\rlast'`
  const { log } = await run(script)
  expect(log).toBe('ared \\x1b]0;title\\x07 \\x00 \\x08 tab\there \\u202eevil \\x9b \ufffd end\nnext\nlast\n')
})

it('takes a line of a gigabyte without keeping it in memory', async () => {
  let highest = 0
  const before = process.memoryUsage().rss
  const watch = setInterval(() => {
    highest = Math.max(highest, process.memoryUsage().rss)
  }, 50)
  const { status, run: made } = await run(`head -c 1073741824 /dev/zero | tr '\\0' x`)
  clearInterval(watch)
  expect(status).toBe('Succeeded')
  expect(logged.get(made.runId)).toBeGreaterThan(2 ** 30)
  expect(longest.piece).toBeLessThanOrEqual(64 * 1024)
  expect(longest.line).toBeLessThanOrEqual(8 * 1024 + 1)
  expect((highest - before) / 2 ** 20).toBeLessThan(300)
})

it('ends a run that fills the disk', async () => {
  const script = 'n=0; while :; do head -c 4194304 /dev/zero > f$n || exit 9; n=$((n + 1)); sleep 0.05; done'
  const { status, message } = await run(script)
  expect([status, message]).toEqual([
    'Failed',
    'The run’s folder outgrew its limit, or the disk was nearly full',
  ])
})

it('ends a run that fills the disk by a file without a name, held open by it or by a daemon of it', async () => {
  const hold = `perl -e 'open my $f, "+>", "big" or die; unlink "big"; my $piece = "x" x 2**20;
    for (1 .. 100) { print $f $piece } $f->flush if $f->can("flush"); sleep 1 while 1'`
  for (const script of [hold, `(setsid ${hold} > /dev/null 2>&1 &) ; sleep 600`]) {
    const { status, message } = await run(script, {})
    expect([status, message]).toEqual([
      'Failed',
      'The run’s folder outgrew its limit, or the disk was nearly full',
    ])
  }
})

it('lets no task write to what outlives its run', async () => {
  const script = `touch "$HOME/../../../../../cache/fill" "$HOME/../../fill" "$HOME/../fill"; ls -A "$HOME/../../../../.."; true`
  const { status, log } = await run(script)
  const cache = path.join(subject.dataDir, 'workflows', 'spaces', subject.spaceId, 'cache')
  const left = await readdir(cache).catch(() => [])
  expect([status, left]).toEqual(['Succeeded', []])
  if (subject.engine.confinement?.endsTogether === true) expect(log).not.toMatch(/^cache$/m)
})

it('holds a fork bomb down while others go on', async () => {
  const bomb = await subject.run('bomb() { bomb & bomb & wait; }; bomb', { timeoutSeconds: '3' })
  await until(subject.engine, bomb, ({ tasks }) => tasks[0]?.status === 'Running')
  await until(subject.engine, bomb, ({ isEnded }) => isEnded)
  expect((await run('echo here')).log).toContain('here')
})

it('cancels what ignores it, with its daemons', async () => {
  const script = `trap "" TERM; setsid sh -c 'trap "" TERM; while :; do sleep 86394; done' & echo begun; while :; do sleep 1; done`
  const made = await subject.run(script)
  await expect.poll(() => subject.output.logOf({ ...made, task: 'task' })).toContain('begun')
  await subject.engine.cancel(made)
  const state = await until(subject.engine, made, ({ isEnded }) => isEnded)
  expect(state.tasks[0]).toMatchObject({ status: 'Cancelled' })
  await expect
    .poll(() => readdir(subject.folderOfRun(made)).catch((error: { code: string }) => error.code))
    .toBe('ENOENT')
})

it('keeps plain files as artifacts, and no links, pipes or sockets', async () => {
  const script = `cd "$ATRIUM_ARTIFACTS"; echo kept > kept.txt; ln -s /etc/passwd link; mkfifo pipe; mkdir -p a/b; echo deep > 'a/b/c d.txt'
    rm -f "$ATRIUM_METRICS"; ln -s /etc/passwd "$ATRIUM_METRICS" 2>/dev/null; true`
  const { status, log, run: made } = await run(script)
  expect(status).toBe('Succeeded')
  expect(subject.output.artifactsOf({ ...made, task: 'task' })).toEqual({
    'kept.txt': 'kept\n',
    'a/b/c d.txt': 'deep\n',
  })
  expect(log).toContain('The artifact link is not kept: it is a symbolic link')
  expect(log).toContain('The artifact pipe is not kept: it is not a plain file')
})

it.each([
  ['the workspace', 'cd .'],
  ['the artifacts', 'cd "$ATRIUM_ARTIFACTS"'],
])(
  'removes folders deeper than any path in %s, at the end of the run and of a failed one when it is deleted',
  async (_where, go) => {
    const name = 'd'.repeat(100)
    const dig = `${go}; perl -e 'for (1 .. 1000) { mkdir "${name}"; chdir "${name}" } open F, ">", "bottom"; print F "x" x 1e6'`
    const good = await run(dig)
    expect(good.status).toBe('Succeeded')
    await expect.poll(() => existsSync(subject.folderOfRun(good.run)), { timeout: 20_000 }).toBe(false)
    const bad = await run(`${dig}; exit 1`)
    expect(bad.status).toBe('Failed')
    expect(existsSync(subject.folderOfRun(bad.run))).toBe(true)
    await subject.engine.remove(bad.run)
    expect(existsSync(subject.folderOfRun(bad.run))).toBe(false)
  },
)
