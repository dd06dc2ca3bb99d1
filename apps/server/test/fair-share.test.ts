import { startTestPlatform } from '@atrium/testing'
import { expect, it } from 'vitest'

it('a space whose requests all wait in the database leaves connections to the others', async () => {
  await using platform = await startTestPlatform({ env: { ATRIUM_DATABASE_POOL: '8' } })
  const [busy, other] = [await platform.space(), await platform.space()]
  const change = () =>
    platform.call('PATCH', `/portal/v1/spaces/${busy.spaceId}`, {
      token: busy.ownerToken,
      body: { description: 'changed' },
    })
  const waiting = async (): Promise<number> => {
    const { rows } = await platform.pool.query(
      `SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    )
    return rows[0].n
  }
  const holder = await platform.pool.connect()
  const changes: ReturnType<typeof change>[] = []
  try {
    await holder.query('BEGIN')
    await holder.query('SELECT FROM portal.spaces WHERE space_id = $1 FOR UPDATE', [busy.spaceId])
    for (let i = 0; i < 30; i++) changes.push(change())
    await expect.poll(waiting, { timeout: 20_000 }).toBe(2)
    for (let i = 0; i < 5; i++) {
      const read = await platform.call('GET', `/portal/v1/spaces/${other.spaceId}`, {
        token: other.ownerToken,
      })
      expect(read.status).toBe(200)
      const written = await platform.call('PATCH', `/portal/v1/spaces/${other.spaceId}`, {
        token: other.ownerToken,
        body: { description: `written ${i}` },
      })
      expect(written.status).toBe(200)
    }
    expect(await waiting()).toBe(2)
  } finally {
    await holder.query('ROLLBACK')
    holder.release()
  }
  for (const { status } of await Promise.all(changes)) expect(status).toBe(200)
})
