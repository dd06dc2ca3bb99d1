import { named } from '@atrium/kernel/http'
import Type from 'typebox'

export const Session = named(
  'Session',
  Type.Object({
    sessionId: Type.String({ format: 'uuid' }),
    clientId: Type.String({ description: 'The application that the person signed in to first' }),
    address: Type.String({ description: 'Where the sign-in came from' }),
    userAgent: Type.String(),
    createdAt: Type.String({ format: 'date-time' }),
    lastUsedAt: Type.String({ format: 'date-time' }),
    expiresAt: Type.String({ format: 'date-time' }),
    current: Type.Boolean({ description: 'Whether the calling token comes from it' }),
  }),
)

export const SessionList = named('SessionList', Type.Object({ sessions: Type.Array(Session) }))

export const SessionParams = Type.Object({ sessionId: Type.String({ maxLength: 128 }) })

export const PasswordChange = named(
  'ChangePassword',
  Type.Object({
    currentPassword: Type.String({ maxLength: 256 }),
    newPassword: Type.String({ minLength: 8, maxLength: 256 }),
  }),
)
