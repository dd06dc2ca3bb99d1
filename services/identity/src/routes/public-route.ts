import type { identityAccess } from '../access.ts'

/** Route options of an operation that takes no bearer token. */
export const publicRoute = (operation: keyof typeof identityAccess) => ({
  config: { operationId: operation, public: true },
})
