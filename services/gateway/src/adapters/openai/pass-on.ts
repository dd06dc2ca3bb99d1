import type { BackendAnswer, DeployedCall } from '../../domain/backend.ts'
import { replaceModel } from '../../domain/model-name.ts'
import { BackendCall } from './call.ts'
import type { OpenAiConnection } from './connection.ts'

/**
 * Passes the body on byte for byte, but for the model's name where the backend has its own.
 * @param maxBytes of an answer that is no stream
 */
export function passOn(
  connection: OpenAiConnection,
  path: string,
  call: DeployedCall<unknown>,
  maxBytes: number,
): Promise<BackendAnswer> {
  const body = call.model === call.publicModel ? call.raw : replaceModel(call.raw, call.model)
  return new Promise((resolve, reject) => {
    connection.post(
      path,
      body,
      new BackendCall(connection, { cancellation: call.cancellation, maxBytes }, resolve, reject),
    )
  })
}
