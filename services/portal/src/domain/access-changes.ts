import type { Notifications } from '@atrium/kernel/db'
import { notifyAccess } from '../queries/access-changes.ts'
import type { PortalDb, PortalTransaction } from '../queries/tables.ts'

/** Whose rights changed: those of a person, a client, a key (by its hash), or everybody's in a space. */
export const subjectOf = {
  user: (qxId: string): string => `user:${qxId}`,
  client: (clientId: string): string => `client:${clientId}`,
  key: (hash: string): string => `key:${hash}`,
  space: (spaceId: string): string => `space:${spaceId}`,
} as const

/** The space that a subject names; undefined for any other subject. */
export const spaceOf = (subject: string): string | undefined =>
  subject.startsWith('space:') ? subject.slice('space:'.length) : undefined

export const ACCESS_CHANNEL = 'portal_access'

/** Spreads changes of rights to the caches of all processes. */
export interface AccessChanges {
  /** Runs `change` in a transaction that also announces the subjects; this process forgets them once it is committed. */
  commit<T>(subjects: readonly string[], change: (trx: PortalTransaction) => Promise<T>): Promise<T>
  /** Calls `forget` for every subject that changes, in whatever process; without one, for all. */
  onChange(forget: (subject: string | undefined) => void): void
}

/** Listens at once. A lost notification costs nothing but time: caches hold entries for less than a second. */
export async function createAccessChanges(
  db: PortalDb,
  notifications: Notifications,
): Promise<AccessChanges> {
  const listeners: ((subject: string | undefined) => void)[] = []
  const tell = (subject: string | undefined): void => {
    for (const listener of listeners) listener(subject)
  }
  await notifications.subscribe(ACCESS_CHANNEL, tell)
  notifications.onGap(() => tell(undefined))

  return {
    onChange: (forget) => void listeners.push(forget),
    async commit(subjects, change) {
      const result = await db.transaction().execute(async (trx) => {
        const value = await change(trx)
        await notifyAccess(trx, ACCESS_CHANNEL, subjects)
        return value
      })
      for (const subject of subjects) tell(subject)
      return result
    },
  }
}
