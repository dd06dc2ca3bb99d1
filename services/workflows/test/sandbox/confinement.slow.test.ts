import { fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, chown, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { platform, tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Mode } from '../../src/adapters/local/sandbox/confinement.ts'
import type { Result, Trial } from './run-confined.ts'

const isRoot = process.getuid?.() === 0
const NOBODY = 65534
/** As root the tests of the other modes run as another user. */
const MODES: readonly { mode: Mode; uid: number | undefined; byLauncher?: boolean }[] = [
  ...(isRoot
    ? [
        // With one program, where there is perl, and with util-linux.
        ...(existsSync('/usr/bin/perl')
          ? [{ mode: 'own namespaces' as const, uid: undefined, byLauncher: true }]
          : []),
        { mode: 'own namespaces' as const, uid: undefined, byLauncher: false },
        { mode: 'own user' as const, uid: undefined },
      ]
    : []),
  { mode: 'user namespaces', uid: isRoot ? NOBODY : undefined },
  { mode: 'process group', uid: isRoot ? NOBODY : undefined },
]

/** A process of this machine by a word of its command line. */
async function isRunning(word: string): Promise<boolean> {
  for (const pid of await readdir('/proc').catch(() => [])) {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) continue
    if ((await readFile(`/proc/${pid}/cmdline`, 'latin1').catch(() => '')).includes(word)) return true
  }
  return false
}

let trials = 0

describe.skipIf(platform() !== 'linux').each(MODES)(
  'confined by $mode (launcher: $byLauncher)',
  ({ mode, uid, byLauncher }) => {
    const isHidden = mode === 'own namespaces' || mode === 'user namespaces'
    let dataDir: string

    beforeAll(async () => {
      dataDir = await mkdtemp(path.join(tmpdir(), 'atrium confined-'))
      // Where there are no namespaces, the tasks' user passes through.
      await chmod(dataDir, 0o755)
      await writeFile(path.join(dataDir, 'master.key'), 'the platform’s own', { mode: 0o644 })
      if (uid !== undefined) await chown(dataDir, uid, uid)
    })
    afterAll(() => rm(dataDir, { recursive: true, force: true }))

    const trial = (script: string, more: Partial<Trial> = {}): Trial => ({
      mode,
      byLauncher,
      dataDir,
      script,
      marker: `trial-${process.pid}-${++trials}`,
      env: {},
      limits: {},
      timeoutMs: 60_000,
      ...more,
    })

    async function run(script: string, more: Partial<Trial> = {}): Promise<Result> {
      const child = fork(path.join(import.meta.dirname, 'run-confined.ts'), {
        execArgv: [],
        env: { PATH: process.env.PATH, DATABASE_URL: 'postgres://secret', HOME: tmpdir() },
        stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
        ...(uid === undefined ? {} : { uid, gid: uid }),
      })
      child.send(trial(script, more))
      const [answer] = (await once(child, 'message')) as [{ result?: Result; error?: string }]
      if (answer.result === undefined) throw new Error(answer.error)
      return answer.result
    }

    it('runs a program with its environment, in its folder, and nothing of the platform’s', async () => {
      const result = await run('pwd; echo "$NAME"; env; echo written > file && cat file; exit 7', {
        env: { NAME: 'a "b" $(c)\n`d`', BASH_ENV: '/none' },
      })
      expect(result).toMatchObject({ exitCode: 7, isTimedOut: false, isAborted: false })
      expect(result.stdout.startsWith(path.join(dataDir, 'workflows', 'own'))).toBe(true)
      expect(result.stdout).toContain('a "b" $(c)\n`d`\n')
      expect(result.stdout).toMatch(/\nwritten\n$/)
      expect(result.stdout).not.toMatch(/DATABASE_URL|ATRIUM_TASK/)
    })

    it('says why a program cannot be started', async () => {
      const [missing, refused] = await Promise.all([
        run('', { command: 'no-such-program' }),
        run('', { command: '/etc/passwd' }),
      ])
      expect(missing).toMatchObject({
        exitCode: 127,
        stderr: expect.stringMatching(/no-such-program.*\bnot found|no-such-program: No such file/),
      })
      expect(refused).toMatchObject({ exitCode: 126, stderr: expect.stringContaining('Permission denied') })
    })

    it.runIf(isHidden)('has the platform’s files, homes, sockets and processes out of sight', async () => {
      const script = `
      cat "$DATA/master.key" "$DATA/workflows/sandbox"/* 2>/dev/null
      ls -A "$DATA" "$DATA/workflows" /root /tmp /run 2>/dev/null
      grep -l 'run-confine[d]' /proc/[0-9]*/cmdline 2>/dev/null
      grep -l 'postgres[:]' /proc/[0-9]*/environ 2>/dev/null
      umount "$DATA" 2>/dev/null && echo unmounted
      unshare --user --map-root-user --mount sh -c 'umount "$DATA" && cat "$DATA/master.key"' 2>/dev/null
      touch /usr/touched /etc/touched 2>/dev/null && echo touched`
      const result = await run(script, { env: { DATA: dataDir } })
      expect(result.stdout).not.toMatch(/platform’s own|master\.key|unmounted|touched|\/proc\//)
      expect(result.stdout).toContain('own\n')
    })

    it.runIf(byLauncher === true || mode === 'user namespaces')(
      'makes no user namespaces, in which more of the kernel could be reached',
      async () => {
        const script = `
        unshare --user true && echo made
        unshare --user --map-root-user --mount sh -c 'mount -t tmpfs none /opt && echo mounted'
        id -u; cat /proc/sys/user/max_user_namespaces`
        const result = await run(script)
        expect(result.stdout).not.toMatch(/made|mounted/)
        expect(result.stderr.match(/unshare failed/g)).toHaveLength(2)
      },
    )

    it.runIf(isRoot && uid === undefined)('runs as a user who may nothing', async () => {
      const result = await run(
        'id -u; cat /etc/shadow; kill -0 1 2>/dev/null && echo signalled; grep -i cap /proc/self/status',
      )
      expect(Number(result.stdout.split('\n')[0])).toBeGreaterThan(NOBODY)
      expect(result.stdout).not.toMatch(/root:|CapEff:\s*0*[1-9a-f]|CapBnd:\s*0*[1-9a-f]/)
      expect(result.stderr).toContain('shadow')
    })

    it('lets nothing of the tenant’s environment reach programs that run before its own', async () => {
      const result = await run('exit 0', { env: { LD_PRELOAD: '/none/evil.so', LD_LIBRARY_PATH: '/none' } })
      expect(result.stderr.match(/evil\.so/g)).toHaveLength(1)
    })

    it('ends what the program leaves behind, in other sessions too', async () => {
      const script = `
      setsid sh -c 'trap "" TERM HUP INT; echo begun; while :; do sleep 86391; done' &
      (setsid sleep 86391 < /dev/null > /dev/null 2>&1 &)
      sleep 0.3; echo over`
      const result = await run(script)
      expect(result.stdout).toContain('begun')
      expect(result.exitCode).toBe(0)
      expect(await isRunning('86391')).toBe(false)
    })

    it('ends what ignores that it is asked to, and its daemons', async () => {
      const script = `
      trap "" TERM INT HUP
      setsid sh -c 'trap "" TERM HUP; while :; do sleep 86392; done' &
      setsid nohup sleep 86392 > /dev/null 2>&1 &
      echo begun; while :; do sleep 86392; done`
      const result = await run(script, { abortAt: 'begun' })
      expect(result).toMatchObject({ isAborted: true, isTimedOut: false, signal: 'SIGKILL' })
      expect(await isRunning('86392')).toBe(false)
    })

    it('lets a program end by itself when it is asked to', async () => {
      const script = 'trap "echo tidied; exit 5" TERM; echo begun; while :; do sleep 0.05; done'
      expect(await run(script, { abortAt: 'begun' })).toMatchObject({
        stdout: 'begun\ntidied\n',
        exitCode: 5,
      })
    })

    it('ends with the process that began it', async () => {
      const child = fork(path.join(import.meta.dirname, 'run-confined.ts'), {
        execArgv: [],
        env: { PATH: process.env.PATH, HOME: tmpdir() },
        stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
        ...(uid === undefined ? {} : { uid, gid: uid }),
      })
      child.send(trial('exec sleep 86393'))
      await expect.poll(() => isRunning('sleep\x0086393'), { timeout: 20_000 }).toBe(true)
      child.kill('SIGKILL')
      await expect.poll(() => isRunning('sleep\x0086393'), { timeout: 20_000 }).toBe(false)
    })

    it('limits wall time, processor time, the size of a file, open files and memory', async () => {
      const [slow, busy, file, open, memory] = await Promise.all([
        run('echo begun; sleep 600', { timeoutMs: 1500 }),
        run('while :; do :; done', { limits: { processorSeconds: 1 } }),
        run('head -c 3000000 /dev/zero > big; echo "$?"; stat -c %s big', { limits: { fileMb: 1 } }),
        run('ulimit -n; ulimit -c'),
        run('dd if=/dev/zero of=/dev/null bs=600M count=1', { limits: { memoryMb: 256 } }),
      ])
      expect(slow).toMatchObject({ isTimedOut: true, stdout: 'begun\n' })
      expect(busy).toMatchObject({ signal: 'SIGXCPU' })
      expect(file.stdout).toMatch(/\n1048576\n$/)
      expect(open.stdout).toBe('1024\n0\n')
      expect(memory.stderr).toMatch(/memory exhausted|allocate memory/)
    })

    it.runIf(mode !== 'process group')('holds a fork bomb down, and ends it', async () => {
      const script = 'bomb() { bomb & bomb & wait; }; echo begun; bomb'
      const result = await run(script, { limits: { processes: 60 }, timeoutMs: 2000 })
      expect(result.stdout).toBe('begun\n')
      expect(result.stderr.toLowerCase()).toMatch(/fork/)
      expect(await isRunning('bomb() { bomb')).toBe(false)
      expect((await run('echo still here')).stdout).toBe('still here\n')
    })
  },
)
