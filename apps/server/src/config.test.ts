import { expect, it } from 'vitest'
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
