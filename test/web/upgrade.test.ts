// Goal: a page that stays open while the service is upgraded is loaded again, when that disturbs
// nobody, and says so before; and not for ever where two versions answer by turns. Method: a real
// browser before a proxy that takes the page's files of two services, which call themselves
// differently and so have different versions of them, and all else of one of them.

import { createServer, request as ask } from 'node:http'
import type { Server } from 'node:http'
import { expect } from 'chai'
import type { BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import { useChromium } from '../support/chromium.ts'
import { freePort } from '../support/free-port.ts'
import { send } from '../support/http.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'
import { DESKTOP } from './chart-page.ts'

const USER = 'ana@example.org'
const NOT_YOUNG_MS = 11 * 60_000
const PAGE_FILES = /^\/(?:$|\?|web\/|service-worker|manifest)/

describe('a chart page that stays open while the service is upgraded', () => {
  const browser = useChromium()
  let services: TestService[] = []
  let front: Server
  let url = ''
  let context: BrowserContext
  /** Which of both services gives the page's files. */
  let pagesFrom = () => 0

  before(async () => {
    url = `http://127.0.0.1:${await freePort()}/`
    const names = ['Before', 'After']
    services = await Promise.all(
      names.map((name) => startService({ APP_NAME: name, PUBLIC_URL: url })),
    )
    for (const { clock } of services) clock.set(new Date().toISOString())
    front = createServer((from, to) => {
      const service = services[PAGE_FILES.test(from.url ?? '') ? pagesFrom() : 0]
      const onward = ask(
        new URL(from.url ?? '', service?.url),
        { method: from.method, headers: from.headers },
        (answer) => {
          to.writeHead(answer.statusCode ?? 500, answer.headers)
          answer.pipe(to)
        },
      )
      onward.on('error', () => to.destroy())
      to.on('close', () => onward.destroy())
      from.pipe(onward)
    })
    await new Promise<void>((resolve) => void front.listen(Number(new URL(url).port), resolve))
    const [first] = services
    const token = (await first?.createToken(USER)) ?? ''
    const body = { sn: 'cellar', temp: 21.4 }
    await send(first?.url ?? '', { method: 'POST', path: '/api/v1/measurements', token, body })
  })
  after(async () => {
    front?.closeAllConnections()
    front?.close()
    await Promise.all(services.map((service) => service.stop()))
  })
  afterEach(() => context?.close())

  /** Somebody who has just signed in, by the first version. */
  async function open(options: BrowserContextOptions = {}): Promise<Page> {
    pagesFrom = () => 0
    context = await browser().newContext({ ...DESKTOP, ...options })
    await context.clock.install()
    const page = await context.newPage()
    await page.goto(await link())
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('Live').waitFor()
    return page
  }

  async function link(): Promise<string> {
    return (await services[0]?.operations.run('user link', { user: USER }))?.url ?? ''
  }

  const titled = (page: Page, name: string) =>
    page.waitForFunction((part) => document.title.endsWith(part), name)
  const newVersion = (page: Page) => page.getByText('New version')
  const breakConnections = () => front.closeAllConnections()

  it('is loaded again where a tap finds its files gone, and is where the tap leads', async () => {
    const page = await open({ serviceWorkers: 'block' })
    pagesFrom = () => 1
    await page.getByRole('link', { name: 'Settings' }).click()
    await newVersion(page).waitFor()
    await page.clock.fastForward(NOT_YOUNG_MS)
    await page.getByRole('heading', { name: 'Settings' }).waitFor()
    await titled(page, 'After')
  })

  for (const serviceWorkers of ['block', 'allow'] as const) {
    it(`is loaded again, but for who is in a form (workers: ${serviceWorkers})`, async () => {
      const page = await open({ serviceWorkers })
      if (serviceWorkers === 'allow') {
        await page.clock.fastForward(3_000)
        await page.evaluate(() => navigator.serviceWorker.ready)
        await page.waitForFunction(async () =>
          (await caches.keys()).some((name) => name.includes('-page-')),
        )
      }
      await page.getByRole('searchbox').fill('cell')
      pagesFrom = () => 1
      breakConnections()
      await page.clock.fastForward(NOT_YOUNG_MS)
      await newVersion(page).waitFor()
      await page.clock.fastForward(60_000)
      await page.waitForTimeout(500)
      expect(await page.getByRole('searchbox').inputValue()).to.equal('cell')
      if (serviceWorkers === 'allow') {
        // Its code is nowhere else.
        await page.evaluate((hash) => (location.hash = hash), new URL(await link()).hash)
        await page.getByRole('button', { name: 'Sign in' }).waitFor()
        await page.clock.fastForward(60_000)
        await page.getByRole('button', { name: 'Sign in' }).click()
      }
      await page.getByRole('searchbox').fill('')
      await page.locator('h1').first().focus()
      await page.clock.fastForward(60_000)
      await titled(page, 'After')
      await page.getByText('Live').waitFor()
      expect(await newVersion(page).isVisible()).to.equal(false)
    })
  }

  it('waits for a token that is being made: its answer is the only copy', async () => {
    const page = await open({ serviceWorkers: 'block' })
    await page.getByRole('link', { name: 'Settings' }).click()
    await page.getByRole('button', { name: 'New token' }).click()
    await page.getByLabel('Name of the device or program').fill('gate')
    await page.getByRole('button', { name: 'Create token' }).click()
    await page.getByRole('button', { name: 'Done' }).click()
    await page.getByRole('button', { name: 'Continue' }).click()
    let answer = () => {}
    await page.route('**/rotation', (route) => {
      answer = () => void route.continue()
    })
    pagesFrom = () => 1
    breakConnections()
    await page.clock.fastForward(NOT_YOUNG_MS)
    await newVersion(page).waitFor()
    // Not as long as answers may take.
    await page.clock.fastForward(15_000)
    const asked = page.waitForRequest('**/rotation')
    await page.getByRole('button', { name: 'Rotate gate' }).click()
    await page.getByRole('button', { name: 'Rotate', exact: true }).last().click()
    await asked
    // As when another tab is looked at.
    await page.evaluate(() => {
      Object.defineProperty(document, 'hidden', { value: true, configurable: true })
    })
    await page.clock.fastForward(16_000)
    await page.waitForTimeout(500)
    answer()
    await page.getByText('Copy it now.').waitFor({ timeout: 5_000 })
  })

  it('shows how to sign in where its files are gone, and takes a link', async () => {
    const page = await open({ serviceWorkers: 'block' })
    await page.evaluate(() => localStorage.setItem('thermolog.session', '{"token":"-","user":{}}'))
    pagesFrom = () => 1
    breakConnections()
    await page.getByRole('button', { name: 'Reload' }).click()
    await page.getByText('You need a sign-in link').waitFor()
    pagesFrom = () => 0
    const address = await link()
    await page.evaluate((hash) => (location.hash = hash), new URL(address).hash)
    await page.getByRole('button', { name: 'Reload' }).click()
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('Live').waitFor()
    await titled(page, 'Before')
  })

  it('is loaded once for each version where two answer by turns', async () => {
    const page = await open({ serviceWorkers: 'block' })
    let loads = 0
    page.on('load', () => loads++)
    let turn = 0
    pagesFrom = () => turn++ % 2
    for (let looked = 0; looked < 6; looked++) {
      breakConnections()
      await page.getByText('Live').waitFor()
      await page.clock.fastForward(NOT_YOUNG_MS)
      await page.waitForTimeout(300)
    }
    expect(loads).to.equal(1)
    await page.locator('.card', { hasText: 'cellar' }).waitFor()
  })
})
