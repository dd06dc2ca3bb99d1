import { named } from '@atrium/kernel/http'
import Type, { type Static } from 'typebox'

/** OpenAI's error body, which every endpoint of the gateway answers with. */
export const GatewayError = named(
  'Error',
  Type.Object({
    error: Type.Object({
      message: Type.String(),
      type: Type.String(),
      param: Type.Union([Type.String(), Type.Null()]),
      code: Type.Union([Type.String(), Type.Null()]),
    }),
  }),
)
export type GatewayError = Static<typeof GatewayError>

/** Response schemas for the statuses an operation may fail with; 401, 500 and 503 are always among them. */
export function errors(...statuses: number[]): Record<number, typeof GatewayError> {
  return Object.fromEntries([...statuses, 401, 500, 503].map((status) => [status, GatewayError]))
}
