import { createServer, type Server } from 'node:http'
import { collectDefaultMetrics, Registry } from 'prom-client'

export { Counter, Gauge, Histogram, type Registry } from 'prom-client'

/** A registry of its own (never prom-client's global one), so that several platforms fit in a process. */
export function createMetrics(options: { processMetrics: boolean }): Registry {
  const registry = new Registry()
  if (options.processMetrics) collectDefaultMetrics({ register: registry })
  return registry
}

/** Serves `GET /metrics` in Prometheus' text format on a port of its own, meant to stay internal. */
export async function serveMetrics(
  registry: Registry,
  options: { host: string; port: number },
): Promise<Server> {
  const server = createServer((request, response) => {
    if (request.method !== 'GET' || request.url !== '/metrics') {
      response.writeHead(404).end()
      return
    }
    registry.metrics().then(
      (text) => response.writeHead(200, { 'content-type': registry.contentType }).end(text),
      () => response.writeHead(500).end(),
    )
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.port, options.host, resolve)
  })
  return server
}
