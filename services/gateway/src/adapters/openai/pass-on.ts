import type { BackendAnswer, Call } from '../../domain/backend.ts'
import { BackendCall, type CallLimits } from './call.ts'
import type { OpenAiConnection } from './connection.ts'

/**
 * Passes a body on, byte for byte.
 * @param limits of an answer that is no stream
 */
export const passOn = (
  connection: OpenAiConnection,
  path: string,
  body: Buffer,
  { cancellation, ...limits }: Pick<Call<unknown>, 'cancellation'> & CallLimits,
): Promise<BackendAnswer> =>
  new Promise((resolve, reject) => {
    const repeat = (handler: BackendCall): void => connection.postApart(path, body, handler)
    connection.post(
      path,
      body,
      new BackendCall(connection, { cancellation, repeat, ...limits }, resolve, reject),
    )
  })
