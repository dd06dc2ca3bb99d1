import type { FastifyReply, FastifyRequest } from 'fastify'
import type { GatewayContext } from '../context.ts'
import type { ModelKind } from '../contract/index.ts'
import type { AnswerReader } from '../domain/answer-reader.ts'
import { type BackendAnswer, type Call, Cancellation, type DeployedCall } from '../domain/backend.ts'
import type { Reservation } from '../domain/budgets.ts'
import type { CatalogueModel } from '../domain/catalogue.ts'
import { Charge } from '../domain/charge.ts'
import type { Deployment } from '../domain/model-routing.ts'
import type { MostTokens } from '../domain/most-tokens.ts'
import { costOf } from '../domain/price.ts'
import { type Served, serveCall } from '../domain/serve-call.ts'
import type { Prompt } from '../domain/token-counter.ts'
import type { KeyHolder } from '../ports.ts'
import { holderOf } from './key-guard.ts'

/** One operation on a model. */
export interface Operation<Request> {
  readonly kind: ModelKind
  readonly raw: Buffer
  readonly request: Request
  /** The answer is written in one, and billed as such when nobody waits for it any more. */
  readonly isWhole?: boolean
  /** Looks at the request once its model is known. @throws AppError */
  check?(model: CatalogueModel): void
  promptOf(): Prompt
  /** Bounds what the call can cost, for the sake of budgets. */
  most(model: CatalogueModel): MostTokens
  readonly read: AnswerReader
  /** Undefined: the deployment's backend lacks the operation. */
  serve(
    deployment: Deployment,
    call: DeployedCall<Request>,
    model: CatalogueModel,
  ): Promise<BackendAnswer> | undefined
}

/** Those of calls that are set aside of a budget. */
const reservations = new WeakMap<FastifyRequest, Reservation>()

/** Runs a call to its end, which is after it was charged; what it did not use of a budget is given back. */
export async function runCall(
  context: GatewayContext,
  request: FastifyRequest,
  reply: FastifyReply,
  run: (context: GatewayContext, request: FastifyRequest, reply: FastifyReply) => Promise<void>,
): Promise<void> {
  try {
    await context.calls.add(run(context, request, reply))
  } finally {
    reservations.get(request)?.release()
  }
}

const isPriced = ({ price }: CatalogueModel): boolean =>
  price !== undefined && (price.input > 0n || price.output > 0n)

/** Undefined where there is no budget, or nothing to pay. */
function reserve<Request>(
  context: GatewayContext,
  holder: KeyHolder,
  model: CatalogueModel,
  operation: Operation<Request>,
): Promise<Reservation> | undefined {
  if (model.price === undefined || (holder.hasBudget !== true && holder.spaceHasBudget !== true))
    return undefined
  const most = costOf({ ...operation.most(model), cachedTokens: 0, estimated: true }, model.price)
  return most === 0n ? undefined : context.budgets.reserve(holder, most)
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
  const holder = holderOf(http.request)
  const reserving = reserve(context, holder, route.model, operation)
  const reservation = reserving && (await reserving)
  if (reservation !== undefined) reservations.set(http.request, reservation)
  const cancellation = new Cancellation()
  const isBilledWhole = operation.isWhole === true && isPriced(route.model)
  let attend: (() => void) | undefined
  const { raw: response } = http.reply
  const onClose = (): void => {
    if (response.writableFinished) return
    if (isBilledWhole) attend = context.calls.leaveAlone(cancellation)
    else cancellation.cancel()
  }
  if (response.destroyed) cancellation.cancel()
  else response.on('close', onClose)
  http.reply.headers(route.model.headers)
  const call: Call<Request> = { raw, request, cancellation }
  const served = serveCall(context, route.deployments, {
    cancellation,
    read: operation.read,
    serve: (deployment) =>
      operation.serve(deployment, { ...call, publicModel, model: deployment.model }, route.model),
    charge: (deployment) =>
      new Charge(context, holder, {
        route,
        deployment,
        reservation,
        promptOf: () => operation.promptOf(),
        likelyCompletion: () => operation.most(route.model).likelyCompletionTokens,
      }),
    onTry: ({ backend }) => void http.reply.header('x-atrium-backend', backend.name),
  })
  try {
    return await served
  } finally {
    // From here on the route looks after its caller.
    response.off('close', onClose)
    attend?.()
  }
}
