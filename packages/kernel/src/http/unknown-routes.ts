import type { FastifyReply, FastifyRequest } from 'fastify'
import findMyWay from 'find-my-way'
import { AppError } from '../errors.ts'
import type { HttpServer } from './server.ts'

interface Known {
  readonly url: string
  readonly methods: Set<string>
}

/** The path's last part names an action of a resource: `/v1/things/7:rotate`. */
const NAMES_ACTION = /:[^/]*$/

/**
 * 405 with `Allow` where the path exists under another method, else 404; both before the body is looked at. A plain
 * OPTIONS gets 204 with `Allow`; a browser's preflight never comes here.
 */
export function answerUnknownRoutes(scope: HttpServer, prefix: string): void {
  const paths = findMyWay({ ignoreTrailingSlash: true, maxParamLength: 256 })
  const known = new Map<string, Known>()
  const everything = `${prefix}/*`
  const find = (path: string): Known | undefined => paths.find('GET', path)?.store as Known | undefined
  const allow = ({ methods }: Known): string => [...methods, 'OPTIONS'].sort().join(', ')
  const errorOf = (method: string, path: string, found: Known | undefined): AppError =>
    found === undefined
      ? new AppError(404, 'route_not_found', `There is no ${method} ${path}`)
      : new AppError(405, 'method_not_allowed', `${method} is not allowed here`, {
          headers: { allow: allow(found) },
        })

  scope.addHook('onRoute', ({ url, method }) => {
    if (url === everything) return
    const one = known.get(url) ?? { url, methods: new Set<string>() }
    if (one.methods.size === 0) {
      known.set(url, one)
      paths.on('GET', url, () => {}, one)
    }
    for (const name of Array.isArray(method) ? method : [method]) one.methods.add(name)
  })
  scope.addHook('onRequest', (request, _reply, done) => {
    const path = request.url.split('?')[0] ?? ''
    if (request.is404) return done(errorOf(request.method, path, find(path)))
    // PostgreSQL's text holds no U+0000, so nothing has such a name.
    if (path.includes('%00')) return done(errorOf(request.method, path, undefined))
    if (!NAMES_ACTION.test(path)) return done()
    // The router takes `7:rotate` for an id where the action has no such method.
    const found = find(path)
    const isOther = found !== undefined && request.routeOptions.url !== found.url
    if (isOther && !found.methods.has(request.method)) return done(errorOf(request.method, path, found))
    done()
  })
  // Reached by nobody: the hook answers before.
  scope.setNotFoundHandler((request) => {
    throw errorOf(request.method, request.url, undefined)
  })
  scope.options('/*', {
    schema: { hide: true },
    onRequest: async (request: FastifyRequest, reply: FastifyReply) => {
      const path = request.url.split('?')[0] ?? ''
      const found = find(path)
      if (found === undefined) throw errorOf(request.method, path, found)
      return reply.code(204).header('allow', allow(found)).send()
    },
    handler: () => {},
  })
}
