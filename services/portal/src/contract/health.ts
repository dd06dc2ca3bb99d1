import Type from 'typebox'
import { Timestamp } from './common.ts'

const checks = Type.Object({ database: Type.String() })

export const Health = Type.Object({
  status: Type.String(),
  timestamp: Timestamp,
  uptime: Type.Number({ description: 'Seconds' }),
  environment: Type.String(),
  authentication: Type.String(),
  message: Type.String(),
  checks,
})

export const Liveness = Type.Object({ status: Type.Literal('alive'), timestamp: Timestamp })
export const Readiness = Type.Object({ status: Type.Literal('ready'), timestamp: Timestamp, checks })

export const NotReady = Type.Object({
  status: Type.Literal('not ready'),
  timestamp: Timestamp,
  checks,
  error: Type.Object({ code: Type.Integer(), message: Type.String() }),
})
