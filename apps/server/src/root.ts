import type { HttpServer } from '@atrium/kernel/http'
import type { ServiceName } from './config.ts'

const ADDRESSES: Readonly<Record<ServiceName, readonly string[]>> = {
  identity: ['/auth'],
  portal: ['/portal'],
  gateway: ['/llm', '/llm-cn'],
  agents: ['/agents'],
  workflows: ['/workflows'],
}

/** The origin itself: says which services are here. Everything unknown below it is a plain JSON 404. */
export function mountRoot(app: HttpServer, services: readonly ServiceName[]): void {
  const index = {
    name: 'Atrium',
    services: services.flatMap((name) =>
      ADDRESSES[name].map((address) => ({
        name,
        address,
        openapi: `${address}/openapi.json`,
        docs: `${address}/docs`,
      })),
    ),
  }
  app.get('/', () => index)
  app.setNotFoundHandler((request, reply) => {
    void reply
      .code(404)
      .send({ error: { code: 404, message: `There is no ${request.method} ${request.url.split('?')[0]}` } })
  })
}
