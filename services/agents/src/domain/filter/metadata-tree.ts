import { isObject, type Json, type JsonObject } from './filter.ts'

/** Levels of objects and arrays that metadata may have. */
export const METADATA_DEPTH = 32

/** Whether a value is JSON of at most so many levels, its numbers finite; never recurses deeper than that. */
export function isJsonWithin(value: unknown, levels: number): value is Json {
  if (typeof value === 'number') return Number.isFinite(value)
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return true
  if (typeof value !== 'object' || levels === 0) return false
  if (Array.isArray(value)) return value.every((child) => isJsonWithin(child, levels - 1))
  for (const key in value) if (!isJsonWithin((value as JsonObject)[key], levels - 1)) return false
  return true
}

/**
 * Metadata as filters see it. A key with dots reads as nested objects, because filters address both the
 * same way; where that contradicts a value that is there, the dotted key stays out. Lone surrogates, which
 * have no UTF-8, become U+FFFD. What needs no change is returned as it is.
 * @param value at most `METADATA_DEPTH` levels, nothing but JSON
 */
export function metadataTree(value: Json): Json {
  if (isTree(value)) return value
  if (typeof value === 'string') return value.toWellFormed()
  if (isArray(value)) return value.map(metadataTree)
  return unfolded(Object.entries(value as JsonObject).map(([key, child]) => [key, metadataTree(child)]))
}

/** Whether filters see a value as it is. Nearly all metadata is so: this makes nothing. */
function isTree(value: Json): boolean {
  if (typeof value === 'string') return value.isWellFormed()
  if (isScalar(value)) return true
  if (isArray(value)) return value.every(isTree)
  for (const key in value) {
    if (key.includes('.') || !key.isWellFormed() || !isTree(value[key] as Json)) return false
  }
  return true
}

export type Scalar = string | number | boolean | null

export const isScalar = (value: Json): value is Scalar => typeof value !== 'object' || value === null

// Array.isArray alone does not narrow a readonly array.
export const isArray = (value: Json): value is readonly Json[] => Array.isArray(value)

type Tree = Record<string, Json>

// Without a prototype, so that the key `__proto__` is a key like any other.
const newTree = (from?: JsonObject): Tree => Object.assign(Object.create(null), from)

function unfolded(entries: readonly (readonly [string, Json])[]): JsonObject {
  const tree = newTree()
  for (const [key, value] of entries) if (!key.includes('.')) tree[key.toWellFormed()] ??= value
  for (const [key, value] of entries) {
    if (key.includes('.')) place(tree, key.toWellFormed().split('.'), value)
  }
  return tree
}

function place(tree: Tree, segments: readonly string[], value: Json): void {
  let node = tree
  for (const segment of segments.slice(0, -1)) {
    const there = node[segment]
    if (there !== undefined && !isObject(there)) return
    const next: Tree = newTree(there)
    node[segment] = next
    node = next
  }
  const last = segments.at(-1) ?? ''
  if (node[last] === undefined) node[last] = value
}
