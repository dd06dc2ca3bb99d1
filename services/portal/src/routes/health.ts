import type { ServiceScope } from '@atrium/kernel/http'
import type { PortalContext } from '../context.ts'
import { ErrorBody } from '../contract/common.ts'
import { Health, Liveness, NotReady, Readiness } from '../contract/health.ts'
import type { PortalGuard } from './guard.ts'

const tags = ['Health']

const now = (): string => new Date().toISOString()
const stateOf = (isUp: boolean): string => (isUp ? 'ok' : 'failed')

/** Public; `Cache-Control: no-store` comes from the server, as on every answer. */
export function healthRoutes(scope: ServiceScope, ctx: PortalContext, guard: PortalGuard): void {
  scope.route({
    method: 'GET',
    url: '/health',
    ...guard('getHealth'),
    schema: { tags, summary: 'How the service is', response: { 200: Health } },
    handler: async () => {
      const isUp = await ctx.checkDatabase()
      return {
        status: isUp ? 'healthy' : 'degraded',
        timestamp: now(),
        uptime: process.uptime(),
        environment: ctx.environmentName,
        authentication: ctx.access.ingress === undefined ? 'JWT, API keys' : 'JWT, gateway headers, API keys',
        message: isUp ? 'The portal is running' : 'The portal is running, but its database does not answer',
        checks: { database: stateOf(isUp) },
      }
    },
  })

  scope.route({
    method: 'GET',
    url: '/liveness',
    ...guard('getLiveness'),
    schema: { tags, summary: 'Whether the process answers', response: { 200: Liveness, 500: ErrorBody } },
    handler: async () => ({ status: 'alive' as const, timestamp: now() }),
  })

  scope.route({
    method: 'GET',
    url: '/readiness',
    ...guard('getReadiness'),
    schema: {
      tags,
      summary: 'Whether the process should get requests',
      response: { 200: Readiness, 503: NotReady },
    },
    handler: async (_request, reply) => {
      const isUp = await ctx.checkDatabase()
      const checks = { database: stateOf(isUp) }
      if (isUp && !ctx.isDraining()) return { status: 'ready' as const, timestamp: now(), checks }
      const message = isUp ? 'The server is shutting down' : 'The database does not answer'
      return reply
        .code(503)
        .send({ status: 'not ready' as const, timestamp: now(), checks, error: { code: 503, message } })
    },
  })
}
