import Type, { type Static } from 'typebox'

/** OpenAI's error body, which every endpoint of the gateway answers with. */
export const GatewayError = Type.Object({
  error: Type.Object({
    message: Type.String(),
    type: Type.String(),
    param: Type.Union([Type.String(), Type.Null()]),
    code: Type.Union([Type.String(), Type.Null()]),
  }),
})
export type GatewayError = Static<typeof GatewayError>

/** Response schemas for the statuses an operation may fail with; 401 and 500 are always among them. */
export function errors(...statuses: number[]): Record<number, typeof GatewayError> {
  return Object.fromEntries([...statuses, 401, 500].map((status) => [status, GatewayError]))
}
