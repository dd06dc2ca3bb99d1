import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Act } from '@atrium/access'

/** Answers one request of a realm, whose OAuth library works on Node's own requests. */
export type RealmHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  origin: {
    /** The caller's, behind whatever proxies. */
    readonly address: string
    /** What the audit log says of the request before the library has found out who calls. */
    readonly act: Act
  },
) => Promise<void>

/** A sign-in under way: an application sent the browser here and waits for it. */
export interface Interaction {
  readonly applicationName: string
  readonly clientId: string
  readonly redirectUri: string
  /** The application's guess who it is. */
  readonly loginHint: string
  /** Whether the person must give a password; false where only consent was asked for, which is given. */
  readonly needsSignIn: boolean
  readonly csrf: string
}

export interface Interactions {
  /** @throws AppError 400 when there is none in this browser, or it is over */
  find(request: IncomingMessage, response: ServerResponse, uid: string): Promise<Interaction>
  /** @throws AppError 400 when the form was not made for this interaction */
  checkCsrf(uid: string, given: string): void
  /** The person proved who they are. @returns where the browser goes on */
  signIn(
    request: IncomingMessage,
    response: ServerResponse,
    person: { qxId: string; clientId: string; act: Act },
  ): Promise<string>
  /** @returns where the browser goes on */
  consent(request: IncomingMessage, response: ServerResponse): Promise<string>
}

/** Mails that Atrium sends, in plain text. Each resolves once the mail server took it. */
export interface Mailer {
  /** @throws AppError 400 for an address that cannot be one, 502 when the server does not take the mail */
  sendClientSecret(mail: { to: string; clientId: string; secret: string }): Promise<void>
  /** @throws AppError 400 for an address that cannot be one, 502 when the server does not take the mail */
  sendPasswordLink(mail: { to: string; qxId: string; link: string }): Promise<void>
  /** @throws AppError 400 for an address that cannot be one, 502 when the server does not take the mail */
  sendInvitation(mail: { to: string; spaceName: string; invitedBy: string; link: string }): Promise<void>
}
