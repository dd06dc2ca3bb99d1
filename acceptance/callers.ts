import { expect } from 'vitest'

/** A machine client that the environment made. */
export interface Client {
  readonly id: string
  readonly secret: string
}

/** A token of a machine client, from the token endpoint. @throws where it gets none */
export async function clientTokenOf(url: string, client: Client): Promise<string> {
  const response = await fetch(`${url}/auth/oauth2/realms/root/realms/machine2machine/access_token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      scope: 'machine2machine',
      client_id: client.id,
      client_secret: client.secret,
    }),
  })
  expect(response.status).toBe(200)
  return ((await response.json()) as { access_token: string }).access_token
}

/** Sends JSON where there is a body. */
export async function sendJson(
  address: string,
  method: string,
  token: string,
  body?: unknown,
): Promise<{ readonly status: number; readonly text: string }> {
  const response = await fetch(address, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return { status: response.status, text: await response.text() }
}

/** The body of a success. @throws where it is none */
export async function demandJson<T>(
  address: string,
  method: string,
  token: string,
  body?: unknown,
): Promise<T> {
  const { status, text } = await sendJson(address, method, token, body)
  expect([200, 201], `${method} ${address}: ${status} ${text.slice(0, 300)}`).toContain(status)
  return JSON.parse(text) as T
}
