/** What may import what. Everything that does not stand here is refused; `npm run lint` checks it. */

/** A layer of a service: a folder in its `src`, or a file of that name. */
export interface LayerRule {
  /** Layers of the same service. */
  readonly imports: readonly Layer[]
  /** Layers of the same service of which only types. */
  readonly types?: readonly Layer[]
  /** Packages that do not belong here; `@fastify/*` covers a scope, `pg#Pool` one name. */
  readonly without?: readonly string[]
}

const HTTP = [
  'fastify',
  '@fastify/*',
  '@atrium/kernel/http',
  'node:http',
  'node:https',
  'node:http2',
  'undici',
]
const SQL = ['kysely', 'kysely/*', 'pg', '@atrium/kernel/db#sql', '@atrium/kernel/db#createDatabase']
/** What only an adapter knows: it could be another vendor's tomorrow. */
const VENDORS = ['@lancedb/lancedb', 'apache-arrow', 'oidc-provider', 'nodemailer', '@openfeature/flagd-core']

export const LAYERS = [
  'access',
  'adapters',
  'config',
  'context',
  'contract',
  'domain',
  'errors',
  'index',
  'jobs',
  'pages',
  'ports',
  'queries',
  'routes',
  'setup',
  'test',
] as const
export type Layer = (typeof LAYERS)[number]

/** Dependencies point inward: routes, jobs → domain → queries. Adapters implement what the domain declares. */
export const SERVICE_LAYERS: Readonly<Record<Layer, LayerRule>> = {
  // Words that every layer shares.
  contract: { imports: ['contract'], without: [...SQL, ...VENDORS] },
  errors: { imports: ['contract'], without: [...SQL, ...VENDORS] },
  access: { imports: [], without: [...SQL, ...VENDORS] },
  config: { imports: ['domain'], without: [...HTTP, ...SQL, ...VENDORS] },
  // What the service asks of other services, and its routes of adapters that speak HTTP.
  ports: { imports: [], types: ['contract', 'domain'], without: [...SQL, ...VENDORS] },
  // What handlers and domain functions work with; made once, in index.
  context: {
    imports: [],
    types: ['access', 'config', 'domain', 'ports', 'queries'],
    without: [...SQL, ...VENDORS],
  },

  // Outer layers: they begin work.
  routes: {
    imports: ['access', 'contract', 'domain', 'errors', 'pages', 'routes'],
    types: ['context', 'ports', 'queries'],
    without: [...SQL, ...VENDORS],
  },
  jobs: {
    imports: ['domain', 'errors', 'jobs', 'queries'],
    types: ['context'],
    without: [...HTTP, ...VENDORS],
  },
  pages: { imports: ['pages'], without: [...HTTP, ...SQL, ...VENDORS] },

  // The inside.
  domain: {
    imports: ['contract', 'domain', 'errors', 'queries'],
    types: ['config', 'context', 'ports'],
    without: [...HTTP, ...SQL, ...VENDORS],
  },
  queries: { imports: ['errors', 'queries'], without: [...HTTP, ...VENDORS] },

  // The outside world, behind interfaces of the domain.
  adapters: {
    imports: ['adapters', 'contract', 'domain', 'errors', 'pages', 'queries'],
    types: ['config', 'context', 'ports'],
    without: ['fastify', '@fastify/*'],
  },

  // What a process knows of a service that it does not run: it must load next to nothing.
  setup: { imports: ['config'], without: [...HTTP, ...SQL, ...VENDORS] },

  // Wiring and tests see everything of their own service.
  index: { imports: LAYERS.filter((layer) => layer !== 'test') },
  test: { imports: LAYERS },
}

export interface WorkspaceRule {
  /** Entries of other workspaces; `@atrium/*` stands for any, a second `*` for any entry of it. */
  readonly imports: readonly string[]
  /** Entries for tests only. */
  readonly tests?: readonly string[]
}

const PACKAGES = ['@atrium/access', '@atrium/kernel/*']
const TESTING = ['@atrium/testing', '@atrium/testing/*']

/** Workspaces meet only through the entries that their package.json exports. */
export const WORKSPACES: Readonly<Record<string, WorkspaceRule>> = {
  'packages/kernel': { imports: [] },
  'packages/access': { imports: ['@atrium/kernel/*'], tests: TESTING },
  'packages/testing': { imports: ['@atrium/kernel/*'] },
  'packages/boundaries': { imports: [] },
  'services/identity': { imports: PACKAGES, tests: TESTING },
  'services/portal': { imports: [...PACKAGES, '@atrium/identity'], tests: TESTING },
  'services/gateway': { imports: PACKAGES, tests: TESTING },
  'services/agents': { imports: PACKAGES, tests: TESTING },
  'services/workflows': { imports: PACKAGES, tests: TESTING },
  'apps/server': {
    imports: [
      ...PACKAGES,
      '@atrium/identity',
      '@atrium/portal',
      '@atrium/gateway',
      '@atrium/agents',
      '@atrium/workflows',
      '@atrium/workflows/workflow-file',
      '@atrium/*/setup',
    ],
    tests: [...TESTING, '@atrium/*/contract'],
  },
  // Black boxes: contracts, and the fakes of the outside world.
  acceptance: { imports: [...TESTING, '@atrium/*/contract'] },
  // Measures parts from within.
  bench: { imports: ['@atrium/*', '@atrium/*/*'] },
  scripts: { imports: ['@atrium/*', '@atrium/*/*'] },
}

/** Workspaces that may name files of others by path. */
export const REACHES_INSIDE: readonly string[] = ['bench', 'scripts']

export interface Exception {
  readonly file: string
  /** As the file writes them. */
  readonly specifiers: readonly string[]
  readonly reason: string
}

const TABLES =
  'The domain of retrieval works on LanceDB’s tables themselves: an interface of its own comes when retrieval is reworked.'

/** What is not yet as it should be. An exception that nothing needs any more is refused, too. */
export const EXCEPTIONS: readonly Exception[] = [
  {
    file: 'services/agents/src/context.ts',
    specifiers: ['./adapters/encoding/encoder.ts', './adapters/lancedb/retrieval.ts'],
    reason: TABLES,
  },
  {
    file: 'services/agents/src/domain/embeddings.ts',
    specifiers: [
      '../adapters/encoding/encode-batch.ts',
      '../adapters/lancedb/embedding-table.ts',
      '../adapters/lancedb/read-rows.ts',
      '../adapters/lancedb/retrieval.ts',
    ],
    reason: TABLES,
  },
  {
    file: 'services/agents/src/domain/embeddings.ts',
    specifiers: ['node:http', '@atrium/kernel/http'],
    reason: 'A batch of 64 MiB is read only once the store is known and its space has a turn.',
  },
  {
    file: 'services/agents/src/domain/search/found.ts',
    specifiers: [
      '@lancedb/lancedb',
      '../../adapters/lancedb/embedding-table.ts',
      '../../adapters/lancedb/shown-rows.ts',
    ],
    reason: TABLES,
  },
  {
    file: 'services/agents/src/domain/search/search.ts',
    specifiers: [
      '@lancedb/lancedb',
      '../../adapters/lancedb/filter-sql.ts',
      '../../adapters/lancedb/full-text.ts',
      '../../adapters/lancedb/shown-rows.ts',
      '../../adapters/lancedb/vector-search.ts',
    ],
    reason: TABLES,
  },
  {
    file: 'services/agents/src/domain/upkeep.ts',
    specifiers: [
      '../adapters/lancedb/embedding-table.ts',
      '../adapters/lancedb/retrieval.ts',
      '../adapters/upkeep/state.ts',
      '../adapters/upkeep/upkeep-worker.ts',
    ],
    reason: TABLES,
  },
  {
    file: 'services/agents/src/routes/embeddings.ts',
    specifiers: ['../adapters/lancedb/embedding-table.ts'],
    reason: TABLES,
  },
]
