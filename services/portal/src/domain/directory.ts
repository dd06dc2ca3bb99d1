import type { AccessDirectory, Principal } from '@atrium/access'
import { isUuid } from '@atrium/kernel/ids'
import type { AccessQueries } from '../queries/access.ts'
import { type AccessChanges, subjectOf } from './access-changes.ts'
import { FreshCache } from './fresh-cache.ts'

type RoleHere = Awaited<ReturnType<AccessDirectory['roleIn']>>

/** With the time of the reading itself, a change of rights holds in every process within one second. */
export const MAX_AGE_MS = 800

/** Who may do what, from the database, remembered for less than a second. */
export function createDirectory(queries: AccessQueries, changes: AccessChanges): AccessDirectory {
  const superusers = new FreshCache<boolean>({ maxAgeMs: MAX_AGE_MS, maxEntries: 20_000 })
  const roles = new FreshCache<RoleHere>({ maxAgeMs: MAX_AGE_MS, maxEntries: 50_000 })
  changes.onChange((subject) => {
    for (const cache of [superusers, roles]) {
      if (subject === undefined) cache.clear()
      else cache.drop(subject)
    }
  })

  const roleOrNot = (role: 'owner' | 'member' | null | undefined): RoleHere =>
    role === undefined ? 'no-space' : (role ?? undefined)

  async function readRole(caller: Principal, spaceId: string): Promise<RoleHere> {
    if (caller.kind === 'user') return roleOrNot(await queries.personRole(spaceId, caller.qxId))
    if (caller.kind === 'client') return roleOrNot(await queries.clientRole(spaceId, caller.clientId))
    return (await queries.spaceExists(spaceId)) ? undefined : 'no-space'
  }

  return {
    async isSuperuser(caller) {
      if (caller.kind === 'key') return false
      const id = caller.kind === 'user' ? caller.qxId : caller.clientId
      return superusers.get(subjectOf[caller.kind](id), '', () => queries.isSuperuser(caller.kind, id))
    },
    async roleIn(caller, spaceId) {
      if (!isUuid(spaceId)) return 'no-space'
      const id = spaceId.toLowerCase()
      if (caller.kind === 'key' && caller.spaceId === id) return 'member'
      const subject =
        caller.kind === 'user'
          ? subjectOf.user(caller.qxId)
          : caller.kind === 'client'
            ? subjectOf.client(caller.clientId)
            : 'any-key'
      return roles.get(subject, id, () => readRole(caller, id))
    },
  }
}
