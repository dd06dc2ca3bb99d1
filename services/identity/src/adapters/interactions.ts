import { createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { MasterKey } from '@atrium/kernel/crypto'
import { AppError } from '@atrium/kernel/errors'
import { errors, type default as Provider } from 'oidc-provider'
import type { Sessions } from '../domain/sessions.ts'

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
    person: { qxId: string; clientId: string; address: string; userAgent: string },
  ): Promise<string>
  /** @returns where the browser goes on */
  consent(request: IncomingMessage, response: ServerResponse): Promise<string>
}

const isOver = (): AppError =>
  new AppError(400, 'interaction_not_found', 'This sign-in has expired or was begun in another browser')

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

/** Sign-ins under way, kept by the OAuth library. */
export function createInteractions(
  provider: Provider,
  deps: { masterKey: MasterKey; sessions: Sessions },
): Interactions {
  const csrfKey = deps.masterKey.derive('identity/csrf')
  const csrfOf = (uid: string): string => createHmac('sha256', csrfKey).update(uid).digest('base64url')

  const details = (request: IncomingMessage, response: ServerResponse) =>
    provider.interactionDetails(request, response).catch((error: unknown) => {
      throw error instanceof errors.SessionNotFound ? isOver() : error
    })

  return {
    async find(request, response, uid) {
      const interaction = await details(request, response)
      if (interaction.uid !== uid) throw isOver()
      const { params, prompt } = interaction
      const client = await provider.Client.find(textOf(params.client_id))
      return {
        applicationName: client?.clientName ?? textOf(params.client_id),
        clientId: textOf(params.client_id),
        redirectUri: textOf(params.redirect_uri),
        loginHint: textOf(params.login_hint).slice(0, 128),
        // Another program can claim an address of its own scheme, so there a session alone is not enough (RFC 8252 §8.6).
        needsSignIn: prompt.name !== 'consent' || prompt.reasons.includes('native_client_prompt'),
        csrf: csrfOf(uid),
      }
    },
    checkCsrf(uid, given) {
      const [expected, actual] = [Buffer.from(csrfOf(uid)), Buffer.from(given)]
      if (expected.length !== actual.length || !timingSafeEqual(expected, actual)) throw isOver()
    },
    async signIn(request, response, person) {
      const interaction = await details(request, response)
      const before = interaction.session
      const isSame = before?.accountId === person.qxId
      if (before !== undefined && !isSame) {
        await deps.sessions.end(before.accountId, before.uid).catch((error: unknown) => {
          // It was over already.
          if (!(error instanceof AppError && error.status === 404)) throw error
        })
        // Without it the library asks the person to sign the other one out first.
        interaction.session = undefined
      }
      const goesOn = isSame && (await deps.sessions.touch(person.qxId, before.uid))
      const sessionId = goesOn ? before.uid : await deps.sessions.begin(person)
      interaction.result = { login: { accountId: person.qxId }, consent: {}, sessionId }
      await interaction.persist()
      return interaction.returnTo
    },
    async consent(request, response) {
      const interaction = await details(request, response)
      interaction.result = { ...interaction.lastSubmission, consent: {} }
      await interaction.persist()
      return interaction.returnTo
    },
  }
}
