/** Runs every benchmark, one after the other, and writes what they say into bench/README.md. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { arch, cpus, release, totalmem, type } from 'node:os'
import path from 'node:path'

interface Section {
  readonly title: string
  readonly script: string
  /** What is measured against what, and the goal. */
  readonly about: string
}

const SECTIONS: readonly Section[] = [
  {
    title: 'Gateway: requests a second',
    script: 'gateway/run.ts',
    about:
      'The whole platform (API keys, a rate limit, usage and costs on), a bare Fastify + undici pass-through of 30 lines, and `@portkey-ai/gateway` from npm in a temporary folder, against an upstream that answers at once, in interleaved rounds. Each is a process of its own; all share the cores with the upstream and the load. Upstream and load generator work on raw sockets, for a full HTTP client takes from the servers what is to be measured. `BENCH_OTHER_NODE` names another Node.js to run Portkey on as well. Goals: at least 0.7 of the pass-through, at least 6 times Portkey.',
  },
  {
    title: 'Gateway: 500 streams',
    script: 'gateway/streams.ts',
    about:
      '500 concurrent streams of 200 chunks, one every 20 ms, opened over one second, directly and through the gateway, in turns; every chunk’s place is checked. Goals: no chunk lost or misplaced, flat memory, under 20 ms added to the first chunk at p99.',
  },
  {
    title: 'Identity: tokens',
    script: 'identity/run.ts',
    about:
      'The token endpoint in one process, the load in another. Goal: 1,500 tokens a second, or 0.8 of the signing limit; a known token verified in under 20 µs.',
  },
  {
    title: 'Portal: reading a space',
    script: 'portal/space-read.ts',
    about:
      '`GET /v1/spaces/{id}` with a user token against the very query that it makes, by `pg` directly (the better of 10 and 32 connections). Goal: at least 0.5.',
  },
  {
    title: 'Portal: knowing an API key again',
    script: 'portal/key-lookup.ts',
    about:
      'What the gateway asks for each call, with the re-reading of the key every 0.8 s in it, against hashing the key alone. Goal: under 20 µs.',
  },
  {
    title: 'Portal: cost reports',
    script: 'portal/cost-report.ts',
    about:
      'Reports over 1,000,000 cost entries in 12 months, one after the other, against the report’s own SQL by `pg` directly. Goals: under 50 ms for a completed month, under 150 ms for the current one.',
  },
  {
    title: 'Retrieval: 50,000 vectors of 1,536',
    script: 'retrieval/run.ts',
    about:
      'Clustered vectors with texts and metadata, ingested and searched over HTTP, against LanceDB called directly in a process of its own (for searches on the same files, in turns) and against Chroma from PyPI, over HTTP as well. Client, server, PostgreSQL and the background indexing share the cores. Recall is against plain arithmetic over all vectors. Goals: recall@10 of 0.98 with and without filters, 0.7 of the direct queries a second at 16 connections, 0.6 of the direct rows a second, flat memory, p95 under 3 times the quiet one while rows come in.',
  },
  {
    title: 'Retrieval: quality',
    script: 'retrieval-quality/run.ts',
    about:
      'nDCG@10 over HTTP with default settings on the collections in `BENCH_IR_DATA`; misspelt queries have one random edit in half of their words of five letters or more. Vectors of documents and queries, where there are any in `BENCH_IR_VECTORS`, are of a real model (`retrieval-quality/embed.py`). Goals: keyword search 0.68 on SciFact (published BM25: 0.679), 0.60 misspelt; hybrid better than both.',
  },
  {
    title: 'Neighbours',
    script: 'neighbours/run.ts',
    about:
      'One tenant does its worst within the contract on each service, while another’s plain call to the same service is timed: one every 20 ms on one connection, first with the platform quiet, then under attack; longer where the attacker gets no answer in that time. Plain calls: a token, reading a space, a chat with the sandbox, reading a vector store. The attacker owns 6,000 audit entries of 8 kB, 50,000 costs of the month and 5,000 embeddings. Platform, PostgreSQL, attacker and neighbour share the cores, so between two of its calls the neighbour asks a bare Node.js server beside the platform, which nobody attacks: how much slower that becomes is what the cores, not the platform, do to it. Last the bare server gets the attacker’s calls, as many a second. Goal: the neighbour’s p99 at most 3 times the quiet one, or no worse than the bare server’s beside it.',
  },
  {
    title: 'Workflows: the local engine',
    script: 'workflows/run.ts',
    about:
      'Python processes that sleep 10 ms, by the engine’s port on a PostgreSQL that waits for its disk, confined as tenants’ are, against bare spawns of the same processes without any confinement in the same round, and against Prefect from PyPI in a temporary folder. Recording a run and observing its end are in the times. Goals: at most 25 ms over the bare process for tasks in a row, 0.7 of the bare rate for runs of one task, no task lost.',
  },
  {
    title: 'Workflows: lists of runs',
    script: 'workflows/long-lists.ts',
    about:
      'Lists and creation of runs with 100 finished runs in the table against 100,000, each with three tasks and five events. Two filters that many runs fit each, and the ten oldest alone together, are among the lists. Goal: ratios under 1.5.',
  },
  {
    title: 'Starting',
    script: 'platform/run.ts',
    about:
      '`atrium up` until it is ready, and a whole platform for a test, in this process, on a port and a database of its own.',
  },
]

async function run(script: string): Promise<string> {
  const child = spawn(process.execPath, [path.join(import.meta.dirname, script)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let text = ''
  child.stdout.on('data', (chunk: Buffer) => {
    text += chunk.toString('utf8')
  })
  const [code] = (await once(child, 'close')) as [number | null]
  if (code !== 0) throw new Error(`${script} ended with ${code}`)
  return text.trim()
}

const README = path.join(import.meta.dirname, 'README.md')
const wanted = process.argv.slice(2)
const machine = `${cpus().length} × ${cpus()[0]?.model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GiB, ${type()} ${release()} ${arch()}, Node.js ${process.version}`

/** Sections that are not run again keep their last result. */
async function lastResults(): Promise<Map<string, string>> {
  const text = await readFile(README, 'utf8').catch(() => '')
  const parts = text.split(/^## /m).slice(1)
  return new Map(parts.map((part) => [part.slice(0, part.indexOf('\n')), `## ${part.trim()}`]))
}

const last = await lastResults()
for (const { title, script, about } of SECTIONS) {
  if (wanted.length > 0 && !wanted.some((word) => script === word || script.startsWith(`${word}/`))) continue
  process.stderr.write(`${title} …\n`)
  const result = await run(script)
  if (result.startsWith('Skipped') && last.has(title)) {
    process.stderr.write(`${result}\n`)
    continue
  }
  const when = new Date().toISOString().slice(0, 10)
  last.set(title, `## ${title}\n\n${about}\n\n\`node bench/${script}\`, ${when}, ${machine}:\n\n${result}`)
}

await writeFile(
  README,
  `# Benchmarks

Each compares with a peer or a limit in the same run; peers are installed into a temporary folder. \`npm run bench\` runs
all of them and rewrites this page, \`npm run bench -- gateway\` a part. Times belong here, never in tests. On a shared
machine only ratios of one run mean anything.

${SECTIONS.flatMap(({ title }) => last.get(title) ?? []).join('\n\n')}
`,
)
