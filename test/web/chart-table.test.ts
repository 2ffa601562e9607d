// Goal: the table of a chart is seen when it is opened, and read on every screen and by those who
// listen. Method: a real browser, with a kiln, whose numbers are wide, and many sensors.

import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { boxesOf, DESKTOP, PHONE, useChartPage } from './chart-page.ts'

const MINUTE_MS = 60_000

describe('the table of a chart', () => {
  const test = useChartPage()
  const KILN = '#/sensors/3'

  before(async () => {
    const nowMs = Date.now()
    const reading = (sn: string, temp: number, agoMs: number) => ({
      sn,
      temp,
      timestamp: new Date(nowMs - agoMs).toISOString(),
    })
    const kiln = Array.from({ length: 400 }, (_, at) =>
      reading('kiln', 1501.25 - at / 100, at * 30 * MINUTE_MS),
    )
    const others = Array.from({ length: 7 }, (_, at) => reading(`sensor-${at}`, at, MINUTE_MS))
    await test().call('POST', 'measurements/batch', { measurements: [...kiln, ...others] })
  })

  const table = (page: Page) => page.getByRole('region', { name: 'Table' })

  async function openTable(page: Page): Promise<void> {
    await page.locator('.readout dd, .legend-value', { hasText: '°' }).first().waitFor()
    await page.getByRole('button', { name: 'Table' }).click()
    await table(page).getByRole('rowheader').first().waitFor()
  }

  /** By how much the table is wider than its place. */
  const hiddenPx = (page: Page) =>
    table(page).evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)

  for (const [device, options] of Object.entries({ phone: PHONE, desktop: DESKTOP })) {
    it(`comes into sight below the bar when it is opened, on a ${device}`, async () => {
      const { page, close } = await test().openSignedIn(`${KILN}/1w`, options)
      await page.locator('.readout dd', { hasText: '°' }).first().waitFor()
      await page.getByRole('button', { name: 'Full screen' }).click()
      await openTable(page)
      await page.waitForFunction(() => scrollY > 0)
      const [bar, place] = await Promise.all(
        [page.locator('.bar'), table(page)].map((it) => it.boundingBox()),
      )
      const belowPx = (place?.y ?? Infinity) - (bar?.y ?? 0) - (bar?.height ?? 0)
      expect(belowPx).to.be.within(0, 60)
      // Not while somebody reads what is above: only when it is opened.
      await page.evaluate(() => scrollTo(0, 0))
      await page.getByRole('button', { name: '1 d' }).click()
      await table(page)
        .getByText(/^1 to (?:48|49) of/)
        .waitFor()
      expect(await page.evaluate(() => scrollY)).to.equal(0)
      await close()
    })
  }

  for (const [locale, unit] of Object.entries({ 'en-GB': 'C', 'en-US': 'F' })) {
    it(`is whole on a phone, in °${unit}`, async () => {
      const { page, close } = await test().openSignedIn(`${KILN}/1w`, { ...PHONE, locale })
      await openTable(page)
      for (const name of ['1 w', '1 y', '1 h']) {
        await page.getByRole('button', { name }).tap()
        const head = name === '1 h' ? `Value °${unit}` : `Highest °${unit}`
        await page.getByRole('columnheader', { name: head }).waitFor()
        expect(await hiddenPx(page)).to.equal(0)
      }
      await close()
    })
  }

  it('has the day above its rows, and in each for those who listen', async () => {
    const { page, close } = await test().openSignedIn(`${KILN}/1w`)
    await openTable(page)
    const groups = await groupsOf(page)
    expect(groups).to.have.lengthOf.within(7, 8)
    for (const { head, rows } of groups) {
      expect(head).to.match(/^(?:Sun|Mon|Tue|Wed|Thu|Fri|Sat), \d+ \w{3}(?: \d{4})?$/)
      for (const row of rows) expect(row.replace(head, '')).to.match(/^, \d\d:\d\d–\d\d:\d\d$/)
    }
    expect(groups[1]?.rows).to.have.lengthOf.within(46, 50)
    expect(groups[1]?.rows.at(-1)).to.match(/, 00:\d\d–00:\d\d$/)
    await page.getByRole('button', { name: '1 y' }).click()
    await page
      .getByRole('rowheader', { name: /^\w+ 20\d\d, \w{3}, \d+ \w{3}$/ })
      .first()
      .waitFor()
    for (const { head } of await groupsOf(page)) expect(head).to.match(/^\w+ 20\d\d$/)
    await close()
  })

  const groupsOf = (page: Page) =>
    page.locator('tbody').evaluateAll((bodies) =>
      bodies.map((body) => ({
        head: body.querySelector('[scope=rowgroup]')?.textContent ?? '',
        rows: [...body.querySelectorAll('[scope=row]')].map((row) => row.textContent),
      })),
    )

  it('keeps the times and days in sight while many sensors are moved', async () => {
    const { page, close } = await test().openSignedIn('#/compare/1,3,4,5,6,7,8,9/1d', PHONE)
    await openTable(page)
    expect(await hiddenPx(page)).to.be.greaterThan(100)
    const lefts = async () => {
      const boxes = await boxesOf(page, '[scope=rowgroup] span, [scope=row], td')
      return boxes.slice(0, 3).map(({ left }) => left)
    }
    const [day, time, number = 0] = await lefts()
    await table(page).evaluate((place) => place.scrollTo(100, 0))
    expect(await lefts()).to.deep.equal([day, time, number - 100])
    expect(await page.evaluate(() => document.body.scrollWidth)).to.equal(390)
    await close()
  })
})
