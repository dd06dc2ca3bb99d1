import { networkInterfaces } from 'node:os'
import { describe, expect, it } from 'vitest'
import { parseConfig } from './config.ts'

it.each([
  ['on a terminal', {}, 0],
  ['behind trusted proxies', { ATRIUM_TRUSTED_PROXIES: '10.0.0.0/8' }, 5],
  ['behind an ingress', { ATRIUM_INGRESS_ADDRESSES: '10.0.0.1' }, 5],
  ['as it is told', { ATRIUM_TRUSTED_PROXIES: '10.0.0.0/8', ATRIUM_DRAIN_PAUSE_SECONDS: '0' }, 0],
  ['as it is told without a proxy', { ATRIUM_DRAIN_PAUSE_SECONDS: '12' }, 12],
])('the pause of a stop %s (%j): %i s', (_where, env, seconds) => {
  expect(parseConfig(env).drainPauseSeconds).toBe(seconds)
})

describe('an ingress whose address is this machine’s', () => {
  const own = Object.values(networkInterfaces()).flatMap((known) =>
    (known ?? []).map(({ address }) => address),
  )
  const LOOPBACK = { ATRIUM_INGRESS_ADDRESSES: '10.0.0.1, 127.0.0.1' }

  it.each(['127.0.0.1', '127.0.0.9', '127.0.0.0/8', '::1', '0.0.0.0/0', ...own])(
    'is refused without a secret where tasks run: %s',
    (address) => {
      expect(() => parseConfig({ ATRIUM_INGRESS_ADDRESSES: `10.0.0.1, ${address}` })).toThrow(
        /^ATRIUM_INGRESS_ADDRESSES: .* is this machine, .* ATRIUM_INGRESS_SECRET/,
      )
    },
  )

  it('is refused in production, too, once somebody chose to run tasks there', () => {
    const production = { ...LOOPBACK, NODE_ENV: 'production' }
    expect(() => parseConfig({ ...production, ATRIUM_ENGINE: 'local' })).toThrow(/is this machine/)
    expect(() => parseConfig(production)).not.toThrow()
  })

  it.each([
    { ATRIUM_INGRESS_SECRET: 'what only the ingress knows' },
    { ATRIUM_INGRESS_TOKEN_HEADER: 'x-forwarded-access-token' },
    { ATRIUM_WORKFLOWS_TASKS: '0' },
    { ATRIUM_BACKGROUND_JOBS: 'false' },
    { ATRIUM_SERVICES: 'identity,portal' },
  ])('is accepted with %j', (more) => {
    expect(() => parseConfig({ ...LOOPBACK, ...more })).not.toThrow()
  })
})
