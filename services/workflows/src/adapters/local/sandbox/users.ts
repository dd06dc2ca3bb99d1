import { createHash } from 'node:crypto'

/** Far above the users of a machine. */
const FIRST = 0x6d000000
const MOST = 2 ** 24
/** Where only the low half of all users is mapped, as in some containers: beside `nobody`, who has the database. */
const ONLY = 65533

/** The user that programs of a space run as, where the platform runs as root. @param spaceId undefined: all the same */
export const userOf = (spaceId: string | undefined): number =>
  spaceId === undefined
    ? ONLY
    : FIRST + (createHash('sha256').update(spaceId).digest().readUInt32BE(0) % MOST)
