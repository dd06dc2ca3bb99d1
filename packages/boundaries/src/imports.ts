import { type ImportSpecifier, type Node, type Program, parseSync, Visitor } from 'oxc-parser'

/** One place where a file names another module. */
export interface Import {
  /** Undefined where it is made up at run time. */
  readonly specifier: string | undefined
  /** What is taken of it; `*` for all. */
  readonly names: readonly string[]
  readonly isTypeOnly: boolean
  readonly line: number
}

function textOf(node: Node | null | undefined): string | undefined {
  if (node?.type === 'Literal' && typeof node.value === 'string') return node.value
  const isPlain = node?.type === 'TemplateLiteral' && node.expressions.length === 0
  return isPlain ? (node.quasis[0]?.value.cooked ?? undefined) : undefined
}

const nameOf = ({ imported }: ImportSpecifier): string =>
  imported.type === 'Literal' ? imported.value : imported.name

const isOfImportMeta = (node: Node | undefined, property: string): boolean =>
  node?.type === 'MemberExpression' &&
  node.object.type === 'MetaProperty' &&
  node.property.type === 'Identifier' &&
  node.property.name === property

/**
 * Every module that a source names: imports and re-exports, of values and of types; at run time; in types; and files
 * named relative to `import.meta.url`, as workers are.
 * @throws SyntaxError
 */
export function readImports(file: string, source: string): Import[] {
  const { program, errors } = parseSync(file, source)
  if (errors[0] !== undefined) throw new SyntaxError(`${file}: ${errors[0].message}`)
  return collect(program, source)
}

function collect(program: Program, source: string): Import[] {
  const found: Import[] = []
  const note = (node: Node, names: readonly string[] = ['*'], isTypeOnly = false): void => {
    const line = source.slice(0, node.start).split('\n').length
    found.push({ specifier: textOf(node), names, isTypeOnly, line })
  }
  new Visitor({
    ImportDeclaration({ source: from, specifiers, importKind }) {
      const names = specifiers.map((one) => (one.type === 'ImportSpecifier' ? nameOf(one) : '*'))
      note(from, names, importKind === 'type')
    },
    ExportNamedDeclaration({ source: from, specifiers, exportKind }) {
      const names = specifiers.map(({ local }) => (local.type === 'Literal' ? local.value : local.name))
      if (from !== null) note(from, names, exportKind === 'type')
    },
    ExportAllDeclaration: ({ source: from, exportKind }) => note(from, ['*'], exportKind === 'type'),
    ImportExpression: ({ source: from }) => note(from),
    TSImportType: ({ source: from }) => note(from, ['*'], true),
    TSExternalModuleReference: ({ expression }) => note(expression),
    CallExpression({ callee, arguments: [first] }) {
      const isRequire = callee.type === 'Identifier' && callee.name === 'require'
      if (first !== undefined && (isRequire || isOfImportMeta(callee, 'resolve'))) note(first)
    },
    NewExpression({ callee, arguments: [first, base] }) {
      const isUrl = callee.type === 'Identifier' && callee.name === 'URL'
      if (first !== undefined && isUrl && isOfImportMeta(base, 'url')) note(first)
    },
  }).visit(program)
  return found
}
