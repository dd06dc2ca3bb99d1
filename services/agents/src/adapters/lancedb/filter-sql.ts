import type { Analyse, Filter, Json } from '../../domain/filter/filter.ts'
import { labelOf, valueLabel } from './metadata-column-labels.ts'
import { rangePattern } from './metadata-column-order.ts'

/** SQL that is never NULL; constants are folded, since the engine's planner need not see them. */
type Condition = string | boolean

/**
 * The predicate of a filter over the columns of `METADATA_FIELDS`, for `where`.
 * @param analyse the analysis that the store's rows were written with
 * @returns undefined where every row passes
 */
export function filterSql(filter: Filter, analyse: Analyse): string | undefined {
  const condition = conditionOf(filter, analyse)
  if (typeof condition === 'string') return condition
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
      return pattern === undefined ? false : `regexp_like(ordered, ${quoted(pattern)})`
    }
    case 'text': {
      const terms = [...new Set(analyse(filter.text))]
      // As `matches` has it: a text of stop words alone is compared as it is.
      if (terms.length === 0) return has([labelOf('string', filter.path, filter.text)])
      return hasAll(terms.map((term) => labelOf('term', filter.path, term)))
    }
  }
}

function isIn(path: string, values: readonly Json[]): Condition {
  const labels = values.map((value) => valueLabel(path, value))
  const absence = values.includes(null) ? isMissing(path) : { labels: [], others: [] }
  return or([has([...labels, ...absence.labels]), ...absence.others])
}

/** Where a path leads to nothing: outside of arrays, or for one of the objects below an array. */
function isMissing(path: string): {
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

function has(labels: readonly string[]): Condition {
  const [only, ...others] = new Set(labels)
  if (only === undefined) return false
  return others.length === 0
    ? `array_has(facets, ${quoted(only)})`
    : `array_has_any(facets, ${list([only, ...others])})`
}

function hasAll(labels: readonly string[]): Condition {
  const [only, ...others] = labels
  if (only === undefined) return true
  return others.length === 0 ? has(labels) : `array_has_all(facets, ${list(labels)})`
}

function and(conditions: readonly Condition[]): Condition {
  if (conditions.includes(false)) return false
  return joined('AND', conditions) ?? true
}

function or(conditions: readonly Condition[]): Condition {
  if (conditions.includes(true)) return true
  return joined('OR', conditions) ?? false
}

function not(condition: Condition): Condition {
  return typeof condition === 'boolean' ? !condition : `NOT (${condition})`
}

/** The conditions that are no constants, in a balanced tree: engines recurse as deep as it is. */
function joined(operator: 'AND' | 'OR', conditions: readonly Condition[]): string | undefined {
  const open = conditions.filter((condition) => typeof condition === 'string')
  if (open.length < 2) return open[0]
  const middle = open.length >> 1
  const left = joined(operator, open.slice(0, middle))
  return `(${left} ${operator} ${joined(operator, open.slice(middle))})`
}

const list = (labels: readonly string[]): string => `make_array(${labels.map(quoted).join(', ')})`

// Of the dialect's strings only the quote is special; a label has no NUL.
const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`
