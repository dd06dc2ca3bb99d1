// Load generator in a process of its own: autocannon, which takes less of a core than any of the servers.
import autocannon from 'autocannon'

/** What to send where; given as JSON in the first argument. */
export interface LoadOptions {
  readonly url: string
  readonly headers: Record<string, string>
  readonly body: string
  readonly connections: number
  readonly seconds: number
}

/** What came of it; printed as JSON. */
export interface LoadResult {
  readonly requestsPerSecond: number
  readonly p50: number
  readonly p99: number
  readonly failures: number
}

const { url, headers, body, connections, seconds } = JSON.parse(process.argv[2] ?? '{}') as LoadOptions
const result = await autocannon({ url, method: 'POST', headers, body, connections, duration: seconds })
const summary: LoadResult = {
  requestsPerSecond: result['2xx'] / result.duration,
  p50: result.latency.p50,
  p99: result.latency.p99,
  failures: result.non2xx + result.errors + result.timeouts,
}
process.stdout.write(JSON.stringify(summary))
