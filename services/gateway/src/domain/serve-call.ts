import { AppError } from '@atrium/kernel/errors'
import type { AnswerContent, AnswerReader } from './answer-reader.ts'
import type { BackendAnswer, Cancellation } from './backend.ts'
import type { Charge } from './charge.ts'
import type { Circuits } from './circuits.ts'
import type { GatewayMetrics } from './metrics.ts'
import type { Deployment } from './model-routing.ts'

/** A call that has taken this long already is not begun anew elsewhere. */
const FAILOVER_WITHIN_MS = 60_000

/** What is asked of whichever deployment serves. */
export interface Serving {
  readonly cancellation: Cancellation
  /** Undefined: the backend lacks the operation. @throws AppError when no usable answer came */
  serve(deployment: Deployment): Promise<BackendAnswer> | undefined
  /** Looks at whole answers of success. */
  readonly read: AnswerReader
  /** The bill, should this deployment serve. */
  charge(deployment: Deployment): Charge
  /** Called before each try. */
  onTry(deployment: Deployment): void
}

export interface Served {
  readonly answer: BackendAnswer
  readonly deployment: Deployment
  readonly charge: Charge
  /** Of a whole answer of success. */
  readonly content: AnswerContent | undefined
}

/**
 * Has the first deployment serve that is able to: the next one is asked on 408, 429, 5xx and broken connections. A
 * call that the caller gave up is charged for what it read, or, where the answer is billed whole, for an estimate of it.
 * @throws AppError the last one's, when none is able to
 */
export async function serveCall(
  context: { metrics: GatewayMetrics; circuits: Circuits },
  deployments: readonly [Deployment, ...Deployment[]],
  serving: Serving,
): Promise<Served> {
  const startedMs = performance.now()
  const candidates =
    deployments.length === 1 ? deployments : context.circuits.order(deployments.filter(alike(deployments[0])))
  for (const [index, deployment] of candidates.entries()) {
    serving.onTry(deployment)
    const outcome = await tryOne(context, deployment, serving)
    const isLast =
      index === candidates.length - 1 ||
      performance.now() - startedMs > FAILOVER_WITHIN_MS ||
      !outcome.failed ||
      serving.cancellation.isUnattended
    if (!isLast) continue
    if ('error' in outcome) throw outcome.error
    return outcome
  }
  throw new Error('a route without deployments')
}

/** What is made up never stands in for a real answer. */
const alike =
  (first: Deployment) =>
  ({ backend }: Deployment): boolean =>
    backend.isSandbox === first.backend.isSandbox

type Outcome = (Served | { readonly error: unknown }) & { readonly failed: boolean }

async function tryOne(
  { metrics, circuits }: { metrics: GatewayMetrics; circuits: Circuits },
  deployment: Deployment,
  serving: Serving,
): Promise<Outcome> {
  const { backend } = deployment
  const charge = serving.charge(deployment)
  try {
    const answer = await serving.serve(deployment)
    if (answer === undefined) {
      throw new AppError(501, 'operation_not_supported', `The backend ${backend.name} lacks this operation`)
    }
    const status = answer.kind === 'whole' ? answer.status : 200
    if (status >= 500) metrics.backendError(backend.name, `status_${status}`)
    const content =
      answer.kind === 'whole' && status < 300 ? await serving.read(answer.body, backend.name) : undefined
    const failed = isFailure(status)
    if (failed) circuits.failed(deployment, secondsOf(answer.headers))
    else circuits.succeeded(deployment)
    return { answer, deployment, charge, content, failed }
  } catch (error) {
    if (serving.cancellation.isCancelled) {
      charge.settle(await (serving.cancellation.isUnattended ? charge.estimateWhole() : charge.estimate()))
      return { error, failed: false }
    }
    metrics.backendError(backend.name, error instanceof AppError ? error.code : 'unknown')
    const failed = error instanceof AppError && isFailure(error.status)
    if (failed) circuits.failed(deployment, secondsOf(error.headers))
    return { error, failed }
  }
}

const isFailure = (status: number): boolean => status === 429 || status >= 500

function secondsOf(headers: Readonly<Record<string, string>> | undefined): number | undefined {
  const seconds = Number(headers?.['retry-after'])
  return Number.isFinite(seconds) && seconds > 0 ? seconds : undefined
}
