import type { FastifyReply, FastifyRequest } from 'fastify'
import type { GatewayContext } from '../context.ts'
import type { ModelKind } from '../contract/index.ts'
import { type BackendAnswer, type Call, Cancellation, type DeployedCall } from '../domain/backend.ts'
import type { CatalogueModel } from '../domain/catalogue.ts'
import { Charge } from '../domain/charge.ts'
import type { Deployment } from '../domain/model-routing.ts'
import { type Served, serveCall } from '../domain/serve-call.ts'
import type { Prompt } from '../domain/token-counter.ts'
import { keyOf } from './key-guard.ts'

/** One operation on a model. */
export interface Operation<Request> {
  readonly kind: ModelKind
  readonly raw: Buffer
  readonly request: Request
  /** Looks at the request once its model is known. @throws AppError */
  check?(model: CatalogueModel): void
  promptOf(): Prompt
  /** Undefined: the deployment's backend lacks the operation. */
  serve(
    deployment: Deployment,
    call: DeployedCall<Request>,
    model: CatalogueModel,
  ): Promise<BackendAnswer> | undefined
}

/**
 * Finds who serves the model and has it served, for the account of the caller's key.
 * @throws AppError
 */
export async function serveModel<Request extends { readonly model: string }>(
  context: GatewayContext,
  http: { request: FastifyRequest; reply: FastifyReply },
  operation: Operation<Request>,
): Promise<Served> {
  const { raw, request, kind } = operation
  const publicModel = request.model
  if (!context.models.serves(publicModel)) await context.lookForModels()
  const route = context.models.find(publicModel, kind)
  operation.check?.(route.model)
  const cancellation = new Cancellation()
  http.reply.raw.on('close', () => cancellation.cancel())
  http.reply.headers(route.model.headers)
  const call: Call<Request> = { raw, request, cancellation }
  const holder = keyOf(http.request)
  return serveCall(context, route.deployments, {
    cancellation,
    serve: (deployment) =>
      operation.serve(deployment, { ...call, publicModel, model: deployment.model }, route.model),
    charge: (deployment) =>
      new Charge(context, holder, { route, deployment, promptOf: () => operation.promptOf() }),
    onTry: ({ backend }) => void http.reply.header('x-atrium-backend', backend.name),
  })
}
