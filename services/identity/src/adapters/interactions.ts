import { createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { MasterKey } from '@atrium/kernel/crypto'
import { AppError } from '@atrium/kernel/errors'
import { errors, type default as Provider } from 'oidc-provider'
import type { Sessions } from '../domain/sessions.ts'
import type { Interactions } from '../ports.ts'
import { markScheme } from './provider-setup.ts'

const isOver = (): AppError =>
  new AppError(400, 'interaction_not_found', 'This sign-in has expired or was begun in another browser')

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

/** Sign-ins under way, kept by the OAuth library. */
export function createInteractions(
  provider: Provider,
  deps: { masterKey: MasterKey; sessions: Sessions; publicUrl: string },
): Interactions {
  // A form that was shown before the master key was changed may come back after.
  const [csrfKey, ...formerKeys] = deps.masterKey.deriveAll('identity/csrf')
  const csrfOf = (uid: string, key = csrfKey): string =>
    createHmac('sha256', key).update(uid).digest('base64url')
  const isCsrfOf = (uid: string, key: Buffer, given: string): boolean => {
    const [expected, actual] = [Buffer.from(csrfOf(uid, key)), Buffer.from(given)]
    return expected.length === actual.length && timingSafeEqual(expected, actual)
  }

  const details = (request: IncomingMessage, response: ServerResponse) => {
    markScheme(request, deps.publicUrl)
    return provider.interactionDetails(request, response).catch((error: unknown) => {
      throw error instanceof errors.SessionNotFound ? isOver() : error
    })
  }

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
      if (![csrfKey, ...formerKeys].some((key) => isCsrfOf(uid, key, given))) throw isOver()
    },
    async signIn(request, response, person) {
      const interaction = await details(request, response)
      const before = interaction.session
      const isSame = before?.accountId === person.qxId
      if (before !== undefined && !isSame) {
        await deps.sessions.end(before.accountId, before.uid, person.act).catch((error: unknown) => {
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
