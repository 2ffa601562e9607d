// Goal: what a chart says is true of what it shows: labels, numbers, dates, gaps, the table, and
// what there is not. Method: a real browser, with sensors of its own: a freezer and a buoy of 2017.

import { readFile } from 'node:fs/promises'
import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { addressOf, untilRead, useChartPage, DESKTOP, PHONE } from './chart-page.ts'

const LANDSCAPE = { viewport: { width: 844, height: 390 }, hasTouch: true, isMobile: true }

describe('what a chart says', () => {
  const test = useChartPage()
  const FREEZER = '#/sensors/3'
  const BUOY = '#/sensors/4'

  before(async () => {
    const nowMs = Date.now()
    const freezer = Array.from({ length: 400 }, (_, at) => ({
      sn: 'freezer',
      temp: -18.97 + (at % 10) / 7,
      timestamp: new Date(nowMs - at * 5_000).toISOString(),
    }))
    const buoy = [20, 21, 22].map((hour) => ({
      sn: 'buoy',
      temp: 4,
      timestamp: `2017-03-21T${hour}:00:00Z`,
    }))
    await test().call('POST', 'measurements/batch', { measurements: [...freezer, ...buoy] })
  })

  const numbers = (page: Page) => page.locator('.readout dd', { hasText: '°' }).first().waitFor()

  /** Where the drawing has ink at its very edge: a label that is cut off. */
  const cutLabels = (page: Page) =>
    page.locator('.uplot canvas').evaluate((canvas: HTMLCanvasElement) => {
      const pen = canvas.getContext('2d')
      return [0, canvas.width - 1].filter((x) => {
        const { data } = pen?.getImageData(x, 0, 1, canvas.height) ?? { data: [] }
        return data.some((part) => part > 0)
      })
    })

  /** Whether there are labels left of the plot, and how many lines across it. */
  const inkOfTemperatures = (page: Page) =>
    page.locator('.uplot canvas').evaluate((canvas: HTMLCanvasElement) => {
      const over = document.querySelector<HTMLElement>('.u-over')
      const pen = canvas.getContext('2d')
      if (over === null || pen === null) throw new Error('no chart')
      const scale = canvas.width / canvas.clientWidth
      const [left, right] = [over.offsetLeft, over.offsetLeft + over.offsetWidth].map(
        (x) => x * scale,
      )
      const bottom = (over.offsetTop + over.offsetHeight) * scale
      const hasInk = (x: number, y: number, width: number, height: number) =>
        pen.getImageData(x, y, width, height).data.some((part) => part > 0)
      const isLine = (y: number) =>
        Array.from(
          { length: 9 },
          (_, at) => (left ?? 0) + (at + 0.5) * (((right ?? 0) - (left ?? 0)) / 9),
        ).every((x) => hasInk(x, y, 1, 1))
      const rows = Array.from({ length: Math.floor(bottom) }, (_, y) => isLine(y))
      const lines = rows.filter((is, y) => is && rows[y - 1] !== true).length
      return { labels: hasInk(0, 0, (left ?? 0) - 4, bottom - 4), lines }
    })

  for (const [device, options] of Object.entries({ phone: PHONE, desktop: DESKTOP })) {
    it(`is not cut off at the axes on a ${device}`, async () => {
      const { page, close } = await test().openSignedIn(`${FREEZER}/1h`, options)
      await numbers(page)
      expect(await cutLabels(page)).to.deep.equal([])
      // Wide enough for a sign, two digits, two decimals and the degree.
      const left = await page
        .locator('.u-over')
        .evaluate((over) => (over as HTMLElement).offsetLeft)
      expect(left).to.be.greaterThan(45)
      await close()
    })
  }

  it('has the year of another year, and a way to the last data', async () => {
    const { page, close } = await test().openSignedIn(`${BUOY}/1d`)
    await page.getByText('Last reading: Tue, 21 Mar 2017, 23:00').waitFor()
    await page.getByText('Offline · Tue, 21 Mar 2017, 23:00').waitFor()
    await page.getByRole('button', { name: 'Show latest data' }).click()
    await numbers(page)
    expect(await addressOf(page)).to.match(/2017-03-20T\S+Z\/2017-03-21T\S+Z$/)
    expect(await page.locator('.range').innerText()).to.match(/2017/)
    await page.getByRole('button', { name: 'Dates' }).click()
    await page.getByRole('button', { name: 'A year earlier' }).click()
    await page.waitForURL(/2016-03-20T/)
    await close()
  })

  it('goes on to its end when another period is chosen, until somebody wants now', async () => {
    const { page, close } = await test().openSignedIn(`${BUOY}/1d`)
    await page.getByRole('button', { name: 'Show latest data' }).click()
    await page.getByRole('button', { name: '1 d', pressed: true }).waitFor()
    const end = /\/[^/]+Z$/.exec(await addressOf(page))?.[0] ?? 'none'
    for (const name of ['1 y', '1 h']) {
      await page.getByRole('button', { name }).click()
      await page.getByRole('button', { name, pressed: true }).waitFor()
      expect(await addressOf(page)).to.match(new RegExp(`${end}$`))
    }
    await page.getByRole('button', { name: 'Now' }).click()
    await page.waitForURL(/4\/1h$/)
    await page.getByRole('button', { name: '1 w' }).click()
    await page.waitForURL(/4\/1w$/)
    await close()
  })

  it('has no temperatures where there are none, and says so where you look', async () => {
    const { page, close } = await test().openSignedIn(`${BUOY}/1d`, PHONE)
    const toLast = page.getByRole('button', { name: 'Show latest data' })
    await toLast.waitFor()
    const drawing = await page.locator('.drawing').boundingBox()
    for (const part of [page.getByText('No measurements in this period.'), toLast]) {
      const { y = 0, height = 0 } = (await part.boundingBox()) ?? {}
      expect(y).to.be.greaterThan(drawing?.y ?? Infinity)
      expect(y + height).to.be.lessThan(Math.min(844, (drawing?.y ?? 0) + (drawing?.height ?? 0)))
    }
    expect(await inkOfTemperatures(page)).to.deep.equal({ labels: false, lines: 0 })
    await toLast.tap()
    await numbers(page)
    const { labels, lines } = await inkOfTemperatures(page)
    expect(labels).to.equal(true)
    expect(lines).to.be.greaterThan(1)
    await close()
  })

  it('shows the days that somebody chooses', async () => {
    const { page, close } = await test().openSignedIn(`${BUOY}/1d`, PHONE)
    await page.getByRole('button', { name: 'Dates' }).tap()
    await page.getByLabel('From').fill('2017-03-21T00:00')
    // Time goes on meanwhile, and the sensor sends.
    await page.getByText('Live').waitFor()
    await page.locator('h1').focus()
    const timestamp = new Date(Date.now() - 60_000).toISOString()
    await test().call('POST', 'measurements', { sn: 'buoy', temp: 6, timestamp })
    await page.locator('.value', { hasText: '6.00 °C' }).waitFor()
    expect(await page.getByLabel('From').inputValue()).to.equal('2017-03-21T00:00')
    await page.getByLabel('To', { exact: true }).fill('2017-03-20T00:00')
    await page.getByRole('button', { name: 'Show', exact: true }).tap()
    await page.getByText('The end must be after the start.').waitFor()
    await page.getByLabel('To', { exact: true }).fill('2017-03-22T00:00')
    await page.getByRole('button', { name: 'Show', exact: true }).tap()
    await numbers(page)
    expect(await addressOf(page)).to.match(/2017-03-20T23:00:00Z\/2017-03-21T23:00:00Z$/)
    await page.getByRole('button', { name: 'Next' }).tap()
    await page.waitForURL(/2017-03-21T23:00:00Z\/2017-03-22T23:00:00Z$/)
    await close()
  })

  it('is when the lowest and the highest were, as finely as that is known', async () => {
    const { page, close } = await test().openSignedIn(`${FREEZER}/1h`)
    // Under the mean there may be another mean.
    const times = page.locator('.readout div', { hasText: /Lowest|Highest/ }).locator('.when')
    await times.first().waitFor()
    for (const time of await times.allInnerTexts()) {
      expect(time).to.match(/^\d{1,2} \w+, \d\d:\d\d:\d\d$/)
    }
    await page.getByRole('button', { name: '1 w' }).click()
    await times.filter({ hasText: '–' }).first().waitFor()
    const rows = page.locator('tbody th', { hasText: '–' })
    await rows.first().waitFor({ state: 'attached' })
    const buckets = await rows.allTextContents()
    const known = buckets.map((bucket) => bucket.replace(/^\w+, /, ''))
    expect(known).to.include.members(await times.allInnerTexts())
    await close()
  })

  it('is that there is no data where the cursor is in a gap', async () => {
    const { page, close } = await test().openSignedIn('#/sensors/1/1d')
    await numbers(page)
    const box = await page.locator('.u-over').boundingBox()
    if (box === null) throw new Error('no chart')
    await page.mouse.move(box.x + box.width * 0.7, box.y + 50)
    expect(await page.locator('.readout').innerText()).to.match(/^No data/)
    const moment = /\d\d:\d\d:\d\d\nEurope\/Berlin$/
    expect(await page.locator('.range').innerText()).to.match(moment)
    await page.mouse.move(box.x + box.width * 0.3, box.y + 50)
    expect(await page.locator('.readout').innerText()).to.match(/^Mean/)
    await close()
  })

  it('is not the numbers of another period', async () => {
    const { page, context } = await test().openSignedIn(`${FREEZER}/1h`)
    await numbers(page)
    await context.setOffline(true)
    await page.getByRole('button', { name: '1 y' }).click()
    await page.getByText('this period is not saved on this device').waitFor()
    expect(await page.locator('.readout').innerText()).to.equal('')
    await context.close()
    test().problems.length = 0
  })

  it('is complete as a table, page by page, and as CSV', async () => {
    const nowMs = Date.now()
    for (const block of [0, 1]) {
      const measurements = Array.from({ length: 500 }, (_, at) => ({
        sn: 'dense',
        temp: 20,
        timestamp: new Date(nowMs - 600_000 - (block * 500 + at) * 2_000).toISOString(),
      }))
      await test().call('POST', 'measurements/batch', { measurements })
    }
    const { page, close } = await test().openSignedIn('#/sensors/5/1h')
    await numbers(page)
    await page.getByRole('button', { name: 'Table' }).click()
    await page.getByText('1 to 500 of 1,000').waitFor()
    await page.getByRole('button', { name: 'Older' }).click()
    await page.getByText('501 to 1,000 of 1,000').waitFor()
    expect(await page.locator('tbody tr:has(td)').count()).to.equal(500)
    // Every page begins with the day that its first rows are of.
    expect(await page.locator('tbody').first().locator('th').first().innerText()).to.match(
      /^\w+, \d+ \w+$/,
    )
    const saved = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Download CSV' }).click()
    const download = await saved
    expect(download.suggestedFilename()).to.equal('dense.csv')
    const lines = (await readFile(await download.path(), 'utf8')).trim().split('\r\n')
    expect(lines).to.have.length(1_001)
    expect(lines[0]).to.equal('sensor_id,sn,timestamp,temp')
    expect(lines[1]).to.match(/^5,dense,20\S+Z,20$/)
    await close()
  })

  it('stays at the page of the table that somebody has turned to', async () => {
    const { page, close } = await test().openSignedIn('#/sensors/5/1h')
    await numbers(page)
    await page.getByRole('button', { name: 'Table' }).click()
    await page.getByText('Live').waitFor()
    await page.getByRole('button', { name: 'Older' }).click()
    const newer = page.getByRole('button', { name: 'Newer' })
    await newer.focus()
    const timestamp = new Date(Date.now() - 1_200_000).toISOString()
    const measurements = [0, 1].map((temp) => ({ sn: 'dense', temp, timestamp }))
    await test().call('POST', 'measurements/batch', { measurements })
    await page.getByText('501 to 1,000 of 1,002').waitFor()
    expect(await newer.evaluate((it) => it === document.activeElement)).to.equal(true)
    await page.getByRole('button', { name: '1 d' }).click()
    await page.getByText(/^1 to /).waitFor()
    await close()
  })

  it('is in the unit and the hours of the country, or in the unit that was chosen', async () => {
    const { page, close } = await test().openSignedIn('#/sensors/1/1d', { locale: 'en-US' })
    await numbers(page)
    await page.locator('.value', { hasText: /^[45]\d\.\d\d °F$/ }).waitFor()
    expect(await page.locator('.range').innerText()).to.match(/ \d{1,2}:\d\d\s[AP]M/)
    await page.goto(`${test().url}#/settings`)
    await page.getByRole('radio', { name: '°C' }).check()
    await page.goBack()
    await page.locator('.value', { hasText: '°C' }).waitFor()
    await page.reload()
    await page.locator('.value', { hasText: '°C' }).waitFor()
    await close()
  })

  it('is in one language, with the hours of the browser', async () => {
    const { page, close } = await test().openSignedIn('#/sensors/1/1d', { locale: 'de-DE' })
    await numbers(page)
    await page.locator('.value', { hasText: /^1\d\.\d\d °C$/ }).waitFor()
    expect(await page.locator('.range').innerText()).to.match(/^(Sun|Mon|Tue|Wed|Thu|Fri|Sat)/)
    await close()
  })

  it('fits a phone on its side, and can have all of the screen', async () => {
    const { page, close } = await test().openSignedIn('#/sensors/1/1d', LANDSCAPE)
    await numbers(page)
    const bottom = () =>
      page.locator('.drawing').evaluate((drawing) => drawing.getBoundingClientRect().bottom)
    expect(await bottom()).to.be.lessThan(390)
    await page.getByRole('button', { name: 'Full screen' }).tap()
    const height = () => page.locator('.sheet').evaluate((sheet) => sheet.clientHeight)
    expect(await height()).to.equal(390)
    await page.keyboard.press('Escape')
    expect(await height()).to.be.lessThan(390)
    await close()
  })

  it('ends when the sensor is deleted', async () => {
    await test().call('POST', 'measurements', { sn: 'passing', temp: 3 })
    const { page, close, histories } = await test().openSignedIn('#/sensors/6/1h')
    await numbers(page)
    await page.getByText('Live').waitFor()
    // Otherwise it may ask for a sensor that is just going.
    await untilRead({ page, histories })
    await test().remove('sensors/6')
    await page.getByRole('heading', { name: 'Sensor not found' }).waitFor()
    await page.locator('.sheet').waitFor({ state: 'detached' })
    await close()
  })

  it('leaves the chart in sight below a name that is long', async () => {
    await test().call('PATCH', 'sensors/4', { alias: 'Buoy of the outer harbour '.repeat(4) })
    const { page, close } = await test().openSignedIn(`${BUOY}/1d`, PHONE)
    await page.getByRole('heading', { name: 'Buoy' }).waitFor()
    const height = await page.locator('h1').evaluate((heading) => heading.clientHeight)
    expect(height).to.be.lessThan(90)
    await close()
  })
})
