import { createHmac, timingSafeEqual } from 'node:crypto'

export interface InvitationClaims {
  readonly spaceId: string
  readonly invitationId: string
  readonly expiresAt: Date
}

const CLAIM_BYTES = 38
const MAC_BYTES = 32

const bytesOf = (uuid: string): Buffer => Buffer.from(uuid.replaceAll('-', ''), 'hex')
const uuidOf = (bytes: Buffer): string =>
  bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')

function macOf(key: Buffer, claims: Buffer): Buffer {
  return createHmac('sha256', key).update(claims).digest()
}

/** An invitation that says itself which it is and until when: the database holds nothing that could be stolen. */
export function signInvitation(key: Buffer, { spaceId, invitationId, expiresAt }: InvitationClaims): string {
  const claims = Buffer.alloc(CLAIM_BYTES)
  bytesOf(spaceId).copy(claims, 0)
  bytesOf(invitationId).copy(claims, 16)
  claims.writeUIntBE(expiresAt.getTime(), 32, 6)
  return Buffer.concat([claims, macOf(key, claims)]).toString('base64url')
}

/** What a token says; undefined when it is not one of ours. Whether it has expired is not looked at. */
export function readInvitation(keys: readonly Buffer[], token: string): InvitationClaims | undefined {
  const bytes = Buffer.from(token, 'base64url')
  if (bytes.length !== CLAIM_BYTES + MAC_BYTES || bytes.toString('base64url') !== token) return undefined
  const claims = bytes.subarray(0, CLAIM_BYTES)
  const mac = bytes.subarray(CLAIM_BYTES)
  if (!keys.some((key) => timingSafeEqual(macOf(key, claims), mac))) return undefined
  return {
    spaceId: uuidOf(claims.subarray(0, 16)),
    invitationId: uuidOf(claims.subarray(16, 32)),
    expiresAt: new Date(claims.readUIntBE(32, 6)),
  }
}
