// Goal: a device whose clock is wrong shows what the service has, and says so. Method: a real
// browser whose clock is set.

import { expect } from 'chai'
import { useChartPage } from './chart-page.ts'

const HOUR_MS = 3_600_000

describe('the chart page on a device whose clock is wrong', () => {
  const test = useChartPage()

  for (const [hours, said] of [
    [26, 'This device’s clock is 26 h ahead.'],
    [-2, 'This device’s clock is 2 h behind.'],
  ] as const) {
    it(`goes by the service's clock: ${said}`, async () => {
      await test().call('POST', 'measurements', { sn: 'cellar', temp: 60 - hours })
      const newest = `${(59.6 - hours).toFixed(2)} °C`
      const { page, context } = await test().openSignedIn('healthz')
      await context.clock.install({ time: Date.now() + hours * HOUR_MS })
      await page.goto(`${test().url}#/sensors/1/1h`)
      await page.getByText(said).waitFor()
      const count = page.locator('.readout div', { hasText: 'Count' })
      await count.getByText(/^1\d$/).waitFor()
      await page.locator('.readout div', { hasText: 'Highest' }).getByText(newest).waitFor()
      await page.getByText(/^Online · (?:just now|\d+ (?:sec|min)\. ago)$/).waitFor()
      await page.getByRole('link', { name: 'Sensors' }).click()
      const card = page.locator('.card', { hasText: 'Cellar' })
      await card.getByText(/^(?:just now|\d+ (?:sec|min)\. ago)$/).waitFor()
      await card.locator('.spark-line').waitFor({ state: 'attached' })
      // As when the device finds the time.
      await context.clock.setSystemTime(Date.now())
      await context.clock.runFor(61_000)
      await page.getByText(said).waitFor({ state: 'hidden' })
      await card.getByText(/^(?:just now|\d+ (?:sec|min)\. ago)$/).waitFor()
      await context.close()
    })
  }

  it('counts on how long ago something was while nothing is heard', async () => {
    const { page, context } = await test().openSignedIn('#/sensors/1/1h')
    await context.clock.install()
    await page.reload()
    await test().call('POST', 'measurements', { sn: 'cellar', temp: 12 })
    await page.getByText('Online · just now').waitFor()
    await context.setOffline(true)
    await page.getByText(/^Offline, as of/).waitFor()
    await context.clock.fastForward(10 * 60_000)
    await page.getByText(/^1\d min\. ago$/).waitFor()
    // As after a sleep.
    await context.clock.setSystemTime(Date.now() + 8 * HOUR_MS)
    await context.clock.runFor(61_000)
    await page.getByText(/^[78] hr\. ago$/).waitFor()
    expect(await page.getByText('This device’s clock').isVisible()).to.equal(false)
    await context.close()
    // The browser tells of every request that fails on its console.
    test().problems.length = 0
  })
  it('takes no time from errors, which proxies answer too, and asks no more often', async () => {
    const { page, context } = await test().openSignedIn('healthz', { serviceWorkers: 'block' })
    let asked = 0
    await page.route('**/measurements?*', (route) => {
      const date = new Date(Date.now() + (++asked % 2) * 10_000).toUTCString()
      return route.fulfill({ status: 503, headers: { Date: date, 'Cache-Control': 'no-store' } })
    })
    await page.goto(`${test().url}#/sensors/1/1d`)
    await page.getByText('The service responded with status 503.').waitFor()
    await page.waitForTimeout(500)
    expect(asked).to.equal(1)
    await context.close()
    test().problems.length = 0
  })
})
