const MASK = '***'
/** Shorter parts of a secret would blacken ordinary words. */
const SHORTEST_LINE = 6

export interface Mask {
  /** Characters of the longest text that is masked. */
  readonly longest: number
  apply(text: string): string
}

const quoted = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')

/**
 * Blackens secrets: each whole value, and each line of a value with several, for output comes in lines. The JSON form
 * of a value is masked too.
 */
export function createMask(secrets: Iterable<string>): Mask {
  const parts = new Set<string>()
  for (const secret of secrets) {
    if (secret === '') continue
    const lines = secret.split(/\r?\n/).filter((line) => line.length >= SHORTEST_LINE)
    for (const part of [secret, secret.trim(), ...lines]) {
      if (part !== '') parts.add(part).add(JSON.stringify(part).slice(1, -1))
    }
  }
  if (parts.size === 0) return { longest: 0, apply: (text) => text }
  const ordered = [...parts].sort((a, b) => b.length - a.length)
  const pattern = new RegExp(ordered.map(quoted).join('|'), 'g')
  return { longest: ordered[0]?.length ?? 0, apply: (text) => text.replace(pattern, MASK) }
}
