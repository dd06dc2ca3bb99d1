import { parseEnv } from '@atrium/kernel/config'
import { expect, it } from 'vitest'
import { workflowsEnv } from '../../config.ts'
import { limitsOf, taskEnvironment } from './from-environment.ts'
import { shareSlots } from './slots.ts'

it('gives tasks at least 4 GiB of address space, unless the operator says otherwise', () => {
  expect(limitsOf(parseEnv(workflowsEnv, {})).memoryMb).toBeGreaterThanOrEqual(4096)
  expect(limitsOf(parseEnv(workflowsEnv, { ATRIUM_WORKFLOWS_TASK_MEMORY_MB: '100' })).memoryMb).toBe(100)
})

it('reads the environment of tasks, and says which entry is none', () => {
  expect(taskEnvironment(['A=b', 'PIP_INDEX_URL=https://x/simple?a=b'])).toEqual({
    A: 'b',
    PIP_INDEX_URL: 'https://x/simple?a=b',
  })
  for (const entry of ['A', '=b', '1A=b', 'A-B=c'])
    expect(() => taskEnvironment([entry])).toThrow(/NAME=value/)
})

it.each([
  ['one space takes its share', 8, { a: 0 }, 6, { a: 6 }],
  ['spaces take turns', 4, { a: 0, b: 0, c: 0 }, 3, { a: 2, b: 1, c: 1 }],
  ['those that run least come first', 2, { a: 3, b: 0, c: 1 }, 6, { b: 2 }],
  ['nobody passes the share', 9, { a: 2, b: 2 }, 3, { a: 1, b: 1 }],
  ['no slot is free', 0, { a: 0 }, 3, {}],
])('%s', (_name, free, running, most, given) => {
  const spaces = Object.keys(running)
  expect(Object.fromEntries(shareSlots(free, spaces, new Map(Object.entries(running)), most))).toEqual(given)
})
