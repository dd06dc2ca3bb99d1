import { AppError } from '@atrium/kernel/errors'
import type { GatewayMetrics } from '../metrics.ts'
import type { BackendAnswer, ChatCall } from './backend.ts'
import type { Charge } from './charge.ts'
import type { Deployment } from './model-routing.ts'

/**
 * Has the deployment's backend serve the call. A call that the caller gave up is charged for what it read.
 * @throws AppError
 */
export async function serveChat(
  { metrics }: { metrics: GatewayMetrics },
  { backend }: Deployment,
  call: ChatCall,
  charge: Charge,
): Promise<BackendAnswer> {
  if (backend.chatCompletions === undefined) {
    throw new AppError(501, 'operation_not_supported', `The backend ${backend.name} has no chat completions`)
  }
  try {
    const answer = await backend.chatCompletions(call)
    if (answer.kind === 'whole' && answer.status >= 500)
      metrics.backendError(backend.name, `status_${answer.status}`)
    return answer
  } catch (error) {
    if (call.hangUp.happened) charge.settle(await charge.estimate())
    else metrics.backendError(backend.name, error instanceof AppError ? error.code : 'unknown')
    throw error
  }
}
