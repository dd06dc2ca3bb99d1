import { createHash, randomBytes } from 'node:crypto'

const PEOPLE = '/auth/oauth2/realms/root/realms/people'
const CALLBACK = 'http://127.0.0.1:9/callback'

/** Signs a person in as a browser without scripts would, and redeems the code. */
export async function signIn(
  url: string,
  user: string,
  password: string,
): Promise<{ access_token: string; refresh_token: string }> {
  const verifier = randomBytes(32).toString('base64url')
  const cookies = new Map<string, string>()
  const visit = async (address: string, form?: Record<string, string>): Promise<Response> => {
    const response = await fetch(new URL(address, url), {
      redirect: 'manual',
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
      ...(form === undefined ? {} : { method: 'POST', body: new URLSearchParams(form) }),
    })
    for (const line of response.headers.getSetCookie()) {
      const [pair = ''] = line.split(';')
      cookies.set(pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1))
    }
    const next = response.headers.get('location')
    // The platform knows itself by its public address; this process is reached by its own.
    return next === null || next.startsWith(CALLBACK) ? response : visit(pathOf(next))
  }
  const page = await (
    await visit(
      `${PEOPLE}/authorize?${new URLSearchParams({
        client_id: 'atrium-console',
        response_type: 'code',
        redirect_uri: CALLBACK,
        scope: 'openid profile',
        code_challenge: createHash('sha256').update(verifier).digest('base64url'),
        code_challenge_method: 'S256',
      })}`,
    )
  ).text()
  const action = /action="([^"]+)"/.exec(page)?.[1] ?? ''
  const csrf = /name="csrf" value="([^"]+)"/.exec(page)?.[1] ?? ''
  const done = await visit(pathOf(action), { user, password, csrf })
  const code = new URL(done.headers.get('location') ?? url).searchParams.get('code') ?? ''
  const answer = await fetch(`${url}${PEOPLE}/access_token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      client_id: 'atrium-console',
      code,
      code_verifier: verifier,
      redirect_uri: CALLBACK,
    }),
  })
  if (answer.status !== 200) throw new Error(`no token: ${answer.status} ${await answer.text()}`)
  return (await answer.json()) as { access_token: string; refresh_token: string }
}

function pathOf(address: string): string {
  const { pathname, search } = new URL(address)
  return `${pathname}${search}`
}
