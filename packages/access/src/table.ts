import type { Principal } from './principal.ts'

/**
 * What a kind of caller must be for an operation:
 * - `any`: any valid credential of this kind
 * - `member`: member or owner of the space in the path, or superuser
 * - `owner`: owner of that space; being superuser does not help
 * - `owner-or-superuser`: owner of that space, or superuser
 * - `superuser`: nothing else will do
 * - `self`: the person whose id is in the path, or a superuser
 * - `forbidden`: never, 403
 * - `unauthorized`: this kind of credential is not accepted here, 401
 */
export type Grant =
  | 'any'
  | 'member'
  | 'owner'
  | 'owner-or-superuser'
  | 'superuser'
  | 'self'
  | 'forbidden'
  | 'unauthorized'

/** One row of the access table. `public` operations ask for nothing at all. */
export type AccessRule =
  | 'public'
  | {
      readonly user: Grant
      readonly client: Grant
      readonly key: Grant
      /** Replaces the standard message where a credential of the wrong kind is refused. */
      readonly refusal?: string
      /** Answers 400 to a space id that is no UUID, where the contract asks for that; else 404, as for any unknown space. */
      readonly malformedSpaceId?: 400
    }

/** Operation name → rule. It decides, it is documented, and it is tested: there is no other. */
export type AccessTable<Operation extends string = string> = Readonly<Record<Operation, AccessRule>>

export const defineAccess = <const T extends AccessTable>(table: T): T => table

/** What deciding needs to know about spaces and people; portal implements it. */
export interface AccessDirectory {
  isSuperuser(caller: Principal): Promise<boolean>
  /** The caller's role in a space, `undefined` when it has none there, `'no-space'` when there is no such space. */
  roleIn(caller: Principal, spaceId: string): Promise<'owner' | 'member' | undefined | 'no-space'>
}
