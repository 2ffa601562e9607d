// Goal: a chart of the present is not contradicted by the live value above it, and a sensor's first
// chart shows what there is. Method: a real browser, with sensors of its own.

import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { addressOf, useChartPage, DESKTOP, PHONE } from './chart-page.ts'

const MINUTE_MS = 60_000
/** Much less than it would be if a chart were read on as its line moves. */
const SOON = { timeout: 20_000 }

describe('a chart of now', () => {
  const test = useChartPage()
  const PORCH = '#/sensors/3'
  const LAWN = '#/sensors/4'

  before(async () => {
    const measurements = Array.from({ length: 90 }, (_, at) => {
      const timestamp = new Date(Date.now() - (at + 1) * MINUTE_MS).toISOString()
      return ['porch', 'lawn'].map((sn) => ({ sn, temp: 10, timestamp }))
    }).flat()
    await test().call('POST', 'measurements/batch', { measurements })
  })

  const highest = (page: Page) => page.locator('.readout div', { hasText: 'Highest' })
  const value = (page: Page) => page.locator('.value')

  /** Waits for the numbers and for live events. */
  async function opened(page: Page): Promise<void> {
    await page.locator('.readout dd', { hasText: '°' }).first().waitFor()
    await page.getByText('Live').waitFor()
  }

  /** Where the line or its dot is, in shares of the drawing's sides. */
  const inkOf = (page: Page) =>
    page.locator('.uplot canvas').evaluate((canvas: HTMLCanvasElement) => {
      const over = document.querySelector<HTMLElement>('.u-over')
      if (over === null) throw new Error('no chart')
      const scale = canvas.width / canvas.clientWidth
      const [left, width] = [over.offsetLeft * scale, over.offsetWidth * scale]
      const [top, height] = [over.offsetTop * scale, over.offsetHeight * scale]
      const { data = [] } =
        canvas.getContext('2d')?.getImageData(0, 0, canvas.width, canvas.height) ?? {}
      const places = Array.from({ length: data.length / 4 }, (_, at) => at).filter((at) => {
        const [red = 0, , blue = 0, opacity = 0] = data.slice(at * 4, at * 4 + 4)
        return opacity > 100 && blue - red > 60
      })
      const xs = places.map((at) => ((at % canvas.width) - left) / width)
      const ys = places.map((at) => (Math.floor(at / canvas.width) - top) / height)
      const least = (shares: readonly number[]) =>
        shares.reduce((one, other) => Math.min(one, other))
      const most = (shares: readonly number[]) =>
        shares.reduce((one, other) => Math.max(one, other))
      return { left: least(xs), right: most(xs), top: least(ys), bottom: most(ys) }
    })

  it('has numbers that agree with the live value soon, in a year as well', async () => {
    const { page, close, histories } = await test().openSignedIn(`${PORCH}/1y`)
    await opened(page)
    const known = histories.length
    const sentMs = Date.now()
    for (const temp of [31, 32, 33]) {
      await test().call('POST', 'measurements', { sn: 'porch', temp })
      await value(page).getByText(`${temp}.00 °C`).waitFor()
      await highest(page).getByText(`${temp}.00 °C`).waitFor(SOON)
    }
    await page.locator('.readout div', { hasText: /^Count\s*93$/ }).waitFor()
    // The line is at the means of days: a dot at the live value would be far from it.
    expect((await inkOf(page)).top).to.be.greaterThan(0.5)
    const asked = histories.slice(known)
    expect(asked.length).to.be.within(3, 1 + (Date.now() - sentMs) / 1_000)
    expect(asked.map(({ searchParams }) => searchParams.get('bucket'))).to.deep.equal(
      asked.map(() => 'day'),
    )
    await close()
  })

  it('has a dot at the live value at once, before its numbers are read', async () => {
    // A service worker's requests pass by the route.
    const { page, close } = await test().openSignedIn(`${LAWN}/1h`, { serviceWorkers: 'block' })
    await opened(page)
    const before = await highest(page).innerText()
    const read = Promise.withResolvers<void>()
    await page.route('**/measurements?*bucket=*', async (route) => {
      await read.promise
      await route.continue()
    })
    await test().call('POST', 'measurements', { sn: 'lawn', temp: -40 })
    await value(page).getByText('−40.00 °C').waitFor()
    const { right, bottom } = await inkOf(page)
    expect(bottom).to.be.closeTo(0.93, 0.04)
    expect(right).to.be.within(0.98, 1)
    expect(await highest(page).innerText()).to.equal(before)
    read.resolve()
    await page.locator('.readout div', { hasText: 'Lowest' }).getByText('−40.00 °C').waitFor(SOON)
    await close()
  })

  it('leaves rows of its table that have not changed to those who select them', async () => {
    const { page, close } = await test().openSignedIn(`${LAWN}/1h`)
    await opened(page)
    const rows = page.locator('tbody tr:has(td)')
    await rows.nth(30).evaluate((row) => row.setAttribute('id', 'selected'))
    await test().call('POST', 'measurements', { sn: 'lawn', temp: 12.5 })
    await rows.first().getByText('12.50').waitFor({ state: 'attached' })
    expect(await rows.nth(31).getAttribute('id')).to.equal('selected')
    await close()
  })

  for (const [device, options] of Object.entries({ phone: PHONE, desktop: DESKTOP })) {
    it(`is of the last hour of a sensor that has no more, on a ${device}`, async () => {
      const sn = `young-${device}`
      await test().call('POST', 'measurements', { sn, temp: 21.4 })
      const { page, close } = await test().openSignedIn('', options)
      await page.locator('.card', { hasText: sn }).click()
      await page.getByRole('button', { name: '1 h', pressed: true }).waitFor()
      await opened(page)
      const address = await addressOf(page)
      expect(address).to.match(/#\/sensors\/\d+$/)
      const { left, right, top, bottom } = await inkOf(page)
      expect(left).to.be.greaterThan(0.9)
      expect(right).to.be.lessThan(1)
      expect(top).to.be.greaterThan(0.4)
      expect(bottom).to.be.lessThan(0.6)
      await page.goto(`${address}/1d`)
      await page.getByRole('button', { name: '1 d', pressed: true }).waitFor()
      await opened(page)
      await page.getByRole('button', { name: '1 d', pressed: true }).waitFor()
      await close()
    })
  }
})
