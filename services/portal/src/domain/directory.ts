import type { AccessDirectory } from '@atrium/access'
import { FreshCache, type Outage } from '@atrium/kernel/cache'
import { isUuid } from '@atrium/kernel/ids'
import type { AccessQueries } from '../queries/access.ts'
import { type AccessChanges, spaceOf, subjectOf } from './access-changes.ts'

type RoleHere = Awaited<ReturnType<AccessDirectory['roleIn']>>

const roleOrNot = (role: 'owner' | 'member' | null | undefined): RoleHere =>
  role === undefined ? 'no-space' : (role ?? undefined)

/** Nobody in particular: whether there is such a space. */
const ANY_KEY = 'any-key'

/** A subject and a space, which is a UUID at the end of the key. */
const UUID_LENGTH = 36
const subjectIn = (key: string): string => key.slice(0, -UUID_LENGTH - 1)

/** "user:alice" → "user" and "alice". */
const partsOf = (subject: string): [kind: string, id: string] => {
  const colon = subject.indexOf(':')
  return [subject.slice(0, colon), subject.slice(colon + 1)]
}

/**
 * Who may do what, from the database, remembered for less than a second, and while the database is away for as long
 * as nothing else is known.
 */
export function createDirectory(
  queries: AccessQueries,
  changes: AccessChanges,
  outage: Outage,
): AccessDirectory {
  async function readRole(key: string): Promise<{ role: RoleHere }> {
    const subject = subjectIn(key)
    const spaceId = key.slice(-UUID_LENGTH)
    const [kind, id] = partsOf(subject)
    if (kind === 'user') return { role: roleOrNot(await queries.personRole(spaceId, id)) }
    if (kind === 'client') return { role: roleOrNot(await queries.clientRole(spaceId, id)) }
    return { role: (await queries.spaceExists(spaceId)) ? undefined : 'no-space' }
  }

  const superusers = new FreshCache<boolean>({
    read: (subject) => {
      const [kind, id] = partsOf(subject)
      return queries.isSuperuser(kind === 'user' ? 'user' : 'client', id)
    },
    outage,
    maxEntries: 20_000,
  })
  const roles = new FreshCache<{ role: RoleHere }>({
    read: readRole,
    subjectOf: subjectIn,
    isAbsent: ({ role }) => role === 'no-space',
    outage,
    maxEntries: 50_000,
  })
  changes.onChange((subject) => {
    const spaceId = subject === undefined ? undefined : spaceOf(subject)
    if (spaceId !== undefined) {
      roles.forgetWhere((key) => key.endsWith(spaceId))
      return
    }
    for (const cache of [superusers, roles]) {
      if (subject === undefined) cache.outdate()
      else cache.forget(subject)
    }
  })

  return {
    async isSuperuser(caller) {
      if (caller.kind === 'key') return false
      return superusers.find(subjectOf[caller.kind](caller.kind === 'user' ? caller.qxId : caller.clientId))
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
            : ANY_KEY
      return (await roles.find(`${subject} ${id}`)).role
    },
  }
}
