import { named } from '@atrium/kernel/http'
import Type from 'typebox'
import { Timestamp } from './common.ts'

const checks = named('HealthChecks', Type.Object({ database: Type.String() }))

export const Health = named(
  'Health',
  Type.Object({
    status: Type.String(),
    timestamp: Timestamp,
    uptime: Type.Number({ description: 'Seconds' }),
    environment: Type.String(),
    authentication: Type.String(),
    message: Type.String(),
    checks,
  }),
)

export const Liveness = named(
  'Liveness',
  Type.Object({ status: Type.Literal('alive'), timestamp: Timestamp }),
)
export const Readiness = named(
  'Readiness',
  Type.Object({ status: Type.Literal('ready'), timestamp: Timestamp, checks }),
)

export const NotReady = named(
  'NotReady',
  Type.Object({
    status: Type.Literal('not ready'),
    timestamp: Timestamp,
    checks,
    error: Type.Object({ code: Type.Integer(), message: Type.String() }),
  }),
)
