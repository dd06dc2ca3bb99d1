import { AppError, invalidToken } from '@atrium/kernel/errors'
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
export const tokenRefused = (fault: TokenFault, message: string): AppError => invalidToken(message, fault)

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

/** 409: tokens and records of the client that had it must not become another's. */
export const clientIdIsSpent = (clientId: string): AppError =>
  new AppError(
    409,
    'client_id_spent',
    `${clientId} was the id of a client that is deleted; it is not given again`,
  )

export const idIsOfPerson = (id: string): AppError =>
  new AppError(409, 'id_is_of_person', `${id} is the id of a person; a client needs another one`)

export const idIsOfClient = (id: string): AppError =>
  new AppError(409, 'id_is_of_client', `${id} is the id of a machine client; a person needs another one`)

export const illegalStatusChange = (from: string, to: string): AppError =>
  new AppError(409, 'illegal_status_change', `A client cannot go from ${from} to ${to}`)

export const accountExists = (qxId: string): AppError =>
  new AppError(409, 'account_exists', `There is an account ${qxId} already`)

export const noSuchAccount = (qxId: string): AppError =>
  new AppError(404, 'account_not_found', `Account ${qxId} not found`)

/** 410: chosen by already, expired, or replaced by a newer one. */
export const passwordLinkOver = (): AppError =>
  new AppError(410, 'password_link_over', 'This link has been used, has expired, or a newer one was sent')

/** 409: whoever locks themselves out may be the last who could let them in again. */
export const ownAccount = () =>
  new AppError(409, 'own_account', 'Your own account can only be disabled by another superuser')

/** 409: somebody else says who people are. */
export const peopleAreElsewhere = (issuer: string): AppError =>
  new AppError(
    409,
    'external_issuer',
    `People sign in at ${issuer}, so their accounts are made and changed there`,
  )

/** 409: the name stands for somebody already, and nothing proves that it is this one. */
export const userNameTaken = (qxId: string): AppError =>
  new AppError(409, 'user_name_taken', `The user name ${qxId} is taken`)

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

/** 429: sign-ins under way are stored, so nobody begins any number of them. */
export const tooManySignIns = (waitSeconds: number): AppError =>
  new AppError(429, 'slow_down', `Too many sign-ins were begun here; try again in ${waitSeconds} seconds`, {
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

/** What OAuth says of a server that will be back (RFC 6749 §4.1.2.1). */
export const UNAVAILABLE = 'temporarily_unavailable'

/** Codes of our own resources, which say more than OAuth's. */
const KEPT_CODES = new Set(['wrong_password', 'account_not_found', 'session_not_found'])

/** Identity's error body. */
export const oauthError = ({
  status,
  code,
  message,
}: ErrorView): { error: string; error_description: string } => ({
  error: KEPT_CODES.has(code)
    ? code
    : code === 'unavailable' || code === 'too_busy'
      ? UNAVAILABLE
      : (OAUTH_CODES[status] ?? code),
  error_description: message,
})
