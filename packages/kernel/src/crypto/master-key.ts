import { createCipheriv, createDecipheriv, hkdfSync, randomBytes, randomUUID } from 'node:crypto'
import { chmod, link, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { OperatorError } from '../errors.ts'

/** Encrypts small secrets at rest: AES-256-GCM under a key derived per purpose (HKDF-SHA-256). */
export interface MasterKey {
  /** @param purpose domain separation and authenticated data, e.g. `identity/signing-key/<kid>` */
  seal(purpose: string, plaintext: string): Buffer
  /** @throws Error when `sealed` was made under another key or purpose, or was altered */
  open(purpose: string, sealed: Buffer): string
  /** 32 bytes for a keyed hash or signature of this purpose. */
  derive(purpose: string): Buffer
}

const NONCE_BYTES = 12
const TAG_BYTES = 16

/** @param secret 32 random bytes */
export function createMasterKey(secret: Buffer): MasterKey {
  if (secret.length !== 32) throw new OperatorError('ATRIUM_MASTER_KEY must be 32 bytes in base64')
  const derive = (purpose: string): Buffer => Buffer.from(hkdfSync('sha256', secret, 'atrium', purpose, 32))
  return {
    derive,
    seal(purpose, plaintext) {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv('aes-256-gcm', derive(purpose), nonce)
      const body = Buffer.concat([cipher.update(plaintext, 'utf8'), cipher.final()])
      return Buffer.concat([nonce, cipher.getAuthTag(), body])
    },
    open(purpose, sealed) {
      const nonce = sealed.subarray(0, NONCE_BYTES)
      const tag = sealed.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES)
      const decipher = createDecipheriv('aes-256-gcm', derive(purpose), nonce)
      decipher.setAuthTag(tag)
      const body = sealed.subarray(NONCE_BYTES + TAG_BYTES)
      return Buffer.concat([decipher.update(body), decipher.final()]).toString('utf8')
    },
  }
}

/** The key from `ATRIUM_MASTER_KEY`, else from `<dataDir>/master.key`, which is made on first use (0600). */
export async function loadMasterKey(options: {
  fromEnv: string | undefined
  dataDir: string
}): Promise<MasterKey> {
  if (options.fromEnv !== undefined) return createMasterKey(Buffer.from(options.fromEnv, 'base64'))
  const file = path.join(options.dataDir, 'master.key')
  await createKeyFile(file)
  return createMasterKey(Buffer.from((await readFile(file, 'utf8')).trim(), 'base64'))
}

async function createKeyFile(file: string): Promise<void> {
  // Not the process id: in containers that share a folder it is often the same.
  const fresh = `${file}.${randomUUID()}.new`
  await mkdir(path.dirname(file), { recursive: true })
  await writeFile(fresh, `${randomBytes(32).toString('base64')}\n`, { mode: 0o600 })
  await chmod(fresh, 0o600)
  try {
    // link() fails when the name exists, so a half-written key is never seen and none is replaced.
    await link(fresh, file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    await rm(fresh)
  }
}
