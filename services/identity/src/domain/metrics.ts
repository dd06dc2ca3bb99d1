import { Counter, type Registry } from '@atrium/kernel/metrics'

export interface IdentityMetrics {
  tokenIssued(): void
  /** @param reason OAuth error code */
  tokenDenied(reason: string): void
  /** @param reason code of the refusal */
  tokenRefused(reason: string): void
  signIn(outcome: 'accepted' | 'refused' | 'throttled'): void
}

export function createIdentityMetrics(registry: Registry): IdentityMetrics {
  const issued = new Counter({
    name: 'atrium_identity_tokens_issued_total',
    help: 'M2M access tokens handed out',
    registers: [registry],
  })
  const denied = new Counter({
    name: 'atrium_identity_token_requests_denied_total',
    help: 'Token requests that ended in an OAuth error, by its code',
    labelNames: ['error'] as const,
    registers: [registry],
  })
  const refused = new Counter({
    name: 'atrium_identity_tokens_refused_total',
    help: 'Bearer tokens that did not pass verification, by reason',
    labelNames: ['reason'] as const,
    registers: [registry],
  })
  const signIns = new Counter({
    name: 'atrium_identity_sign_ins_total',
    help: 'Passwords that people offered, by outcome',
    labelNames: ['outcome'] as const,
    registers: [registry],
  })
  return {
    tokenIssued: () => issued.inc(),
    tokenDenied: (error) => denied.inc({ error }),
    tokenRefused: (reason) => refused.inc({ reason }),
    signIn: (outcome) => signIns.inc({ outcome }),
  }
}
