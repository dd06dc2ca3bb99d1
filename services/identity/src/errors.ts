import { AppError } from '@atrium/kernel/errors'
import type { ErrorView } from '@atrium/kernel/http'

/** Why a token was refused: the code that callers, logs and counters see. */
export type TokenFault =
  | 'token_malformed'
  | 'token_algorithm_not_allowed'
  | 'token_issuer_unknown'
  | 'token_key_unknown'
  | 'token_signature_invalid'
  | 'token_expired'
  | 'token_not_yet_valid'
  | 'token_audience_wrong'
  | 'token_claim_invalid'
  | 'token_client_inactive'
  | 'token_revoked'
  | 'token_account_disabled'
  | 'token_session_ended'

/** 401: the token is not accepted, and why. */
export const tokenRefused = (fault: TokenFault, message: string): AppError =>
  new AppError(401, fault, message, {
    headers: { 'www-authenticate': `Bearer error="invalid_token", error_description="${message}"` },
  })

/** 503: the external issuer's keys cannot be had just now, so nobody can say whether the token is good. */
export const issuerUnavailable = (cause: unknown): AppError =>
  new AppError(503, 'issuer_unavailable', 'The keys of the token issuer cannot be fetched at the moment', {
    cause,
    headers: { 'retry-after': '5' },
  })

export const noSuchClient = (clientId: string): AppError =>
  new AppError(404, 'client_not_found', `Client ${clientId} not found`)

export const clientExists = (clientId: string): AppError =>
  new AppError(409, 'client_exists', `There is a client ${clientId} already`)

export const illegalStatusChange = (from: string, to: string): AppError =>
  new AppError(409, 'illegal_status_change', `A client cannot go from ${from} to ${to}`)

export const accountExists = (qxId: string): AppError =>
  new AppError(409, 'account_exists', `There is an account ${qxId} already`)

export const noSuchAccount = (qxId: string): AppError =>
  new AppError(404, 'account_not_found', `Account ${qxId} not found`)

export const noSuchSession = (sessionId: string): AppError =>
  new AppError(404, 'session_not_found', `Session ${sessionId} not found`)

/** 400: says nothing but that the pair does not fit. */
export const wrongPassword = (): AppError =>
  new AppError(400, 'wrong_password', 'The current password is not right', { field: 'body.currentPassword' })

/** 429: guessing is slowed down. */
export const tooManyAttempts = (waitSeconds: number): AppError =>
  new AppError(429, 'slow_down', `Too many failed attempts; try again in ${waitSeconds} seconds`, {
    headers: { 'retry-after': String(waitSeconds) },
  })

/** 503: more passwords wait to be checked than this process can do in a few seconds. */
export const tooBusy = (): AppError =>
  new AppError(503, 'temporarily_unavailable', 'Too many people are signing in at this moment; try again', {
    headers: { 'retry-after': '5' },
  })

/** 502: the mail server did not take a mail, or could not be reached. */
export const mailFailed = (): AppError =>
  new AppError(502, 'mail_failed', 'The e-mail could not be sent: the mail server did not take it')

/** OAuth has its own short list of codes; what the framework refuses is an `invalid_request` (RFC 6749 §5.2). */
const OAUTH_CODES: Readonly<Record<number, string>> = {
  400: 'invalid_request',
  404: 'not_found',
  405: 'method_not_allowed',
  413: 'invalid_request',
  500: 'server_error',
}

/** Codes of our own resources, which say more than OAuth's. */
const KEPT_CODES = new Set(['wrong_password', 'account_not_found', 'session_not_found'])

/** Identity's error body. */
export const oauthError = ({
  status,
  code,
  message,
}: ErrorView): { error: string; error_description: string } => ({
  error: KEPT_CODES.has(code) ? code : (OAUTH_CODES[status] ?? code),
  error_description: message,
})
