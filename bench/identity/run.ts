import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import autocannon from 'autocannon'

/**
 * Tokens a second of the token endpoint, with identity in one process and the load in this one, against
 * the signatures a second of the same process; and what a verification costs.
 *
 *   node bench/identity/run.ts
 */

const CONNECTIONS = 32
const SECONDS = 8

const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url))

async function answerOf<T>(child: ChildProcess): Promise<T> {
  const [message] = await once(child, 'message')
  return message as T
}

async function ask(child: ChildProcess, question: object): Promise<number> {
  const answer = answerOf<{ result: number }>(child)
  child.send(question)
  return (await answer).result
}

const child = fork(here('server.ts'))
const { url, clientId, secret } = await answerOf<{ url: string; clientId: string; secret: string }>(child)
const endpoint = `${url}/auth/oauth2/realms/root/realms/machine2machine/access_token`
const body = new URLSearchParams({
  grant_type: 'client_credentials',
  scope: 'machine2machine',
  client_id: clientId,
  client_secret: secret,
}).toString()
const headers = { 'content-type': 'application/x-www-form-urlencoded' }

const load = (duration: number) =>
  autocannon({ url: endpoint, method: 'POST', body, headers, connections: CONNECTIONS, duration })

await load(3)
const result = await load(SECONDS)
if (result.non2xx > 0 || result.errors > 0)
  throw new Error(`${result.non2xx + result.errors} requests failed`)
const signing = await ask(child, { ask: 'sign' })
const answer = await fetch(endpoint, { method: 'POST', body, headers })
const { access_token: token } = (await answer.json()) as { access_token: string }
const verify = await ask(child, { ask: 'verify', token })
const first = await ask(child, { ask: 'first' })
child.send({ ask: 'stop' })
await once(child, 'exit')

const perSecond = (value: number): string => Math.round(value).toLocaleString('en')
const rows: [string, string][] = [
  [`Tokens a second (${CONNECTIONS} connections, keep-alive)`, perSecond(result.requests.average)],
  ['Latency p50 / p99', `${result.latency.p50} / ${result.latency.p99} ms`],
  ['ES256 signatures a second, same process', perSecond(signing)],
  ['Tokens against signatures', (result.requests.average / signing).toFixed(2)],
  ['Verifying a known token', `${verify.toFixed(1)} µs`],
  ['Verifying a new token', `${first.toFixed(0)} µs`],
]
const table = ['| | |', '|---|---|', ...rows.map(([name, value]) => `| ${name} | ${value} |`)].join('\n')
process.stdout.write(`${table}\n`)
