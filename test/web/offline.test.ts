// Goal: without a network the page opens and shows what it had last, and says of when that is; it
// says what is in its way. Method: a real browser that is cut off, with the service worker the page
// installs, or gets no answer.

import { expect } from 'chai'
import { useChartPage, PHONE } from './chart-page.ts'

describe('the chart page without a network', () => {
  const test = useChartPage()

  it('shows the last dashboard and the last charts, and goes on by itself', async () => {
    const { page, context } = await test().openSignedIn('#/sensors/1', PHONE)
    await page.locator('.readout dd').first().waitFor()
    const isKept = async () => (await caches.keys()).some((name) => name.includes('-page-'))
    await page.evaluate(() => navigator.serviceWorker.ready)
    await page.waitForFunction(isKept)
    await page.getByRole('link', { name: 'Sensors' }).click()
    await page.locator('.spark-line').first().waitFor({ state: 'attached' })
    await page.getByText('Live').waitFor()
    await test().call('POST', 'measurements', { sn: 'cellar', temp: 55.4 })
    const cellar = page.locator('.card', { hasText: 'Cellar' })
    await cellar.getByText('55.0 °C').waitFor()
    test().expectNoProblems()
    await context.setOffline(true)
    await page.reload()
    await page.getByText(/^Offline, as of \d\d:\d\d$/).waitFor()
    await cellar.getByText('55.0 °C').waitFor()
    await page.locator('.spark-line').first().waitFor({ state: 'attached' })
    await page.locator('.card', { hasText: 'Cellar' }).click()
    await page.getByText(/^You are offline. Chart last updated \d\d:\d\d\.$/).waitFor()
    await page.locator('.readout dd').first().waitFor()
    await page.getByRole('button', { name: '1 y' }).click()
    await page.getByText('You are offline. This period is not saved on this device.').waitFor()
    await context.setOffline(false)
    await page.getByText('Live').waitFor()
    await page.getByRole('button', { name: '1 d' }).click()
    await page.locator('.note:empty').waitFor({ state: 'attached' })
    await context.close()
    // The browser tells of every request that fails on its console.
    test().problems.length = 0
  })
  it('says that the service does not answer in time', async () => {
    const options = { serviceWorkers: 'block' } as const
    const { page, context } = await test().openSignedIn('healthz', options)
    // Sooner than in 20 s.
    await page.addInitScript(() => {
      const inTime = AbortSignal.timeout.bind(AbortSignal)
      AbortSignal.timeout = (afterMs) => inTime(afterMs / 20)
    })
    await page.route('**/measurements?*', () => undefined)
    await page.goto(`${test().url}#/sensors/1/1y`)
    const sentence = 'Thermolog does not answer. This period is not saved on this device.'
    await page.getByText(sentence).waitFor()
    await page.unrouteAll()
    await page.getByRole('button', { name: '1 w' }).click()
    await page.locator('.readout dd', { hasText: '°' }).first().waitFor()
    await context.close()
  })
  it('does not call itself live where something in between refuses every request', async () => {
    const { page, context } = await test().openSignedIn('healthz', { serviceWorkers: 'block' })
    let isRefused = false
    await page.route('**/api/mobile/v1/**', (route) => {
      if (isRefused) return route.fulfill({ status: 403 })
      if (!route.request().url().endsWith('/events')) return route.continue()
      // It ends at once.
      return route.fulfill({ contentType: 'text/event-stream', body: ':\n\n' })
    })
    await page.goto(test().url)
    await page.getByText('Live', { exact: true }).waitFor()
    isRefused = true
    await page.getByText(/^Cannot be reached, as of/).waitFor()
    await context.close()
    test().problems.length = 0
  })
  it('asks a service in trouble no more often because it tells more', async () => {
    const { page, context } = await test().openSignedIn('healthz', { serviceWorkers: 'block' })
    let asked = 0
    await page.route('**/changes*', (route) => {
      asked++
      return route.fulfill({ status: 503 })
    })
    const opened = page.waitForResponse(/\/events$/)
    await page.goto(test().url)
    await page.getByText('Cannot be reached').first().waitFor()
    await opened
    const measurements = Array.from({ length: 50 }, (_, at) => ({ sn: `shelf${at}`, temp: 20 }))
    await test().call('POST', 'measurements/batch', { measurements })
    await page.waitForTimeout(1_000)
    expect(asked).to.be.at.most(3)
    await page.unrouteAll()
    await page.getByText('Live', { exact: true }).waitFor()
    await page.locator('.card', { hasText: 'shelf7' }).first().waitFor()
    await context.close()
    test().problems.length = 0
  })

  it('asks less and less often for events that end at once', async () => {
    const { page, context } = await test().openSignedIn('healthz', { serviceWorkers: 'block' })
    await context.clock.install()
    let asked = 0
    await page.route('**/events', (route) => {
      asked++
      return route.fulfill({ contentType: 'text/event-stream', body: ':\n\n' })
    })
    await page.goto(test().url)
    await page.getByText('Live', { exact: true }).waitFor()
    for (let waited = 0; waited < 20; waited++) {
      await context.clock.fastForward(1_500)
      await page.waitForTimeout(100)
    }
    expect(asked).to.be.within(3, 7)
    await context.close()
    test().problems.length = 0
  })
})
