import { createHash, randomBytes } from 'node:crypto'

export const PEOPLE = '/auth/oauth2/realms/root/realms/people'
export const CALLBACK = 'http://127.0.0.1:9/callback'

interface Cookie {
  readonly value: string
  readonly path: string
  readonly line: string
}

export interface Visit {
  readonly status: number
  readonly url: string
  readonly headers: Headers
  readonly text: string
}

/** A browser without scripts: cookies by path, redirects step by step, forms. */
export function openBrowser(origin: string) {
  const cookies = new Map<string, Cookie>()

  function cookieHeader(url: URL): string {
    return [...cookies]
      .filter(([, { path }]) => url.pathname === path || url.pathname.startsWith(path.replace(/\/?$/, '/')))
      .map(([name, { value }]) => `${name.split(' ')[0]}=${value}`)
      .join('; ')
  }

  function keep(response: Response, url: URL): void {
    for (const line of response.headers.getSetCookie()) {
      const [pair = '', ...attributes] = line.split('; ')
      const at = pair.indexOf('=')
      const path = attributes.find((one) => one.toLowerCase().startsWith('path='))?.slice(5) ?? url.pathname
      const key = `${pair.slice(0, at)} ${path}`
      if (/expires=Thu, 01 Jan 1970/i.test(line)) cookies.delete(key)
      else cookies.set(key, { value: pair.slice(at + 1), path, line })
    }
  }

  /** Follows redirects within the origin; one that leaves it is the answer. */
  async function go(
    address: string,
    options: { form?: Record<string, string>; headers?: Record<string, string> } = {},
  ): Promise<Visit> {
    const url = new URL(address, origin)
    const response = await fetch(url, {
      method: options.form === undefined ? 'GET' : 'POST',
      redirect: 'manual',
      headers: {
        accept: 'text/html',
        'user-agent': 'Test Browser 1.0',
        cookie: cookieHeader(url),
        ...options.headers,
      },
      ...(options.form === undefined ? {} : { body: new URLSearchParams(options.form) }),
    })
    keep(response, url)
    const location = response.headers.get('location')
    if (location !== null) {
      const next = new URL(location, url)
      if (next.origin === new URL(origin).origin) return go(next.href)
      return { status: response.status, url: next.href, headers: response.headers, text: '' }
    }
    return { status: response.status, url: url.href, headers: response.headers, text: await response.text() }
  }

  return {
    go,
    cookies: () => [...cookies.values()].map(({ line }) => line),
    /** Sends the page's form with these fields; hidden ones are as the page has them. */
    submit(
      page: Visit,
      fields: Record<string, string>,
      headers: Record<string, string> = {},
    ): Promise<Visit> {
      const action = /<form method="post" action="([^"]+)"/.exec(page.text)?.[1] ?? ''
      const hidden = [...page.text.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)">/g)]
      const form = Object.fromEntries(hidden.map(([, name = '', value = '']) => [name, value]))
      return go(action, { form: { ...form, ...fields }, headers })
    },
  }
}

export type Browser = ReturnType<typeof openBrowser>

export interface Tokens {
  readonly access_token: string
  readonly refresh_token: string
  readonly id_token: string
  readonly expires_in: number
}

/** An application that signs people in: authorization request, code, tokens. */
export function openApplication(origin: string, clientId = 'atrium-console', redirectUri = CALLBACK) {
  async function token(
    fields: Record<string, string>,
  ): Promise<{ status: number; body: Record<string, unknown> }> {
    const response = await fetch(`${origin}${PEOPLE}/access_token`, {
      method: 'POST',
      body: new URLSearchParams({ client_id: clientId, ...fields }),
    })
    return { status: response.status, body: (await response.json()) as Record<string, unknown> }
  }
  const begin = (more: Record<string, string | undefined> = {}) => {
    const verifier = randomBytes(32).toString('base64url')
    const query = {
      client_id: clientId,
      response_type: 'code',
      redirect_uri: redirectUri,
      scope: 'openid profile email',
      state: 'the-state',
      nonce: 'the-nonce',
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
      ...more,
    }
    const given = Object.entries(query).filter((pair): pair is [string, string] => pair[1] !== undefined)
    return { verifier, address: `${PEOPLE}/authorize?${new URLSearchParams(given)}` }
  }
  const redeem = (code: string, verifier: string) =>
    token({ grant_type: 'authorization_code', code, code_verifier: verifier, redirect_uri: redirectUri })
  return {
    begin,
    redeem,
    token,
    refresh: (refreshToken: string) => token({ grant_type: 'refresh_token', refresh_token: refreshToken }),
    /** The whole way, on the page of a new browser unless one is given. */
    async signIn(user: string, password: string, browser: Browser = openBrowser(origin)): Promise<Tokens> {
      const { verifier, address } = begin()
      const page = await browser.go(address)
      const done = page.url.startsWith(redirectUri) ? page : await browser.submit(page, { user, password })
      const code = new URL(done.url).searchParams.get('code')
      if (code === null) throw new Error(`no code: ${done.status} ${done.url} ${done.text}`)
      const { status, body } = await redeem(code, verifier)
      if (status !== 200) throw new Error(JSON.stringify(body))
      return body as unknown as Tokens
    },
  }
}
