/** A metadata value as `JSON.parse` gives it. */
export type Json = string | number | boolean | null | readonly Json[] | JsonObject
export interface JsonObject {
  readonly [key: string]: Json
}

export type RangeOperator = '$gt' | '$gte' | '$lt' | '$lte'

/**
 * A metadata filter, checked and reduced to what an engine has to know. Paths are dotted; booleans and
 * null never stand in a range, whose few answers are spelt out as `in`.
 */
export type Filter =
  | { readonly kind: 'and' | 'or'; readonly parts: readonly Filter[] }
  | { readonly kind: 'not'; readonly part: Filter }
  | { readonly kind: 'in'; readonly path: string; readonly values: readonly Json[] }
  | { readonly kind: 'exists'; readonly path: string }
  | {
      readonly kind: 'range'
      readonly path: string
      readonly operator: RangeOperator
      readonly bound: string | number
    }
  | { readonly kind: 'text'; readonly path: string; readonly text: string }

/** The words that a text is found by, in order, doubles included: the store's text analysis. */
export type Analyse = (text: string) => readonly string[]

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Whether a path segment addresses an element of an array of this length. */
export const isIndexOf = (segment: string, length: number): boolean =>
  /^(?:0|[1-9]\d{0,8})$/.test(segment) && Number(segment) < length
