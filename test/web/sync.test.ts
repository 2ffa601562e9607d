// Goal: a page that was away catches up with what has changed, and nothing else; what it keeps
// stays. Method: a real browser with a thousand sensors, the sizes of responses, and a port where
// something else responds.

import { createServer } from 'node:http'
import { expect } from 'chai'
import type { BrowserContext, Page, Request } from 'playwright-core'
import type * as Kept from '../../src/web/kept.js'
import { useChromium } from '../support/chromium.ts'
import { ChartPageTest } from './chart-page.ts'

const SENSORS = 1_000

describe('the chart page after a while', () => {
  const browser = useChromium()
  let test: ChartPageTest
  let context: BrowserContext

  before(async () => {
    test = await ChartPageTest.start(browser())
    for (let from = 0; from < SENSORS; from += 500) {
      const sensors = Array.from({ length: 500 }, (_, at) => ({ sn: `s${from + at}`, temp: 20 }))
      await test.call('POST', 'measurements/batch', { measurements: sensors })
    }
    const opened = await test.openSignedIn()
    context = opened.context
    await opened.page.getByText('1,001 of 1,002 online').waitFor()
    await opened.page.evaluate(() => navigator.serviceWorker.ready)
    await opened.page.waitForFunction(async () =>
      (await caches.keys()).some((name) => name.includes('-page-')),
    )
    await opened.page.close()
  })
  let isAway = false
  after(async () => {
    await context?.close()
    if (!isAway) await test?.stop()
  })
  const card = (page: Page, name: string) => page.locator('.card', { hasText: name })

  it('shows what it kept, and asks for what has changed since', async () => {
    await test.call('POST', 'measurements', { sn: 's7', temp: 33.3 })
    const page = await context.newPage()
    const changes = page.waitForResponse(/\/changes\?since=/)
    await page.goto(test.url)
    expect((await (await changes).body()).length).to.be.lessThan(2_048)
    await page.getByRole('searchbox').fill('s7')
    await card(page, 's7').getByText('33.3 °C').first().waitFor()
    await page.close()
  })

  it('reads lines only from where they have changed', async () => {
    const page = await context.newPage()
    await page.goto(test.url)
    await card(page, 'Cellar').locator('.spark-line').waitFor({ state: 'attached' })
    const yesterday = new Date(Date.now() - 20 * 3_600_000)
    const late = { sn: 'cellar', temp: 44, timestamp: yesterday.toISOString() }
    await page.goto('about:blank')
    await test.call('POST', 'measurements', late)
    const parameter = (request: Request, name: string) =>
      new URL(request.url()).searchParams.get(name) ?? ''
    const read = page.waitForRequest((request) => {
      const isOfCellar = parameter(request, 'sensors').split(',').includes('1')
      return isOfCellar && Date.parse(parameter(request, 'from')) < yesterday.getTime()
    })
    await page.goto(test.url)
    const from = Date.parse(parameter(await read, 'from'))
    expect(yesterday.getTime() - from).to.be.within(0, 2 * 3_600_000)
    await card(page, 'Cellar').getByText('to 43.6 °C').waitFor()
    await page.close()
  })

  it('keeps the sensors however many charts are kept', async () => {
    const page = await context.newPage()
    await page.goto(test.url)
    await page.getByText('Live').waitFor()
    await page.evaluate(async () => {
      const entry = performance
        .getEntriesByType('resource')
        .find(({ name }) => name.endsWith('page.js'))
      const modules = (await import(entry?.name ?? '')) as { readonly kept_js: typeof Kept }
      const { keepHistories } = modules.kept_js
      const sensor = { id: 1, sn: 'cellar', alias: 'Cellar', compensation: 0 }
      const time = new Date().toISOString()
      const data = {
        sensor,
        from: time,
        to: time,
        bucket: 'raw',
        tz: 'UTC',
        complete: true,
        points: [],
      }
      const histories = Array.from({ length: 400 }, (_, at) => {
        return [`history/1/${at}`, { data, asOfMs: at }] as const
      })
      await keepHistories(histories)
    })
    await context.setOffline(true)
    await page.reload()
    await page.getByText('1,002 sensors').waitFor()
    await card(page, 'Cellar').waitFor()
    await context.setOffline(false)
    await page.close()
    // The browser reports each request without a network.
    test.problems.length = 0
  })

  it('finds a sensor that has registered since, by its address', async () => {
    await test.call('POST', 'measurements', { sn: 'new-here', temp: 12.5 })
    const page = await context.newPage()
    const lookedFor = page.waitForRequest(/\/changes\?since=/)
    await page.goto(`${test.url}#/sensors/${SENSORS + 3}/1d`)
    await lookedFor
    await page.getByRole('heading', { name: 'new-here' }).waitFor()
    await page.locator('.readout dd', { hasText: '12.50 °C' }).first().waitFor()
    await page.getByRole('button', { name: 'Edit' }).waitFor()
    await page.getByRole('link', { name: 'Compare' }).waitFor()
    await page.close()
  })

  it('shows a sensor that registers while its address is open', async () => {
    const page = await context.newPage()
    await page.goto(`${test.url}#/sensors/${SENSORS + 4}/1d`)
    await page.getByRole('heading', { name: 'Sensor not found' }).waitFor()
    await page.getByText('Live').waitFor()
    await page.getByRole('button', { name: 'Edit' }).waitFor({ state: 'hidden' })
    await test.call('POST', 'measurements', { sn: 'newer', temp: 13.5 })
    await page.getByRole('heading', { name: 'newer' }).waitFor()
    await page.locator('.readout dd', { hasText: '13.50 °C' }).first().waitFor()
    await page.getByRole('button', { name: 'Edit' }).waitFor()
    await page.close()
    // The browser reports the history that was not there.
    test.problems.length = 0
  })

  it('says within 5 s that the service has ended, and asks less and less often', async () => {
    const page = await context.newPage()
    await page.goto(test.url)
    await page.getByText('Live').waitFor()
    let asked = 0
    page.on('request', (request) => {
      if (request.url().endsWith('/events')) asked++
    })
    await test.stop()
    isAway = true
    await page.getByText(/^Cannot be reached, as of/).waitFor({ timeout: 5_000 })
    const askedBefore = asked
    await page.waitForTimeout(3_000)
    expect(asked - askedBefore).to.be.at.most(1)
    await card(page, 'Cellar').getByRole('link').click()
    await page.getByRole('button', { name: '1 y' }).click()
    await page
      .getByText('Thermolog cannot be reached. This period is not saved on this device.')
      .waitFor()
    await page.close()
    test.problems.length = 0
  })

  it('opens what it kept where a proxy says that the service is away', async () => {
    if (!isAway) await test.stop()
    isAway = true
    const proxy = createServer((_request, response) => void response.writeHead(502).end('502'))
    await new Promise<void>((resolve) => void proxy.listen(Number(new URL(test.url).port), resolve))
    const page = await context.newPage()
    await page.goto(test.url)
    await page.getByText(/^Cannot be reached, as of/).waitFor()
    await page.getByText('1,004 sensors').waitFor()
    await page.close()
    proxy.closeAllConnections()
    await new Promise((resolve) => proxy.close(resolve))
  })
})
