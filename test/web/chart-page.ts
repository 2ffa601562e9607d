// The chart page in a real browser, against the whole service and a real OpenID Connect provider,
// with a few sensors: Cellar, −0.4, every five minutes of a day but for nearly five hours; Attic,
// silent for two days; barn, which begins to send in a test.
//
// Whatever the page says on its console, throws or asks for in vain, and every breach of its
// policy, is gathered, and has to be nothing.

import { expect } from 'chai'
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import type { Environment } from '../../src/config-settings.ts'
import { useChromium } from '../support/chromium.ts'
import { freePort } from '../support/free-port.ts'
import { send } from '../support/http.ts'
import {
  authorize,
  PUBLIC_CLIENT,
  publicClient,
  startOpenIdProvider,
} from '../support/openid-provider.ts'
import type { OpenIdProvider } from '../support/openid-provider.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

export const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }
export const DESKTOP = { viewport: { width: 1280, height: 800 } }
/** Settings with which people sign in with links. */
export const NO_PROVIDER = { IDP_HOME_ISSUER: '', IDP_HOME_CLIENT_ID: '', IDP_HOME_LABEL: '' }

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const OWNER = 'ana@example.org'
/** Less than mocha's, so that a failure names what it waited for. */
const WAIT_MS_MAX = 60_000
const SESSION = 'thermolog.session'

interface Opened {
  readonly page: Page
  readonly context: BrowserContext
  /** Path and query of every history that was asked for. */
  readonly histories: URL[]
}

interface OpenedSignedIn extends Opened {
  /**
   * Ends the page and cleans its profile for another test: one that has loaded the page before
   * opens it in a third of the time. Close the context instead after whatever outlives its page,
   * such as a fake clock.
   */
  readonly close: () => Promise<void>
}

export class ChartPageTest {
  readonly url: string
  readonly service: TestService
  /** What went wrong in pages; tests that mean it to take it out. */
  readonly problems: string[] = []
  readonly #browser: Browser
  readonly #provider: OpenIdProvider
  readonly #token: string
  #session: string | undefined
  /** Profiles of somebody signed in that no page uses, by their options. */
  readonly #unused = new Map<string, BrowserContext[]>()

  private constructor(
    url: string,
    browser: Browser,
    { service, provider }: { service: TestService; provider: OpenIdProvider },
    token: string,
  ) {
    this.url = url
    this.#browser = browser
    this.service = service
    this.#provider = provider
    this.#token = token
  }

  /** @param settings over those with which sign-in works */
  static async start(browser: Browser, settings: Environment = {}): Promise<ChartPageTest> {
    const port = await freePort()
    const url = `http://127.0.0.1:${port}/`
    const idp = await startOpenIdProvider({ clients: [publicClient(url)] })
    idp.people.set('ana', { email: OWNER, email_verified: true, name: 'Ana' })
    const service = await startService({
      PORT: String(port),
      IDP_HOME_ISSUER: idp.issuer,
      IDP_HOME_CLIENT_ID: PUBLIC_CLIENT,
      IDP_HOME_LABEL: 'Home',
      MOBILE_REDIRECT_URIS: url,
      ...settings,
    })
    setToNow(service)
    const token = await service.createToken(OWNER)
    const test = new ChartPageTest(url, browser, { service, provider: idp }, token)
    await test.#fill()
    return test
  }

  async stop(): Promise<void> {
    const unused = [...this.#unused.values()].flat()
    await Promise.all(unused.map((context) => context.close()))
    await this.service.stop()
    await this.#provider.stop()
  }

  expectNoProblems(): void {
    expect(this.problems.splice(0)).to.deep.equal([])
  }

  /** A page of a new browser profile; the caller closes the context. */
  async open(place = '', options: BrowserContextOptions = {}): Promise<Opened> {
    return this.#openIn(await this.#newContext(options), place)
  }

  /** A page of somebody who has signed in, in a profile that has nothing else. */
  async openSignedIn(place = '', options: BrowserContextOptions = {}): Promise<OpenedSignedIn> {
    const name = JSON.stringify(options)
    const unused = this.#unused.get(name) ?? []
    this.#unused.set(name, unused)
    this.#session ??= await this.#signIn('ana')
    const context = unused.pop() ?? (await this.#newSignedIn(this.#session, options))
    const opened = await this.#openIn(context, place)
    const close = async () => {
      await this.#clean(opened.page)
      unused.push(context)
    }
    return { ...opened, close }
  }

  /** A page of somebody else, who has just signed up; the caller closes the context. */
  async openAs(subject: string, place = '', options: BrowserContextOptions = {}): Promise<Opened> {
    const person = { email: `${subject}@example.org`, email_verified: true, name: subject }
    this.#provider.people.set(subject, person)
    setToNow(this.service)
    const context = await this.#newSignedIn(await this.#signIn(subject), options)
    return this.#openIn(context, place)
  }

  /** Sends measurements as the owner's daemon, or changes a sensor. */
  async call(method: 'POST' | 'PATCH', path: string, body: object): Promise<void> {
    setToNow(this.service)
    const order = { method, path: `/api/v1/${path}`, token: this.#token, body }
    const { status, text } = await send(this.service.url, order)
    expect(status, text).to.be.lessThan(300)
  }

  /** Deletes a sensor as the owner's daemon. */
  async remove(path: string): Promise<void> {
    const order = { method: 'DELETE', path: `/api/v1/${path}`, token: this.#token }
    const { status, text } = await send(this.service.url, order)
    expect(status, text).to.equal(204)
  }

  async #newContext(options: BrowserContextOptions): Promise<BrowserContext> {
    const context = await this.#browser.newContext({
      ...DESKTOP,
      locale: 'en-GB',
      timezoneId: 'Europe/Berlin',
      reducedMotion: 'reduce',
      ...options,
    })
    context.setDefaultTimeout(WAIT_MS_MAX)
    await context.addInitScript(() => {
      document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) => {
        // oxlint-disable-next-line eslint/no-console
        console.error(`policy: ${violatedDirective} ${blockedURI}`)
      })
    })
    return context
  }

  async #newSignedIn(value: string, options: BrowserContextOptions): Promise<BrowserContext> {
    const localStorage = [{ name: SESSION, value }]
    const origins = [{ origin: new URL(this.url).origin, localStorage }]
    return this.#newContext({ storageState: { cookies: [], origins }, ...options })
  }

  async #openIn(context: BrowserContext, place: string): Promise<Opened> {
    setToNow(this.service)
    const page = await context.newPage()
    const histories: URL[] = []
    page.on('console', (message) => {
      if (message.type() === 'error') this.problems.push(message.text())
    })
    page.on('pageerror', (error) => this.problems.push(String(error.stack)))
    page.on('request', (request) => {
      if (request.url().includes('/measurements?')) histories.push(new URL(request.url()))
    })
    await page.goto(this.url + place)
    return { page, context, histories }
  }

  /** Leaves the profile of a page as it was when somebody had just signed in. */
  async #clean(page: Page): Promise<void> {
    // It has the origin, and no script that keeps anything.
    await page.goto(`${this.url}healthz`)
    await page.evaluate(
      ([name, session = '']) => {
        localStorage.clear()
        localStorage.setItem(name, session)
      },
      [SESSION, this.#session] as const,
    )
    const devTools = await page.context().newCDPSession(page)
    await devTools.send('Storage.clearDataForOrigin', {
      origin: new URL(this.url).origin,
      storageTypes: 'indexeddb,service_workers,cache_storage',
    })
    await page.close()
  }

  /** As the page does it. @returns what the page keeps of it */
  async #signIn(subject: string): Promise<string> {
    const provider = {
      client_id: PUBLIC_CLIENT,
      authorization_endpoint: `${this.#provider.issuer}/auth`,
      redirect_uri: this.url,
      scopes: ['openid', 'email', 'profile'],
    }
    const grant = await authorize(provider, subject)
    const order = { method: 'POST', path: '/api/mobile/v1/auth/home', body: grant } as const
    const { status, body, text } = await send(this.service.url, order)
    expect(status, text).to.equal(200)
    return JSON.stringify(body.data)
  }

  async #fill(): Promise<void> {
    const nowMs = Date.now()
    const times = Array.from({ length: 288 }, (_, step) => nowMs - step * 5 * MINUTE_MS)
    const isGap = (atMs: number) => atMs > nowMs - 9.6 * HOUR_MS && atMs < nowMs - 4.8 * HOUR_MS
    const cellar = times.filter((atMs) => !isGap(atMs)).map((atMs) => reading('cellar', atMs))
    const attic = reading('attic', nowMs - 48 * HOUR_MS)
    await this.call('POST', 'measurements/batch', { measurements: [...cellar, attic] })
    await this.call('PATCH', 'sensors/1', { alias: 'Cellar', compensation: -0.4 })
    await this.call('PATCH', 'sensors/2', { alias: 'Attic' })
  }
}

/** As the page has it: what `page.url()` knows comes a moment after `replaceState`. */
export function addressOf(page: Page): Promise<string> {
  return page.evaluate(() => location.href)
}

/** The token of the session that a page has. */
export function tokenOf(page: Page): Promise<string> {
  return page.evaluate(() => {
    return (JSON.parse(localStorage['thermolog.session'] as string) as { token: string }).token
  })
}

/** Waits until a page, which reads on once a second, has read all that has come. */
export async function untilRead({ page, histories }: Pick<Opened, 'page' | 'histories'>) {
  for (let known = -1; known < histories.length;) {
    known = histories.length
    await page.waitForTimeout(1_500)
  }
}

/**
 * Where the elements of a selector are, in pixels. They are found and measured in one step: what a
 * locator has found, the page may have drawn anew before it is measured.
 */
export function boxesOf(page: Page, selector: string) {
  return page.evaluate((css) => {
    return [...document.querySelectorAll(css)].map((part) => {
      const { left, top, right, bottom } = part.getBoundingClientRect()
      return { left, top, right, bottom }
    })
  }, selector)
}

/** Fails unless the first element of each selector is whole in the window, below the bar. */
export async function expectInSight(page: Page, ...selectors: readonly string[]): Promise<void> {
  const [bar] = await boxesOf(page, '.bar')
  const endPx = page.viewportSize()?.height ?? 0
  for (const selector of selectors) {
    const [box] = await boxesOf(page, selector)
    expect(box?.top, selector).to.be.at.least(bar?.bottom ?? 0)
    expect(box?.bottom, selector).to.be.at.most(endPx)
  }
}

/** How much the page keeps on the device. */
export function keptOf(page: Page): Promise<number> {
  return page.evaluate(async () => {
    const done = <T>(request: IDBRequest<T>) =>
      new Promise<T>((resolve) => (request.onsuccess = () => resolve(request.result)))
    const database = await done(indexedDB.open('thermolog'))
    const stores = [...database.objectStoreNames]
    const counts = stores.map((name) => done(database.transaction(name).objectStore(name).count()))
    return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0)
  })
}

/**
 * Says that the tests of the suite need a page and somebody who can sign in; after each of them
 * nothing may have gone wrong in any page.
 *
 * @param settings over those with which sign-in works
 * @returns what gives it; to be called in tests and hooks
 */
export function useChartPage(settings: Environment = {}): () => ChartPageTest {
  const browser = useChromium()
  let test: ChartPageTest | undefined
  before(async () => {
    test = await ChartPageTest.start(browser(), settings)
  })
  after(() => test?.stop())
  afterEach(() => test?.expectNoProblems())
  return () => {
    if (test === undefined) throw new Error('the page is served in a hook before the tests')
    return test
  }
}

/** Between 11 and 13, in half an hour up and in half an hour down. */
function reading(sn: string, atMs: number): object {
  const temp = 11 + 2 * Math.abs((((atMs / HOUR_MS) % 1) + 1) % 1)
  return { sn, temp: Math.round(temp * 100) / 100, timestamp: new Date(atMs).toISOString() }
}

/** The provider and the browser live in the present. */
function setToNow({ clock }: TestService): void {
  clock.set(new Date().toISOString())
}
