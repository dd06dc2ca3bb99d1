import type { KeyPrincipal } from '@atrium/access'
import { isUnavailable } from '@atrium/kernel/errors'
import { every } from '@atrium/kernel/lifecycle'
import type { Logger } from '@atrium/kernel/log'
import type { KeyUse } from '../queries/api-keys.ts'

/** Collects when keys were used and writes it now and then, so that no request waits for it. */
export interface KeyUseRecorder {
  note(key: KeyPrincipal): void
  /** Writes what is left and stops. */
  close(): Promise<void>
}

export function createKeyUseRecorder(options: {
  everyMs: number
  write: (uses: readonly KeyUse[]) => Promise<void>
  log: Logger
}): KeyUseRecorder {
  let noted = new Map<string, KeyUse>()

  async function flush(): Promise<void> {
    if (noted.size === 0) return
    const batch = noted
    noted = new Map()
    await options.write([...batch.values()])
  }
  const report = (error: unknown): void => {
    if (isUnavailable(error)) return
    options.log.warn({ err: error }, 'the last use of API keys could not be written')
  }
  const stop = every(options.everyMs, flush, report)

  return {
    note(key) {
      noted.set(key.keyId, { spaceId: key.spaceId, keyId: key.keyId, usedAtMs: Date.now() })
    },
    async close() {
      await stop()
      await flush().catch(report)
    },
  }
}
