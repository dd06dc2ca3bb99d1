import { createDatabase } from '@atrium/kernel/db'
import { startTestPlatform } from '@atrium/testing'
import { expect, test } from 'vitest'
import { deleteFullBuckets, leaseTokens } from '../src/rate-limits/rate-buckets.ts'

test('a bucket is deleted when it is full again, and not before', async () => {
  await using platform = await startTestPlatform()
  const db = createDatabase<unknown>(platform.pool)
  const lease = { service: 'test', burst: 10, want: 4, settled: 0, returned: 0 }
  // In a millisecond the first is full again, but for the five seconds that leases of dead processes are remembered.
  await leaseTokens(db, { ...lease, holder: 'fast', perSecond: 10_000 })
  await leaseTokens(db, { ...lease, holder: 'slow', perSecond: 0.001 })
  const holders = async () => {
    const { rows } = await platform.pool.query(
      `SELECT holder FROM access.rate_buckets WHERE service = 'test' ORDER BY holder`,
    )
    return rows.map(({ holder }) => holder)
  }
  await deleteFullBuckets(db)
  expect(await holders()).toEqual(['fast', 'slow'])
  await platform.pool.query(
    `UPDATE access.rate_buckets SET touched_at = touched_at - interval '6 s', full_at = full_at - interval '6 s'`,
  )
  await deleteFullBuckets(db)
  expect(await holders()).toEqual(['slow'])
})
