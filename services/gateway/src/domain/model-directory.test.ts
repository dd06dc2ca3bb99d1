import { createLogger } from '@atrium/kernel/log'
import { expect, test } from 'vitest'
import type { Backend } from './backend.ts'
import { uncataloguedModel } from './catalogue.ts'
import { ModelDirectory } from './model-directory.ts'

const backend: Backend = {
  name: 'fake',
  summary: 'fake',
  isSandbox: false,
  chatCompletions: async () => {
    throw new Error('nobody calls')
  },
  close: async () => {},
}

/** A directory whose one server lists `models`, which may grow. */
function directoryOf(models: string[], options: { lookEveryMs?: number; canChange?: boolean } = {}) {
  const state = { looks: 0, fails: false }
  const directory = new ModelDirectory({
    catalogue: { currency: 'USD', models: new Map() },
    canChange: true,
    log: createLogger({ level: 'silent' }),
    ...options,
    find: async () => {
      state.looks += 1
      if (state.fails) throw new Error('no network')
      return {
        available: [
          {
            backend,
            kind: 'openai',
            served: new Set(models),
            isFree: true,
          },
        ],
        extra: models.map((id) => uncataloguedModel(id, 'us', 0)),
      }
    },
  })
  return { directory, state }
}

test('a model that comes later is there by itself, and one that goes is gone', async () => {
  const models = ['a']
  const { directory, state } = directoryOf(models, { lookEveryMs: 5 })
  await directory.open()
  expect(directory.row.list().map(({ id }) => id)).toEqual(['a'])
  state.fails = true
  await expect.poll(() => state.looks).toBeGreaterThan(2)
  expect(directory.row.serves('a')).toBe(true)
  state.fails = false
  models.push('b')
  await expect.poll(() => directory.cn.serves('b')).toBe(true)
  models.shift()
  await expect.poll(() => directory.row.serves('a')).toBe(false)
  await directory.close()
})

test('callers cause one look in five seconds, however many they are', async () => {
  const models: string[] = []
  const { directory, state } = directoryOf(models)
  await directory.open()
  models.push('late')
  await Promise.all(Array.from({ length: 50 }, () => directory.lookForCaller()))
  expect(directory.row.serves('late')).toBe(true)
  await directory.lookForCaller()
  expect(state.looks).toBe(2)
  await directory.close()
})

test('a vendor is not asked again', async () => {
  const { directory, state } = directoryOf([], { canChange: false, lookEveryMs: 1 })
  await directory.open()
  await directory.lookForCaller()
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect(state.looks).toBe(1)
  await directory.close()
})
