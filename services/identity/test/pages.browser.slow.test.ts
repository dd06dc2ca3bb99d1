import { once } from 'node:events'
import { mkdir } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { AxeBuilder } from '@axe-core/playwright'
import chromium from '@sparticuz/chromium'
import { type Browser, type BrowserContextOptions, type Page, chromium as playwright } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openApplication, PEOPLE } from './browser.ts'
import { createTestDatabase, startIdentityServer } from './identity-server.ts'

let database: Awaited<ReturnType<typeof createTestDatabase>>
let server: Awaited<ReturnType<typeof startIdentityServer>>
let application: ReturnType<typeof openApplication>
let browser: Browser
let callback = ''
/** Where the application waits; any port of loopback will do. */
const waiting = createServer((_request, response) => response.end('back in the application'))
const PASSWORD = 'analytical engine'
/** Set to keep pictures of the pages. */
const pictures = process.env.ATRIUM_TEST_PICTURES

beforeAll(async () => {
  database = await createTestDatabase()
  server = await startIdentityServer(database.url)
  waiting.listen(0, '127.0.0.1')
  await once(waiting, 'listening')
  callback = `http://127.0.0.1:${(waiting.address() as AddressInfo).port}/callback`
  application = openApplication(server.url, 'atrium-console', callback)
  browser = await playwright.launch({
    executablePath: process.env.CHROMIUM_PATH ?? (await chromium.executablePath()),
    // Not the package's own arguments: they switch off what browsers enforce, and it ends with its first window.
    args: ['--no-sandbox', '--disable-gpu'],
    headless: true,
  })
  for (const qxId of ['qx-ada', 'qx-bob', 'qx-eve']) {
    await server.identity.accounts.create({ qxId, name: qxId, password: PASSWORD })
  }
})

afterAll(async () => {
  await browser.close()
  waiting.close()
  await server[Symbol.asyncDispose]()
  await database[Symbol.asyncDispose]()
})

const LOOKS: Readonly<Record<string, BrowserContextOptions>> = {
  desktop: { viewport: { width: 1280, height: 800 } },
  phone: { viewport: { width: 360, height: 740 }, hasTouch: true },
  dark: { viewport: { width: 1280, height: 800 }, colorScheme: 'dark' },
  zoomed: { viewport: { width: 320, height: 480 } },
}

/** A page in a new browser profile; whatever the console complains about fails the test at the end. */
async function withPage(options: BrowserContextOptions, run: (page: Page) => Promise<void>): Promise<void> {
  const context = await browser.newContext({ javaScriptEnabled: true, ...options })
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('console', (message) => {
    // The status of an answer is no complaint about the page.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      complaints.push(message.text())
  })
  await run(page)
  expect(complaints).toEqual([])
  await context.close()
}

async function check(page: Page, name: string): Promise<void> {
  const { violations } = await new AxeBuilder({ page }).analyze()
  expect(violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`)).toEqual([])
  const overflow = await page.evaluate(
    'document.documentElement.scrollWidth - document.documentElement.clientWidth',
  )
  expect(overflow, `${name} is wider than the screen`).toBeLessThanOrEqual(0)
  if (pictures === undefined) return
  await mkdir(pictures, { recursive: true })
  await page.screenshot({ path: path.join(pictures, `${name}.png`) })
}

describe.each(Object.entries(LOOKS))('on a %s screen', (look, options) => {
  test(
    'every page passes axe, and fits',
    () =>
      withPage(options, async (page) => {
        await page.goto(`${server.url}${application.begin().address}`)
        await check(page, `sign-in-${look}`)
        await page.fill('#user', `qx-${look}`)
        await page.fill('#password', 'wrong')
        await page.click('button')
        await check(page, `sign-in-refused-${look}`)
        for (let i = 0; i < 5; i++) {
          await page.fill('#password', 'wrong')
          await page.click('button')
        }
        expect(await page.textContent('[role=alert]')).toContain('Too many attempts')
        await check(page, `sign-in-throttled-${look}`)
        await page.click('text=Change password')
        await check(page, `password-${look}`)
        await page.fill('#user', 'qx-eve')
        await page.fill('#current', PASSWORD)
        await page.fill('#new', 'short')
        await page.fill('#again', 'shorter')
        await page.click('button')
        await check(page, `password-refused-${look}`)
        await page.fill('#current', PASSWORD)
        await page.fill('#new', PASSWORD)
        await page.fill('#again', PASSWORD)
        await page.click('button')
        expect(await page.textContent('h1')).toBe('Password changed')
        await check(page, `password-changed-${look}`)
        await page.goto(`${server.url}${application.begin({ redirect_uri: 'https://evil.test' }).address}`)
        await check(page, `error-${look}`)
        await page.goto(`${server.url}${PEOPLE}/connect/endSession/success`)
        await check(page, `signed-out-${look}`)
      }),
    60_000,
  )
})

describe('in a real browser', () => {
  test.each([true, false])('one signs in, out and in again (scripts: %s)', (javaScriptEnabled) =>
    withPage({ javaScriptEnabled }, async (page) => {
      const { address, verifier } = application.begin()
      await page.goto(`${server.url}${address}`)
      await page.fill('#user', 'qx-ada')
      await page.fill('#password', PASSWORD)
      await page.click('button')
      await page.waitForURL(`${callback}**`)
      const code = new URL(page.url()).searchParams.get('code') ?? ''
      const { body } = await application.redeem(code, verifier)
      expect(await server.identity.verifyToken(String(body.access_token))).toMatchObject({ qxId: 'qx-ada' })
      // The session is known: no page in between.
      await page.goto(`${server.url}${application.begin().address}`)
      expect(page.url()).toContain(`${callback}?code=`)
      await page.goto(
        `${server.url}${PEOPLE}/connect/endSession?client_id=atrium-console&post_logout_redirect_uri=${encodeURIComponent(`${callback}/bye`)}`,
      )
      if (javaScriptEnabled) await check(page, 'sign-out')
      await page.click('button')
      await page.waitForURL(`${callback}/bye`)
      await page.goto(`${server.url}${application.begin().address}`)
      expect(await page.textContent('h1')).toBe('Sign in')
    }),
  )

  test('the keyboard alone is enough, from the first field on', () =>
    withPage({}, async (page) => {
      const focus = () =>
        page.evaluate('document.activeElement.id || document.activeElement.getAttribute("role")')
      await page.goto(`${server.url}${application.begin().address}`)
      await expect.poll(focus).toBe('user')
      await page.keyboard.type('qx-bob')
      await page.keyboard.press('Tab')
      await page.keyboard.type('wrong')
      await page.keyboard.press('Enter')
      await page.waitForSelector('[role=alert]')
      expect(await page.title()).toBe('Error: Sign in · Atrium')
      // What went wrong has the focus; its link leads to the field.
      await expect.poll(focus).toBe('alert')
      await page.keyboard.press('Tab')
      await page.keyboard.press('Enter')
      await expect.poll(focus).toBe('user')
      await page.keyboard.press('Tab')
      await page.keyboard.type(PASSWORD)
      await page.keyboard.press('Enter')
      await page.waitForURL(`${callback}**`)
    }))

  test('what the application suggests stands in the form already', () =>
    withPage({}, async (page) => {
      await page.goto(`${server.url}${application.begin({ login_hint: 'qx-bob' }).address}`)
      expect(await page.inputValue('#user')).toBe('qx-bob')
      await expect.poll(() => page.evaluate('document.activeElement.id')).toBe('password')
    }))

  test('the page comes with all it needs', () =>
    withPage({}, async (page) => {
      const address = `${server.url}${application.begin().address}`
      await page.goto(address)
      await page.goto(`${server.url}${application.begin().address}`, { waitUntil: 'load' })
      const requests = await page.evaluate('performance.getEntriesByType("resource").length')
      expect(requests).toBe(0)
    }))
})
