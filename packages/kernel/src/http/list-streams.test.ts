import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { newTenantWork, runAsWork, TenantTurns } from '../tenant-work.ts'
import { streamArray, streamPage } from './list-streams.ts'

async function* batches<Row>(...all: Row[][]) {
  for (const batch of all) yield batch
}
const asItIs = (row: unknown) => row

/** Lists without end, and how many batches were asked for. */
function endless(row: string) {
  const list = { asked: 0, isOver: false, batches: rows() }
  async function* rows() {
    try {
      for (;;) {
        list.asked += 1
        yield [row]
      }
    } finally {
      list.isOver = true
    }
  }
  return list
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < 100; turn++) await setImmediate()
}

it.each([
  [[], '[]'],
  [[[], []], '[]'],
  [[[1], [], [2, { a: 'ü' }]], '[1,2,{"a":"ü"}]'],
])('an array of %j', async (all, expected) => {
  expect(await text(streamArray(batches<unknown>(...all), asItIs))).toBe(expected)
})

it('a page has its pagination at the end', async () => {
  const counted = (count: number) => ({ count })
  expect(await text(streamPage(batches([1], [2, 3]), asItIs, counted))).toBe(
    '{"data":[1,2,3],"pagination":{"count":3}}',
  )
  expect(await text(streamPage(batches<number>(), asItIs, counted))).toBe(
    '{"data":[],"pagination":{"count":0}}',
  )
})

it('letters of several bytes are whole wherever a piece ends', async () => {
  const row = 'a€𝄞'.repeat(20_000)
  expect(JSON.parse(await text(streamArray(batches([row], [`b${row}`]), asItIs)))).toEqual([row, `b${row}`])
})

describe('a list that nobody reads', () => {
  it('is not read from the database either', async () => {
    const list = endless('x'.repeat(100_000))
    const stream = streamArray(list.batches, asItIs)
    await settle()
    expect(list.asked).toBe(0)
    const stuck = new PassThrough({ highWaterMark: 1 })
    stream.pipe(stuck)
    await settle()
    expect(list.asked).toBe(1)
    for (let piece = 0; piece < 20; piece++) {
      await once(stuck, 'readable')
      stuck.read()
    }
    await settle()
    // Twenty pieces of 16 KiB are three and a bit of its batches.
    expect(list.asked).toBeLessThanOrEqual(5)
    stream.destroy()
    await expect.poll(() => list.isOver).toBe(true)
  })

  it('is given up after a while', async () => {
    const list = endless('x'.repeat(100_000))
    const stream = streamArray(list.batches, asItIs, { stalledMs: 20 })
    const failed = once(stream, 'error')
    stream.pipe(new PassThrough({ highWaterMark: 1 }))
    expect(String((await failed)[0])).toContain('not read')
    await expect.poll(() => list.isOver).toBe(true)
  })
})

it('the lists of one tenant are read one batch at a time, those of two side by side', async () => {
  let underWay = 0
  let most = 0
  async function* rows() {
    for (let batch = 0; batch < 5; batch++) {
      underWay += 1
      most = Math.max(most, underWay)
      await setImmediate()
      underWay -= 1
      yield [batch]
    }
  }
  const turns = new TenantTurns({ ofTenant: 1, ofAll: 1, refusal: () => new Error('too busy') })
  const listFor = (tenant: string): Promise<string> => {
    const work = newTenantWork({}, turns)
    work.tenant = tenant
    return runAsWork(work, () => text(streamArray(rows(), asItIs)))
  }
  expect(await Promise.all(['a', 'a', 'a'].map(listFor))).toEqual(Array(3).fill('[0,1,2,3,4]'))
  expect(most).toBe(1)
  await Promise.all(['a', 'b', 'a'].map(listFor))
  expect([most, turns.reads.size, turns.pieces.waiting]).toEqual([2, 0, 0])
})
