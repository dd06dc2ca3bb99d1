import type { Analyse, Filter, Json } from '../../domain/filter/filter.ts'
import { labelOf, valueLabel } from './metadata-column-labels.ts'
import { rangePattern } from './metadata-column-order.ts'

/**
 * A condition that is never NULL. Constants are folded, and labels gathered into one search as long as
 * possible: 256 searches of a list without its index take a second, one takes 30 ms.
 * - `any`: one of the labels is there
 * - `none`: no label is there
 */
type Condition =
  | boolean
  | { readonly kind: 'any' | 'none'; readonly labels: readonly string[] }
  | { readonly kind: 'sql'; readonly sql: string }

/**
 * The predicate of a filter over the columns of `METADATA_FIELDS`, for `where`.
 * @param analyse the analysis that the store's rows were written with
 * @returns undefined where every row passes
 */
export function filterSql(filter: Filter, analyse: Analyse): string | undefined {
  const condition = conditionOf(filter, analyse)
  if (typeof condition !== 'boolean') return sqlOf(condition)
  return condition ? undefined : 'false'
}

function conditionOf(filter: Filter, analyse: Analyse): Condition {
  switch (filter.kind) {
    case 'and':
      return and(filter.parts.map((part) => conditionOf(part, analyse)))
    case 'or':
      return or(filter.parts.map((part) => conditionOf(part, analyse)))
    case 'not':
      return not(conditionOf(filter.part, analyse))
    case 'exists':
      return has([labelOf('exists', filter.path)])
    case 'in':
      return isIn(filter.path, filter.values)
    case 'range': {
      const pattern = rangePattern(filter.path, filter.operator, filter.bound)
      return pattern !== undefined && { kind: 'sql', sql: `regexp_like(ordered, ${quoted(pattern)})` }
    }
    case 'text': {
      const terms = [...new Set(analyse(filter.text))]
      // As `matches` has it: a text of stop words alone is compared as it is.
      if (terms.length === 0) return has([labelOf('string', filter.path, filter.text)])
      return and(terms.map((term) => has([labelOf('term', filter.path, term)])))
    }
  }
}

function isIn(path: string, values: readonly Json[]): Condition {
  const labels = values.map((value) => valueLabel(path, value))
  const absence = values.includes(null) ? absenceAt(path) : { labels: [], others: [] }
  return or([has([...labels, ...absence.labels]), ...absence.others])
}

/** Where a path leads to nothing: outside of arrays, or for one of the objects below an array. */
function absenceAt(path: string): {
  readonly labels: readonly string[]
  readonly others: readonly Condition[]
} {
  const keys = path.split('.')
  const paths = keys.map((_key, at) => keys.slice(0, at + 1).join('.'))
  const ways = paths.slice(0, -1)
  const labels = ways.flatMap((way, at) => [labelOf('plain', way), labelOf('lack', paths[at + 1] ?? '')])
  const nowhere = [labelOf('exists', path), ...ways.map((way) => labelOf('array', way))]
  const others = ways.map((way, at) =>
    and([has([labelOf('object', way)]), not(has([labelOf('exists', paths[at + 1] ?? '')]))]),
  )
  return { labels, others: [not(has(nowhere)), ...others] }
}

const has = (labels: readonly string[]): Condition => labels.length > 0 && { kind: 'any', labels }

function or(conditions: readonly Condition[]): Condition {
  if (conditions.includes(true)) return true
  const parts = conditions.filter((part) => !isLabels(part, 'any') && !isOne(part, 'none'))
  const labels = conditions.flatMap((part) => (isLabels(part, 'any') ? part.labels : []))
  const lacking = conditions.flatMap((part) => (isOne(part, 'none') ? part.labels : []))
  return joined('OR', [...parts, has(labels), not(hasAll(lacking))])
}

function and(conditions: readonly Condition[]): Condition {
  if (conditions.includes(false)) return false
  const parts = conditions.filter((part) => !isLabels(part, 'none') && !isOne(part, 'any'))
  const labels = conditions.flatMap((part) => (isLabels(part, 'none') ? part.labels : []))
  const required = conditions.flatMap((part) => (isOne(part, 'any') ? part.labels : []))
  return joined('AND', [...parts, not(has(labels)), hasAll(required)])
}

function not(condition: Condition): Condition {
  if (typeof condition === 'boolean') return !condition
  if (condition.kind === 'sql') return { kind: 'sql', sql: `NOT (${condition.sql})` }
  return { ...condition, kind: condition.kind === 'any' ? 'none' : 'any' }
}

const isLabels = (
  part: Condition,
  kind: 'any' | 'none',
): part is { readonly kind: 'any' | 'none'; readonly labels: readonly string[] } =>
  typeof part !== 'boolean' && part.kind === kind

const isOne = (
  part: Condition,
  kind: 'any' | 'none',
): part is { readonly kind: 'any' | 'none'; readonly labels: readonly [string] } =>
  isLabels(part, kind) && part.labels.length === 1

function hasAll(labels: readonly string[]): Condition {
  if (labels.length === 0) return true
  if (labels.length === 1) return has(labels)
  return { kind: 'sql', sql: `array_has_all(facets, ${list(labels)})` }
}

/** The conditions that are no constants, in a balanced tree: engines recurse as deep as it is. */
function joined(operator: 'AND' | 'OR', conditions: readonly Condition[]): Condition {
  const open = conditions.filter((condition) => typeof condition !== 'boolean')
  const [only, ...others] = open
  if (only === undefined) return operator === 'AND'
  if (others.length === 0) return only
  const middle = open.length >> 1
  const halves = [open.slice(0, middle), open.slice(middle)].map((half) => sqlOf(joined(operator, half)))
  return { kind: 'sql', sql: `(${halves.join(` ${operator} `)})` }
}

function sqlOf(condition: Condition): string {
  if (typeof condition === 'boolean') return String(condition)
  if (condition.kind === 'sql') return condition.sql
  const [only = '', ...others] = new Set(condition.labels)
  const search =
    others.length === 0
      ? `array_has(facets, ${quoted(only)})`
      : `array_has_any(facets, ${list([only, ...others])})`
  return condition.kind === 'any' ? search : `NOT ${search}`
}

const list = (labels: readonly string[]): string => `make_array(${labels.map(quoted).join(', ')})`

// Of the dialect's strings only the quote is special; a label has no NUL.
const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`
