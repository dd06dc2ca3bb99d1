import { RELEASES } from './releases.ts'
import type { TemplateRelease } from './template.ts'

/** `v1`, `v1.2` or `v1.2.3`: numbers without leading zeros. */
export const VERSION_FORM = /^v(0|[1-9]\d{0,5})(?:\.(0|[1-9]\d{0,5}))?(?:\.(0|[1-9]\d{0,5}))?$/

type Numbers = readonly [number, number, number]

const numbersOf = (version: string): Numbers => {
  const [major = 0, minor = 0, patch = 0] = version.slice(1).split('.').map(Number)
  return [major, minor, patch]
}

const compare = (a: TemplateRelease, b: TemplateRelease): number => {
  const [left, right] = [numbersOf(a.version), numbersOf(b.version)]
  return left[0] - right[0] || left[1] - right[1] || left[2] - right[2]
}

/** The releases of each template, newest first. */
export const TEMPLATES: ReadonlyMap<string, readonly TemplateRelease[]> = Map.groupBy(
  RELEASES.toSorted((a, b) => compare(b, a)),
  ({ name }) => name,
)

/** The newest release that a version form stands for now; undefined where there is none. */
export function releaseFor(name: string, version: string): TemplateRelease | undefined {
  const form = VERSION_FORM.exec(version)
  if (form === null) return undefined
  const wanted = form.slice(1).filter((part) => part !== undefined)
  return TEMPLATES.get(name)?.find((release) => {
    const numbers = numbersOf(release.version)
    return wanted.every((part, index) => Number(part) === numbers[index])
  })
}

/** Forms of a release's version that stand for it now: its own, and those that float to it. */
export function aliasesOf(release: TemplateRelease): string[] {
  const [major, minor] = numbersOf(release.version)
  return [`v${major}`, `v${major}.${minor}`].filter(
    (form) => releaseFor(release.name, form)?.version === release.version,
  )
}
