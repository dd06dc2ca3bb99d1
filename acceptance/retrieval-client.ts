import { randomFrom } from '@atrium/testing'
import { expect } from 'vitest'
import { clientTokenOf, demandJson, sendJson } from './callers.ts'

export const CLIENT = { id: 'acceptance', secret: 'acceptance-client-secret-0123456789' }
export const DIMENSION = 1024

export function vectorOf(seed: number): number[] {
  const random = randomFrom(seed)
  return Array.from({ length: DIMENSION }, () => Math.round((random() - 0.5) * 1000) / 1000)
}

/** A word of its own for each number. */
export function wordOf(seed: number): string {
  const random = randomFrom(seed + 500_000_000)
  return Array.from({ length: 12 }, () => String.fromCharCode(97 + Math.floor(random() * 26))).join('')
}
export const misspelt = (word: string): string => `${word.slice(0, 5)}${word[6]}${word[5]}${word.slice(7)}`

export interface StoredRow {
  readonly embeddingId: string
  readonly documentId: string
  readonly sequence: number
  readonly chunk: string
}

/** Sends a request; what the server does not answer is undefined. */
export type Send = (
  method: string,
  path: string,
  body?: unknown,
) => Promise<{ readonly status: number; readonly text: string } | undefined>

export interface Space {
  readonly spaceId: string
  /** Calls below its vector stores. */
  readonly send: Send
  /** The same through another process. */
  at(url: string): Send
}

/** Makes a space. */
export async function newSpace(url: string): Promise<Space> {
  const token = await clientTokenOf(url, CLIENT)
  const made = <T>(path: string, body: object): Promise<T> =>
    demandJson(`${url}/portal/v1/${path}`, 'POST', token, body)
  const { spaceId } = await made<{ spaceId: string }>('spaces', { spaceName: 'retrieval', appId: 'APP' })
  const { apiKeyValue } = await made<{ apiKeyValue: string }>(`spaces/${spaceId}/apikeys`, { name: 'key' })
  const at = (origin: string) => sender(`${origin}/agents/v1/spaces/${spaceId}/vector-stores`, apiKeyValue)
  return { spaceId, send: at(url), at }
}

const sender =
  (base: string, apiKey: string): Send =>
  (method, path, body) =>
    sendJson(`${base}${path}`, method, apiKey, body).catch(() => undefined)

/** The answer's body. @throws when it is not a success */
export async function demand<T>(send: Send, method: string, path: string, body?: unknown): Promise<T> {
  const answer = await send(method, path, body)
  expect([200, 201], `${method} ${path}: ${answer?.text.slice(0, 500)}`).toContain(answer?.status)
  return JSON.parse(answer?.text ?? '') as T
}

/** The body of a batch whose rows are numbered from `first`. */
export const batchOf = (documentId: string, first: number, count: number) => ({
  embeddings: Array.from({ length: count }, (_, i) => vectorOf(first + i)),
  chunks: Array.from({ length: count }, (_, i) => `Of ${wordOf(first + i)} and nothing else`),
  documentIds: Array.from({ length: count }, () => documentId),
  sequences: Array.from({ length: count }, (_, i) => i),
})
