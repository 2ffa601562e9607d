// Goal: without a network the page opens and shows what it had last, and says of when that is.
// Method: a real browser that is cut off, with the service worker the page installs.

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
})
