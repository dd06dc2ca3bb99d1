import { isDeepStrictEqual } from 'node:util'

type Entries = Readonly<Record<string, unknown>>

/** What became of the entries of a mapping, for people: `+new ~changed -gone`. Empty when nothing did. */
export function differencesOf(before: Entries, after: Entries): string {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  return names
    .flatMap((name) => {
      if (!Object.hasOwn(before, name)) return [`+${name}`]
      if (!Object.hasOwn(after, name)) return [`-${name}`]
      return isDeepStrictEqual(before[name], after[name]) ? [] : [`~${name}`]
    })
    .join(' ')
}
