import type { HttpServer } from './http/index.ts'

export interface Telemetry {
  /** Traces the routes that are added after this. */
  instrument(app: HttpServer): Promise<void>
  /** Flushes and stops. */
  stop(): Promise<void>
}

/**
 * OpenTelemetry traces, exported by OTLP as the standard `OTEL_*` variables say. Off unless
 * `OTEL_EXPORTER_OTLP_ENDPOINT` is set; the SDK is not even loaded then.
 */
export async function startTelemetry(options: { enabled: boolean; serviceName: string }): Promise<Telemetry> {
  if (!options.enabled) return { instrument: async () => {}, stop: async () => {} }
  const [{ NodeSDK }, { FastifyOtelInstrumentation }] = await Promise.all([
    import('@opentelemetry/sdk-node'),
    import('@fastify/otel'),
  ])
  const fastify = new FastifyOtelInstrumentation({
    // Paths of some routes hold credentials: what is traced is the route.
    requestHook: (span, request) => void span.setAttribute('url.path', request.routeOptions.url ?? 'unknown'),
  })
  const sdk = new NodeSDK({ serviceName: options.serviceName, instrumentations: [fastify] })
  sdk.start()
  return {
    instrument: async (app) => {
      await app.register(fastify.plugin())
    },
    stop: () => sdk.shutdown(),
  }
}
