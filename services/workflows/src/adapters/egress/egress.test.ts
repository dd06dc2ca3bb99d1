import { lookup } from 'node:dns'
import { once } from 'node:events'
import { createServer, request, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { fetch } from 'undici'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { egressRule } from '../../domain/egress-rule.ts'
import { egressAgent } from './agent.ts'
import { EgressRefused, type Resolve } from './checked-lookup.ts'
import { openForwarder } from './forwarder.ts'
import { openEgressProxy } from './proxy.ts'

/** What may be reached, and what may not: it is beside it on loopback, on the same port. */
let open: Server
let closed: Server
let port = 0
let callsToClosed = 0

const rule = egressRule(['127.0.0.1', 'named.test'])

/** A name server as tenants may have one: `rebinding.test` changes its mind with every question. */
const resolverOf = (): Resolve => {
  let asked = 0
  const table: Record<string, () => string[]> = {
    'open.test': () => ['127.0.0.1'],
    'closed.test': () => ['127.0.0.2'],
    'both.test': () => ['127.0.0.2', '127.0.0.1'],
    'named.test': () => ['127.0.0.2'],
    'rebinding.test': () => [asked++ % 2 === 0 ? '127.0.0.1' : '127.0.0.2'],
  }
  return (host, callback) => {
    // Systems read 127.2 and 0x7f.2 as addresses.
    if (/^\d[\da-fx.]+$/.test(host)) return lookup(host, { all: true }, callback)
    const found = table[host]?.()
    if (found === undefined) callback(new Error(`ENOTFOUND ${host}`), [])
    else
      callback(
        null,
        found.map((address) => ({ address, family: 4 })),
      )
  }
}

beforeAll(async () => {
  open = createServer(async (incoming, response) => {
    const to = new URL(incoming.url ?? '', 'http://x').searchParams.get('to')
    if (to !== null) response.writeHead(302, { location: to, connection: 'close' }).end()
    else
      response.writeHead(200, { connection: 'close' }).end(`open ${incoming.method} ${await text(incoming)}`)
  })
  closed = createServer((_incoming, response) => {
    callsToClosed++
    response.writeHead(200, { connection: 'close' }).end('closed')
  })
  open.listen(0, '127.0.0.1')
  await once(open, 'listening')
  port = (open.address() as AddressInfo).port
  closed.listen(port, '127.0.0.2')
  await once(closed, 'listening')
})

afterAll(() => {
  open.close()
  closed.close()
})

const at = (host: string): string => `http://${host}:${port}/`
const forms = (): string[] => [
  '127.0.0.2',
  '[::ffff:127.0.0.2]',
  '2130706434',
  '0x7f.2',
  '127.2',
  'closed.test',
]

describe('requests of the process', () => {
  const call = async (url: string, agent = egressAgent(rule, { resolve: resolverOf() })): Promise<string> => {
    try {
      return await (await fetch(url, { dispatcher: agent })).text()
    } catch (error) {
      const { cause } = error as Error
      if (cause instanceof EgressRefused) return 'refused'
      throw error
    } finally {
      await agent.close()
    }
  }

  it('reach what is allowed, by address, by name, by one of several addresses, and by a named host', async () => {
    expect(await call(at('127.0.0.1'))).toBe('open GET ')
    expect(await call(at('open.test'))).toBe('open GET ')
    expect(await call(at('both.test'))).toBe('open GET ')
    expect(await call(at('named.test'))).toBe('closed')
  })

  it('reach nothing else, however it is written', async () => {
    const before = callsToClosed
    for (const form of forms()) expect([form, await call(at(form))]).toEqual([form, 'refused'])
    expect(callsToClosed).toBe(before)
  })

  it('follow no redirect to what is not allowed', async () => {
    const before = callsToClosed
    for (const form of forms()) {
      expect(await call(`${at('127.0.0.1')}?to=${encodeURIComponent(at(form))}`)).toBe('refused')
    }
    expect(await call(`${at('127.0.0.1')}?to=${encodeURIComponent(at('open.test'))}`)).toBe('open GET ')
    expect(callsToClosed).toBe(before)
  })

  it('are not led elsewhere by a name that resolves to something else the next time', async () => {
    const before = callsToClosed
    const agent = egressAgent(rule, { resolve: resolverOf() })
    const first = await fetch(at('rebinding.test'), { dispatcher: agent })
    expect(await first.text()).toBe('open GET ')
    expect(await call(at('rebinding.test'), agent)).toBe('refused')
    expect(callsToClosed).toBe(before)
  })
})

describe('the proxy of a task', () => {
  interface Asked {
    readonly status: number | undefined
    readonly body: string
  }

  /** A request in the form that proxies are sent for addresses without TLS. */
  async function plain(proxyUrl: string, target: string, method = 'GET', body = ''): Promise<Asked> {
    const { hostname, port: proxyPort, username, password } = new URL(proxyUrl)
    const headers = { 'proxy-authorization': `Basic ${btoa(`${username}:${password}`)}` }
    const outgoing = request({ host: hostname, port: proxyPort, path: target, method, headers })
    outgoing.end(body)
    const [answer] = await once(outgoing, 'response')
    return { status: answer.statusCode, body: await text(answer) }
  }

  /** A tunnel, and a request through it. */
  async function tunnel(proxyUrl: string, host: string): Promise<Asked> {
    const { hostname, port: proxyPort, username, password } = new URL(proxyUrl)
    const headers = { 'proxy-authorization': `Basic ${btoa(`${username}:${password}`)}` }
    const outgoing = request({
      host: hostname,
      port: proxyPort,
      path: `${host}:${port}`,
      method: 'CONNECT',
      headers,
    })
    outgoing.end()
    const [answer, socket] = await once(outgoing, 'connect')
    if (answer.statusCode !== 200) {
      socket.destroy()
      return { status: answer.statusCode, body: '' }
    }
    socket.write(`GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`)
    const said = await text(socket)
    return { status: 200, body: said.slice(said.indexOf('\r\n\r\n') + 4) }
  }

  it('passes on what may be reached, bodies too', async () => {
    const proxy = await openEgressProxy(rule, resolverOf())
    expect(await plain(proxy.url, at('open.test'), 'POST', 'x'.repeat(300_000))).toEqual({
      status: 200,
      body: expect.stringMatching(/^open POST x{300000}$/),
    })
    expect(await tunnel(proxy.url, 'open.test')).toMatchObject({
      status: 200,
      body: expect.stringContaining('open GET'),
    })
    expect(proxy.refusal).toBeUndefined()
    await proxy.close()
  })

  it('refuses everything else, and says what', async () => {
    const before = callsToClosed
    const proxy = await openEgressProxy(rule, resolverOf())
    for (const form of forms()) {
      expect((await plain(proxy.url, at(form))).status).toBe(403)
      expect([form, (await tunnel(proxy.url, form)).status]).toEqual([form, 403])
    }
    expect(proxy.refusal?.host).toBe('closed.test')
    expect((await tunnel(proxy.url, 'rebinding.test')).status).toBe(200)
    expect((await tunnel(proxy.url, 'rebinding.test')).status).toBe(403)
    expect((await plain(proxy.url, 'https://open.test/')).status).toBe(502)
    expect((await tunnel(proxy.url, 'unknown.test')).status).toBe(502)
    expect(callsToClosed).toBe(before)
    await proxy.close()
  })

  it('serves nobody who does not have its credential', async () => {
    const proxy = await openEgressProxy(rule, resolverOf())
    const stranger = new URL(proxy.url)
    stranger.password = 'x'.repeat(stranger.password.length)
    expect((await plain(stranger.href, at('open.test'))).status).toBe(407)
    expect((await tunnel(stranger.href, 'open.test')).status).toBe(407)
    await proxy.close()
  })
})

describe('the port that leads to one server', () => {
  const ask = async (through: number): Promise<string> => {
    const socket = connect(through, '127.0.0.1')
    socket.on('error', () => {})
    socket.write('GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n')
    return text(socket).catch(() => '')
  }

  it('leads there if it may be reached, else nowhere', async () => {
    const good = await openForwarder(rule, { host: 'open.test', port }, resolverOf())
    expect(await ask(good.port)).toContain('open GET')
    expect(good.refusal).toBeUndefined()
    await good.close()
    for (const host of ['closed.test', '127.0.0.2', '::ffff:127.0.0.2']) {
      const bad = await openForwarder(rule, { host, port }, resolverOf())
      expect(await ask(bad.port)).toBe('')
      expect(bad.refusal?.host).toBe(host)
      await bad.close()
    }
  })
})
