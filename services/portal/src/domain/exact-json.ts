declare global {
  // Both are in Node; TypeScript's libraries do not name them yet.
  interface JSON {
    /** Text that `stringify` writes as it is. */
    rawJSON(text: string): unknown
    parse(
      text: string,
      reviver: (this: object, key: string, value: unknown, context: { readonly source?: string }) => unknown,
    ): unknown
  }
}

/** A value that `JSON.stringify` writes as exactly these digits. It must not be computed with. */
export const exactNumber = (plainDecimalText: string): number => JSON.rawJSON(plainDecimalText) as number

/** How the number of a top-level field is written in JSON text, digit by digit. */
export function numberSource(json: string, field: string): string | undefined {
  const sources = new Map<unknown, string>()
  const root = JSON.parse(json, function (key, value, { source }) {
    if (key === field && typeof value === 'number' && source !== undefined) sources.set(this, source)
    return value
  })
  return sources.get(root)
}
