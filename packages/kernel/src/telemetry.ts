import type { HttpServer } from './http/index.ts'

/**
 * OpenTelemetry traces, exported by OTLP as the standard `OTEL_*` variables say. Off unless
 * `OTEL_EXPORTER_OTLP_ENDPOINT` is set; the SDK is not even loaded then.
 * @returns a function that instruments a server, and one that flushes and stops
 */
export async function startTelemetry(options: { enabled: boolean; serviceName: string }): Promise<{
  instrument(app: HttpServer): Promise<void>
  stop(): Promise<void>
}> {
  if (!options.enabled) return { instrument: async () => {}, stop: async () => {} }
  const [{ NodeSDK }, { FastifyOtelInstrumentation }] = await Promise.all([
    import('@opentelemetry/sdk-node'),
    import('@fastify/otel'),
  ])
  const fastify = new FastifyOtelInstrumentation()
  const sdk = new NodeSDK({ serviceName: options.serviceName, instrumentations: [fastify] })
  sdk.start()
  return {
    instrument: async (app) => {
      await app.register(fastify.plugin())
    },
    stop: () => sdk.shutdown(),
  }
}
