import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import { OperatorError } from '../errors.ts'
import { createKeyFile, readKeyFile, readKeyFileIfChanged } from './key-file.ts'

/**
 * Encrypts small secrets at rest: AES-256-GCM under a key derived per purpose (HKDF-SHA-256). What is sealed names its
 * key, so that several can be accepted while one is exchanged for another.
 */
export interface MasterKey {
  /** @param purpose domain separation and authenticated data, e.g. `identity/signing-key/<kid>` */
  seal(purpose: string, plaintext: string): Buffer
  /** @throws Error when `sealed` was made under a key that is not accepted, or another purpose, or was altered */
  open(purpose: string, sealed: Buffer): string
  /** Whether `sealed` was made under the key that seals now, and by a release that names keys. */
  isCurrent(sealed: Buffer): boolean
  /** 32 bytes for a keyed hash or signature of this purpose, of the key that seals now. */
  derive(purpose: string): Buffer
  /** The same of every accepted key, the current one first: what is outstanding was made with one of them. */
  deriveAll(purpose: string): readonly [Buffer, ...Buffer[]]
}

const NONCE_BYTES = 12
const TAG_BYTES = 16
const ID_BYTES = 8
/** Begins what names its key. Older values begin with a random nonce, so this alone proves nothing. */
const MARK = Buffer.from('AtK1')

interface Key {
  readonly id: Buffer
  derive(purpose: string): Buffer
}

function keyOf(secret: Buffer): Key {
  if (secret.length !== 32)
    throw new OperatorError('A master key (ATRIUM_MASTER_KEY) must be 32 bytes in base64')
  const derive = (purpose: string): Buffer => Buffer.from(hkdfSync('sha256', secret, 'atrium', purpose, 32))
  return { id: derive('kernel/key-id').subarray(0, ID_BYTES), derive }
}

function sealWith(key: Key, purpose: string, plaintext: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key.derive(purpose), nonce)
  const body = Buffer.concat([cipher.update(plaintext, 'utf8'), cipher.final()])
  return Buffer.concat([MARK, key.id, nonce, cipher.getAuthTag(), body])
}

/** @param box nonce, tag and text @returns undefined when it was not made with this key */
function openWith(key: Key, purpose: string, box: Buffer): string | undefined {
  if (box.length < NONCE_BYTES + TAG_BYTES) return undefined
  const decipher = createDecipheriv('aes-256-gcm', key.derive(purpose), box.subarray(0, NONCE_BYTES))
  decipher.setAuthTag(box.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
  try {
    const body = decipher.update(box.subarray(NONCE_BYTES + TAG_BYTES))
    return Buffer.concat([body, decipher.final()]).toString('utf8')
  } catch {
    return undefined
  }
}

const names = (sealed: Buffer, key: Key): boolean =>
  sealed.subarray(0, MARK.length).equals(MARK) &&
  sealed.subarray(MARK.length, MARK.length + ID_BYTES).equals(key.id)

/** @param keysNow the accepted keys, the one that seals first; asked anew for each act */
function masterKeyOf(keysNow: () => readonly [Key, ...Key[]]): MasterKey {
  return {
    seal: (purpose, plaintext) => sealWith(keysNow()[0], purpose, plaintext),
    open(purpose, sealed) {
      const keys = keysNow()
      const named = keys.find((key) => names(sealed, key))
      const text = named && openWith(named, purpose, sealed.subarray(MARK.length + ID_BYTES))
      if (text !== undefined) return text
      // Values of older releases name no key.
      for (const key of keys) {
        const old = openWith(key, purpose, sealed)
        if (old !== undefined) return old
      }
      throw new Error('no accepted master key opens this value')
    },
    isCurrent: (sealed) => names(sealed, keysNow()[0]),
    derive: (purpose) => keysNow()[0].derive(purpose),
    deriveAll(purpose) {
      const [current, ...others] = keysNow()
      return [current.derive(purpose), ...others.map((key) => key.derive(purpose))]
    },
  }
}

/**
 * @param secret 32 random bytes, with which everything is sealed
 * @param others more that are accepted: the one before, or one that other processes seal with already
 */
export function createMasterKey(secret: Buffer, others: readonly Buffer[] = []): MasterKey {
  const keys = [keyOf(secret), ...others.map(keyOf)] as const
  return masterKeyOf(() => keys)
}

const fromBase64 = (text: string): Buffer => Buffer.from(text, 'base64')

/**
 * The key from `ATRIUM_MASTER_KEY`, else from `<dataDir>/master.key`, which is made on first use (0600) and is followed
 * when `atrium rotate-master-key` changes it.
 */
export async function loadMasterKey(options: {
  fromEnv: string | undefined
  /** More that are accepted, with `fromEnv`. */
  previous?: readonly string[] | undefined
  dataDir: string
}): Promise<MasterKey> {
  const { fromEnv, previous = [], dataDir } = options
  if (fromEnv !== undefined) return createMasterKey(fromBase64(fromEnv), previous.map(fromBase64))
  await createKeyFile(dataDir)
  const parse = ([first, ...others]: readonly [string, ...string[]]): readonly [Key, ...Key[]] => [
    keyOf(fromBase64(first)),
    ...others.map((text) => keyOf(fromBase64(text))),
  ]
  let { lines, stamp } = readKeyFile(dataDir)
  let keys = parse(lines)
  return masterKeyOf(() => {
    const changed = readKeyFileIfChanged(dataDir, stamp)
    if (changed !== undefined) {
      ;({ lines, stamp } = changed)
      keys = parse(lines)
    }
    return keys
  })
}
