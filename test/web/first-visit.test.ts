// Goal: the first chart that somebody sees is there soon on a slow line too, where every request
// costs a round trip. Method: a real browser with an empty profile, which counts what it loads from
// the sign-in link to the drawn chart.

import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { useChromium } from '../support/chromium.ts'
import { send } from '../support/http.ts'
import { ChartPageTest, NO_PROVIDER } from './chart-page.ts'

const REQUESTS_MAX = 14
const BYTES_MAX = 88_000
const NEWCOMER = 'ben@example.org'

describe('a first visit to the chart page', () => {
  const browser = useChromium()
  let test: ChartPageTest
  before(async () => {
    test = await ChartPageTest.start(browser(), NO_PROVIDER)
  })
  after(() => test?.stop())

  it('loads little, in few requests, before the first chart', async () => {
    const token = await test.service.createToken(NEWCOMER)
    const body = { event_id: 'first', sn: 'cellar', temp: 21.4 }
    await send(test.service.url, { method: 'POST', path: '/api/v1/measurements', token, body })
    const { url } = await test.service.operations.run('user link', { user: NEWCOMER })
    // Its worker loads the rest two seconds later, for when there is no network.
    const { page, context } = await test.open('healthz', { serviceWorkers: 'block' })
    const loaded = await countLoads(page)
    await page.goto(test.url + new URL(url).hash)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.locator('.card', { hasText: 'cellar' }).click()
    await page.locator('.readout dd', { hasText: '21.40 °C' }).first().waitFor()
    const bytes = [...loaded.values()].reduce((sum, one) => sum + one, 0)
    expect(bytes).to.be.within(20_000, BYTES_MAX)
    expect(loaded.size).to.be.within(5, REQUESTS_MAX)
    expect(await page.content()).not.to.include('too old')
    test.expectNoProblems()
    await context.close()
  })

  it('says that a browser is too old, with those that are not, and does nothing else', async () => {
    const { page, context } = await test.open('healthz', { serviceWorkers: 'block' })
    const asked: string[] = []
    page.on('request', (request) => asked.push(request.url()))
    for (const takeAway of [
      () => Object.assign(CSS, { supports: () => false }),
      () => Reflect.deleteProperty(AbortSignal, 'any'),
    ]) {
      const script = await page.addInitScript(takeAway)
      await page.goto(test.url)
      expect(await page.locator('body').innerText()).to.match(
        /^This browser is too old for this page\n+Update it, or use [\w ,]+\.5, or later\.$/,
      )
      await script.dispose()
    }
    expect(asked.filter((url) => url.includes('/api/'))).to.deep.equal([])
    test.expectNoProblems()
    await context.close()
  })
})

/** @returns the bytes on the line of each request that a page makes from now on */
async function countLoads(page: Page): Promise<ReadonlyMap<string, number>> {
  const devTools = await page.context().newCDPSession(page)
  await devTools.send('Network.enable')
  const loaded = new Map<string, number>()
  devTools.on('Network.requestWillBeSent', ({ requestId }) => void loaded.set(requestId, 0))
  devTools.on('Network.requestServedFromCache', ({ requestId }) => void loaded.delete(requestId))
  devTools.on('Network.responseReceived', ({ requestId, response }) => {
    if (response.fromDiskCache) loaded.delete(requestId)
  })
  devTools.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    if (loaded.has(requestId)) loaded.set(requestId, encodedDataLength)
  })
  return loaded
}
