import { randomBytes } from 'node:crypto'
import { newId } from '@atrium/kernel/ids'
import { expect, test } from 'vitest'
import { readInvitation, signInvitation } from './invitation-token.ts'

const key = randomBytes(32)
const claims = { spaceId: newId(), invitationId: newId(), expiresAt: new Date('2031-02-03T04:05:06.789Z') }

test('a token says what was signed', () => {
  expect(readInvitation([randomBytes(32), key], signInvitation(key, claims))).toEqual(claims)
})

test('a token of another key, an altered one and nonsense are none of ours', () => {
  const token = signInvitation(key, claims)
  expect(readInvitation([randomBytes(32)], token)).toBeUndefined()
  for (let at = 0; at < token.length; at++) {
    const other = token[at] === 'A' ? 'B' : 'A'
    expect(
      readInvitation([randomBytes(32), key], token.slice(0, at) + other + token.slice(at + 1)),
    ).toBeUndefined()
  }
  for (const text of ['', 'x', `${token}A`, token.slice(1), `${token} `, `${token}==`]) {
    expect(readInvitation([randomBytes(32), key], text)).toBeUndefined()
  }
})
