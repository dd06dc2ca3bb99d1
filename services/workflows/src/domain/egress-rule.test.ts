import { describe, expect, it } from 'vitest'
import { egressRule } from './egress-rule.ts'

describe('addresses that requests for tenants may reach', () => {
  it.each(['8.8.8.8', '140.82.121.4', '2606:4700::6810:84e5', '2a00:1450:4001:82a::200e', '::ffff:8.8.8.8'])(
    'lets the public %s pass',
    (address) => {
      expect(egressRule([]).allowsAddress(address)).toBe(true)
    },
  )

  it.each([
    '0.0.0.0',
    '0.1.2.3',
    '10.0.0.1',
    '100.64.0.1',
    '100.100.100.200',
    '127.0.0.1',
    '127.255.255.254',
    '168.63.129.16',
    '169.254.169.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.0.0.1',
    '192.0.2.1',
    '192.168.1.1',
    '198.18.0.1',
    '198.51.100.1',
    '203.0.113.1',
    '224.0.0.1',
    '240.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::7f00:1',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '::ffff:a9fe:a9fe',
    '::ffff:0:127.0.0.1',
    '64:ff9b::7f00:1',
    '64:ff9b:1::1',
    '100::1',
    '2001:db8::1',
    '2001::1',
    '2002:7f00:1::',
    'fc00::1',
    'fd00:ec2::254',
    'fe80::1',
    'fe80::1%eth0',
    'fec0::1',
    'ff02::1',
    'localhost',
    '',
  ])('refuses %s', (address) => {
    expect(egressRule([]).allowsAddress(address)).toBe(false)
  })

  it('lets pass what the operator names, and no more', () => {
    const rule = egressRule([
      '10.1.0.0/16',
      '127.0.0.1',
      'fd12::/32',
      'Git.Corp.Example.',
      '::ffff:192.168.7.7',
    ])
    expect(
      ['10.1.255.255', '127.0.0.1', '::ffff:10.1.2.3', 'fd12::9', '192.168.7.7'].map(rule.allowsAddress),
    ).toEqual([true, true, true, true, true])
    expect(['10.2.0.0', '127.0.0.2', 'fd13::1', '192.168.7.8'].map(rule.allowsAddress)).toEqual([
      false,
      false,
      false,
      false,
    ])
    expect(
      ['git.corp.example', 'GIT.corp.example.', 'corp.example', 'x.git.corp.example'].map(rule.allowsHost),
    ).toEqual([true, true, false, false])
  })

  it.each([
    '10.0.0.0/33',
    '10.0.0.0/',
    '1.2.3',
    'a b',
    'http://x',
    '*.example',
    '::/129',
    '10.0.0.0/8/8',
    '256.1.1.1',
  ])('refuses the entry %s', (entry) => {
    expect(() => egressRule([entry])).toThrow(`ATRIUM_ALLOWED_ADDRESSES: ${JSON.stringify(entry)}`)
  })
})
