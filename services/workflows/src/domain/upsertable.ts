/** What a PUT that may also create demands: `'any'` version that is there already, one of these, or nothing. */
export type Upsertable = readonly number[] | 'any' | undefined

/** The versions of which a row that is there must have one, undefined for any. */
export const anyOf = (versions: Upsertable): readonly number[] | undefined =>
  versions === 'any' ? undefined : versions
