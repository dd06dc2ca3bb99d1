import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newKeyLine, readKeyFile, replaceKeyFile } from './key-file.ts'
import { createMasterKey, loadMasterKey } from './master-key.ts'

describe('the master key', () => {
  const key = createMasterKey(Buffer.alloc(32, 1))

  it('opens what it sealed, for the same purpose only', () => {
    const sealed = key.seal('a', 'geheim ✓')
    expect(key.open('a', sealed)).toBe('geheim ✓')
    expect(sealed.includes('geheim')).toBe(false)
    expect(() => key.open('b', sealed)).toThrow()
    expect(() => createMasterKey(Buffer.alloc(32, 2)).open('a', sealed)).toThrow()
  })

  it('opens what former keys sealed, and what older releases sealed without naming a key', () => {
    const [old, current] = [Buffer.alloc(32, 1), Buffer.alloc(32, 3)]
    const both = createMasterKey(current, [old])
    const former = key.seal('a', 'text')
    expect(both.open('a', former)).toBe('text')
    expect(both.open('a', former.subarray(12))).toBe('text')
    expect([both.isCurrent(former), both.isCurrent(both.seal('a', 'text'))]).toEqual([false, true])
    expect(key.isCurrent(former.subarray(12))).toBe(false)
    expect(() => createMasterKey(current).open('a', former)).toThrow('no accepted master key')
    expect(both.deriveAll('p')).toEqual([createMasterKey(current).derive('p'), key.derive('p')])
  })

  it('refuses a text that was altered', () => {
    const sealed = key.seal('a', 'text')
    sealed[sealed.length - 1] = (sealed.at(-1) ?? 0) ^ 1
    expect(() => key.open('a', sealed)).toThrow()
  })

  it('refuses a key of another length', () => {
    expect(() => createMasterKey(Buffer.alloc(16))).toThrow('32 bytes')
  })
})

describe('loadMasterKey', () => {
  let dataDir = ''
  beforeAll(async () => {
    dataDir = await mkdtemp(path.join(tmpdir(), 'atrium-key-'))
  })
  afterAll(() => rm(dataDir, { recursive: true }))

  it('makes one key for all who start at once, readable by its owner alone', async () => {
    const keys = await Promise.all(
      Array.from({ length: 8 }, () => loadMasterKey({ fromEnv: undefined, dataDir })),
    )
    const sealed = keys[0]?.seal('p', 'x') ?? Buffer.alloc(0)
    for (const one of keys) expect(one.open('p', sealed)).toBe('x')
    const file = path.join(dataDir, 'master.key')
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect(Buffer.from(await readFile(file, 'utf8'), 'base64')).toHaveLength(32)
  })

  it('follows the file when another key is put before the one that is there', async () => {
    const running = await loadMasterKey({ fromEnv: undefined, dataDir })
    const before = running.seal('p', 'x')
    await replaceKeyFile(dataDir, [newKeyLine(), ...readKeyFile(dataDir).lines])
    expect(running.isCurrent(before)).toBe(false)
    expect(running.open('p', before)).toBe('x')
    const after = running.seal('p', 'y')
    expect((await loadMasterKey({ fromEnv: undefined, dataDir })).open('p', after)).toBe('y')
    expect((await stat(path.join(dataDir, 'master.key'))).mode & 0o777).toBe(0o600)
  })
})
