import type { MasterKey } from '@atrium/kernel/crypto'
import { OperatorError } from '@atrium/kernel/errors'
import { type CryptoKey, importJWK, type JWK } from 'jose'
import { listSigningKeys } from '../queries/signing-keys.ts'
import type { IdentityDatabase, SigningKeyRow } from '../queries/tables.ts'
import { SIGNING_ALG, sealPurpose } from './key-rotation.ts'

export interface SigningKey {
  readonly kid: string
  readonly publicJwk: JWK
  readonly privateJwk: JWK
  readonly publicKey: CryptoKey
  readonly privateKey: CryptoKey
  /** Milliseconds of the epoch. */
  readonly signsFrom: number
  readonly retiresAt: number
}

/** This process's view of the published signing keys. */
export interface SigningKeys {
  /** The key that signs now. */
  current(): SigningKey
  /** Every published key. The array is another one whenever the set has changed. */
  published(): readonly SigningKey[]
  /** A key by its id; an unknown id causes one re-read, at most once a second. */
  find(kid: string): Promise<SigningKey | undefined>
  /** Reads the keys again. @throws OperatorError when the master key does not open them */
  refresh(): Promise<void>
  /** Calls `listener` each time that the set has changed, whoever had it read again. */
  onChange(listener: () => void): void
}

const REREAD_EVERY_MS = 1000

async function importKey(kind: 'public' | 'private', jwk: JWK): Promise<CryptoKey> {
  const key = await importJWK(jwk, SIGNING_ALG)
  if (key instanceof Uint8Array) throw new Error(`the ${kind} signing key ${jwk.kid} is symmetric`)
  return key
}

function openPrivateKey(row: SigningKeyRow, masterKey: MasterKey): JWK {
  try {
    return JSON.parse(masterKey.open(sealPurpose(row.kid), row.sealed_private_jwk)) as JWK
  } catch (cause) {
    throw new OperatorError(
      'The master key does not open the signing keys in this database. Set ATRIUM_MASTER_KEY (or restore master.key in the data folder) to the key that this database was started with.',
      { cause },
    )
  }
}

async function load(row: SigningKeyRow, masterKey: MasterKey): Promise<SigningKey> {
  const publicJwk = row.public_jwk as JWK
  const privateJwk = openPrivateKey(row, masterKey)
  const [publicKey, privateKey] = await Promise.all([
    importKey('public', publicJwk),
    importKey('private', privateJwk),
  ])
  return {
    kid: row.kid,
    publicJwk,
    privateJwk,
    publicKey,
    privateKey,
    signsFrom: row.signs_from.getTime(),
    retiresAt: row.retires_at?.getTime() ?? Number.POSITIVE_INFINITY,
  }
}

/** @throws OperatorError when the master key does not open the stored keys */
export async function createSigningKeys(db: IdentityDatabase, masterKey: MasterKey): Promise<SigningKeys> {
  let keys: readonly SigningKey[] = []
  let lastReread = Number.NEGATIVE_INFINITY
  let reading: Promise<void> | undefined
  const listeners: (() => void)[] = []

  async function read(): Promise<void> {
    const known = new Map(keys.map((key) => [key.kid, key]))
    const rows = await listSigningKeys(db)
    const next = await Promise.all(
      rows.map(async (row) => {
        const same = known.get(row.kid)
        const retiresAt = row.retires_at?.getTime() ?? Number.POSITIVE_INFINITY
        if (same === undefined) return load(row, masterKey)
        return same.retiresAt === retiresAt ? same : { ...same, retiresAt }
      }),
    )
    const isSame = next.length === keys.length && next.every((key, at) => key === keys[at])
    if (isSame) return
    keys = next
    for (const tell of listeners) tell()
  }

  /** A read that began before the caller asked may have missed the change, so the next one follows it. */
  function refresh(): Promise<void> {
    const turn = (reading ?? Promise.resolve()).catch(() => {}).then(read)
    reading = turn
    return turn
  }

  const lookUp = (kid: string): SigningKey | undefined => {
    const key = keys.find((candidate) => candidate.kid === kid)
    return key !== undefined && key.retiresAt > Date.now() ? key : undefined
  }

  await refresh()
  return {
    refresh,
    published: () => keys,
    onChange: (listener) => void listeners.push(listener),
    current() {
      const now = Date.now()
      // Oldest first. A clock behind the database's may think that the only key signs in the future.
      const signer = keys.findLast((key) => key.signsFrom <= now) ?? keys[0]
      if (signer === undefined) throw new Error('there is no signing key')
      return signer
    },
    async find(kid) {
      const known = lookUp(kid)
      if (known !== undefined) return known
      const now = performance.now()
      if (now - lastReread < REREAD_EVERY_MS) {
        await reading?.catch(() => {})
        return lookUp(kid)
      }
      lastReread = now
      await refresh()
      return lookUp(kid)
    },
  }
}
