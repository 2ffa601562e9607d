// Goal: what is above a chart has room on a phone, and leaves the chart where it is. Method: a real
// browser, with a freezer, a kiln and a buoy of 2017, whose names, numbers and dates are wide.

import { expect } from 'chai'
import { boxesOf, PHONE, useChartPage } from './chart-page.ts'

const HOUR_MS = 3_600_000

describe('a chart on a phone', () => {
  const test = useChartPage()
  const SENSORS = { freezer: -17.5, kiln: 1501.25 }

  before(async () => {
    const nowMs = Date.now()
    const agosMs = Array.from({ length: 160 }, (_, at) => (at ** 2 * HOUR_MS) / 4)
    const measurements = Object.entries(SENSORS).flatMap(([sn, temp]) =>
      agosMs.map((agoMs, at) => {
        const timestamp = new Date(nowMs - agoMs - 1).toISOString()
        return { sn, temp: temp - (at % 7) / 7, timestamp }
      }),
    )
    await test().call('POST', 'measurements/batch', { measurements })
    const buoy = { sn: 'buoy', temp: 4, timestamp: '2017-03-22T00:00:00Z' }
    await test().call('POST', 'measurements', buoy)
    await test().call('PATCH', 'sensors/5', { alias: 'The buoy', compensation: -0.4 })
  })

  for (const locale of ['en-GB', 'en-US']) {
    it(`has its numbers in one row, and stays where it is, in ${locale}`, async () => {
      for (const id of [3, 4]) {
        const { page, close } = await test().openSignedIn(`#/sensors/${id}/1h`, {
          ...PHONE,
          locale,
        })
        const places = new Set<string>()
        for (const name of ['1 h', '1 d', '1 w', '1 mo', '1 y']) {
          await page.getByRole('button', { name }).tap()
          await page.locator('.drawing[aria-busy=false]').waitFor()
          await page.locator('.readout dd', { hasText: '°' }).first().waitFor()
          const boxes = await boxesOf(page, '.readout dt, .drawing')
          expect(boxes).to.have.length(5)
          places.add([...new Set(boxes.map(({ top }) => Math.round(top)))].join())
        }
        expect([...places]).to.have.length(1)
        expect([...places].join().split(',')).to.have.length(2)
        expect(await page.evaluate(() => document.body.scrollWidth)).to.equal(390)
        await close()
      }
    })
  }

  it('has a name beside which there is only the value', async () => {
    const { page, close } = await test().openSignedIn('#/sensors/5/1d', PHONE)
    const [name, value, state] = await Promise.all(
      ['h1', '.value', '.state'].map(async (part) => {
        await page.locator(part, { hasText: /./ }).waitFor()
        return (await page.locator(part).boundingBox()) ?? { x: 0, y: 0, height: 0 }
      }),
    )
    expect(name?.height).to.equal(36)
    const zone = page.locator('.zone', { hasText: 'Europe/Berlin' })
    expect(await zone.evaluate((it) => it.scrollWidth - it.clientWidth)).to.equal(0)
    expect(value?.y).to.equal(name?.y)
    expect(state?.x).to.equal(name?.x)
    expect(state?.y).to.be.within((name?.y ?? 0) + 36, (name?.y ?? 0) + 40)
    await close()
  })
})
