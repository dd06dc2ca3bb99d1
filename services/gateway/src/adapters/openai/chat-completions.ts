import type { BackendAnswer, ChatCall } from '../../domain/backend.ts'
import { replaceModel } from '../../domain/model-name.ts'
import { BackendCall } from './call.ts'
import type { OpenAiConnection } from './connection.ts'

/** Passes the body on byte for byte, but for the model's name where the backend has its own. */
export function chatCompletions(connection: OpenAiConnection, call: ChatCall): Promise<BackendAnswer> {
  const body = call.model === call.publicModel ? call.raw : replaceModel(call.raw, call.model)
  return new Promise((resolve, reject) => {
    const handler = new BackendCall(connection, call.hangUp, resolve, reject)
    connection.post('/chat/completions', body, handler)
  })
}
