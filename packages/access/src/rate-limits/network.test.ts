import { expect, test } from 'vitest'
import { networkOf } from './network.ts'

test.each([
  ['127.0.0.1', '127.0.0.1'],
  ['::ffff:127.0.0.1', '127.0.0.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8:1:2:ffff::', '2001:db8:1:2::/64'],
  ['fe80::1%eth0', 'fe80::/64'],
  ['unix', 'unix'],
])('%s counts as %s', (address, network) => expect(networkOf(address)).toBe(network))
