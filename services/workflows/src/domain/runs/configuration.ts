type Data = Readonly<Record<string, string>>

/** A configuration on record. */
export interface Persisted {
  readonly configurationId: string
  readonly data: Data
}

export interface Resolved {
  /** Every value that the run has, whichever source it comes from. */
  readonly data: Data
  /** The persisted configuration of highest priority that gave a value; null when none did. */
  readonly configurationId: string | null
}

const merged = (sources: readonly Data[]): Data => {
  // Keys are the client's: none may reach a prototype.
  const data: Record<string, string> = Object.create(null) as Record<string, string>
  for (const source of sources) for (const [key, value] of Object.entries(source)) data[key] = value
  return data
}

/**
 * Merges the sources of a run's configuration key by key.
 * @param inline of the request; first
 * @param named by the request; second
 * @param bound to the stage; last
 */
export function resolveConfiguration(
  inline: Data,
  named: Persisted | undefined,
  bound: Persisted | undefined,
): Resolved {
  const persisted = [named, bound].filter((one) => one !== undefined)
  const above = [inline, ...persisted.map(({ data }) => data)]
  const contributes = ({ data }: Persisted, index: number): boolean =>
    Object.keys(data).some((key) => !above.slice(0, index + 1).some((source) => Object.hasOwn(source, key)))
  return {
    data: merged(above.toReversed()),
    configurationId: persisted.find(contributes)?.configurationId ?? null,
  }
}
