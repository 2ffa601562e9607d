// Goal: several sensors on one chart, each with its own line and value, chosen in the view and kept
// in the URL. Method: a real browser; the colours as people with a colour deficiency see them.

import { readFile } from 'node:fs/promises'
import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { until } from '../support/until.ts'
import { boxesOf, DESKTOP, untilRead, useChartPage, PHONE } from './chart-page.ts'

const PHONE_SIZE = [390, 844] as const

describe('a comparison of sensors', () => {
  const test = useChartPage()

  before(async () => {
    const nowMs = Date.now()
    const measurements = ['shed', 'loft', 'well', 'gh', 'fridge', 'stove'].flatMap((sn, at) =>
      Array.from({ length: 60 }, (_, step) => ({
        sn,
        temp: 10 * (at + 2),
        timestamp: new Date(nowMs - (step + 1) * 20 * 60_000).toISOString(),
      })),
    )
    await test().call('POST', 'measurements/batch', { measurements })
    await test().call('PATCH', 'sensors/6', { alias: 'Greenhouse behind the shed' })
    await test().call('PATCH', 'sensors/7', { alias: 'Fridge in the holiday flat' })
  })

  const values = (page: Page) => page.locator('.legend-value').allInnerTexts()

  const tap = (page: Page, name: string) => page.getByRole('button', { name }).click()

  /** How far down each of the lines 1 to 3 is in a narrow part of the chart, if it is there. */
  const linesAt = (page: Page, share: number) =>
    page.locator('.uplot canvas').evaluate((canvas: HTMLCanvasElement, part) => {
      const pen = canvas.getContext('2d')
      const [left, width] = [canvas.width * part, Math.floor(canvas.width / 30)]
      const { data = [] } = pen?.getImageData(left, 0, width, canvas.height - 60) ?? {}
      const placeOf = (red: number, green: number, blue: number) => {
        const place = data.findIndex((_, at) => {
          return at % 4 === 0 && data[at] === red && data[at + 1] === green && data[at + 2] === blue
        })
        return place === -1 ? undefined : place / 4 / width / canvas.height
      }
      return [placeOf(10, 108, 140), placeOf(201, 78, 0), placeOf(134, 95, 208)]
    }, share)

  /** Which of the lines 1 to 3 are drawn. */
  const drawn = async (page: Page) => {
    return (await linesAt(page, 0.7)).flatMap((place, at) => (place === undefined ? [] : [at + 1]))
  }

  it('begins at a sensor, and others are added and removed', async () => {
    const { page, close, histories } = await test().openSignedIn('#/sensors/3/1d', PHONE)
    await page.getByRole('link', { name: 'Compare' }).click()
    await page.waitForURL(/#\/compare\/3\/1d$/)
    await page.getByRole('searchbox', { name: 'Add a sensor' }).fill('loft')
    await page.getByRole('button', { name: 'loft' }).click()
    await page.waitForURL(/#\/compare\/3,4\/1d$/)
    await page.getByText('30.00 °C').first().waitFor()
    expect(await values(page)).to.deep.equal(['20.00 °C', '30.00 °C'])
    expect(histories.at(-1)?.searchParams.get('sensors')).to.equal('3,4')
    await page.getByRole('button', { name: '1 w' }).click()
    await page.waitForURL(/#\/compare\/3,4\/1w$/)
    await tap(page, 'Edit')
    await tap(page, 'Remove shed')
    await page.waitForURL(/#\/compare\/4\/1w$/)
    // Somebody who removes one may remove more.
    await page.getByRole('link', { name: 'Open loft' }).waitFor()
    await page.goBack()
    await page.waitForURL(/#\/sensors\/3\/1d$/)
    await close()
  })

  it('reads out every sensor at one cursor', async () => {
    const { page, close } = await test().openSignedIn('#/compare/1,3,5/1d')
    await page.getByText('40.00 °C').first().waitFor()
    const box = await page.locator('.u-over').boundingBox()
    if (box === null) throw new Error('no chart')
    // Cellar has no data there, and no line.
    expect(await drawn(page)).to.deep.equal([2, 3])
    expect((await linesAt(page, 0.3))[0]).to.be.greaterThan(0)
    await page.getByText('Mean, and lowest to highest').waitFor()
    await page.mouse.move(box.x + box.width * 0.7, box.y + 50)
    expect(await values(page)).to.deep.equal(['No data', '20.00 °C', '40.00 °C'])
    await page.getByText('Mean', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Table' }).click()
    await page.getByRole('columnheader', { name: 'well' }).waitFor()
    await page.getByText('Comparison in °C, newest first, times in Europe/Berlin').waitFor()
    const heads = await page.locator('thead th').allInnerTexts()
    expect(heads).to.deep.equal(['Time', 'Cellar', 'shed', 'well'])
    await close()
  })

  it('hides a line at a tap, shows it alone at the next, and then all again', async () => {
    const { page, close } = await test().openSignedIn('#/compare/3,4,5/1d')
    await page.getByText('40.00 °C').first().waitFor()
    const [, before = 0, top = 0] = await linesAt(page, 0.7)
    await tap(page, 'Hide well')
    const [first, second, third] = await linesAt(page, 0.7)
    expect(third).to.equal(undefined)
    // The scale fits those that are left.
    expect(second).to.be.closeTo(top, 0.05)
    expect(first).to.be.greaterThan(before)
    expect(await values(page)).to.deep.equal(['20.00 °C', '30.00 °C', '40.00 °C'])
    await page.getByRole('button', { name: 'Show only well' }).press('Enter')
    expect(await drawn(page)).to.deep.equal([3])
    await page.getByRole('button', { name: 'Show all, not only well' }).press('Space')
    expect(await drawn(page)).to.deep.equal([1, 2, 3])
    await close()
  })

  it('keeps a line hidden in other periods, with new data, and beside other sensors', async () => {
    const { page, close } = await test().openSignedIn('#/compare/3,4,5/1d')
    await tap(page, 'Hide loft')
    await tap(page, '1 w')
    await page.locator('.drawing[aria-busy=false]').waitFor()
    await test().call('POST', 'measurements', { sn: 'loft', temp: 31 })
    await page.getByText('30.00 to 31.00 °C').waitFor()
    expect(await linesAt(page, 0.95)).to.have.property('1', undefined)
    await page.getByRole('searchbox', { name: 'Add a sensor' }).fill('stove')
    await tap(page, 'stove')
    await page.waitForURL(/#\/compare\/3,4,5,8\/1w$/)
    await page.getByRole('button', { name: 'Show only loft' }).waitFor()
    for (const name of ['shed', 'well', 'stove']) await tap(page, `Remove ${name}`)
    // Nothing would be left to see.
    await page.waitForURL(/#\/compare\/4\/1w$/)
    // Its numbers were there before.
    await until('it is drawn alone', async () => {
      const [loft = 0] = await linesAt(page, 0.95)
      return loft > 0
    })
    await page.getByText('30.00 to 31.00 °C').waitFor()
    await close()
  })

  it('has eight sensors and their chart on the screen of a phone', async () => {
    const { page, close } = await test().openSignedIn('#/compare/1,2,3,4,5,6,7,8/1d', PHONE)
    for (const [width, height] of [PHONE_SIZE, PHONE_SIZE.toReversed()]) {
      await page.setViewportSize({ width, height })
      await page.getByText('70.00 °C').first().waitFor()
      const [bottom, touched] = await page.evaluate(() => {
        const boxes = [...document.querySelectorAll('.legend-line')].map((line) =>
          line.getBoundingClientRect(),
        )
        const chart = document.querySelector('.drawing')?.getBoundingClientRect()
        return [chart?.bottom, Math.min(...boxes.map((box) => box.height))]
      })
      expect(bottom).to.be.within(height * 0.7, height)
      expect(touched).to.be.at.least(44)
    }
    // A desktop has room for the buttons below it, too.
    await page.setViewportSize(DESKTOP.viewport)
    await until('all is on the screen', async () => {
      const [steps] = await boxesOf(page, '.steps')
      return (steps?.bottom ?? Infinity) < DESKTOP.viewport.height
    })
    await page.setViewportSize(PHONE.viewport)
    await tap(page, 'Edit')
    await page.getByRole('button', { name: 'Remove stove' }).waitFor()
    await page.getByRole('link', { name: 'Open Fridge' }).click()
    await page.waitForURL(/#\/sensors\/7$/)
    await close()
  })

  it('shows new measurements, and goes on without a sensor that is deleted', async () => {
    const { page, close, histories } = await test().openSignedIn('#/compare/3,5/1h')
    await page.getByText('Live').waitFor()
    await page.getByText('20.00 °C').first().waitFor()
    await test().call('POST', 'measurements', { sn: 'shed', temp: 55 })
    await page.getByText('to 55.00 °C').waitFor()
    await page.locator('.u-over').hover()
    await page.getByText('Value', { exact: true }).waitFor()
    // Otherwise it may ask for a sensor that is just going.
    await untilRead({ page, histories })
    await test().remove('sensors/5')
    await page.waitForURL(/#\/compare\/3\/1h$/)
    await close()
  })

  it('has lines that are told apart on its ground, of one hue in both themes', async () => {
    const [chart, page] = await Promise.all(
      ['chart', 'page'].map((name) =>
        readFile(new URL(`../../src/web/${name}.css`, import.meta.url), 'utf8'),
      ),
    )
    const colors = (css = '', name = '') =>
      [...css.matchAll(new RegExp(`--${name}: light-dark\\((#\\w+), (#\\w+)\\)`, 'g'))].map(
        ([, light = '', dark = '']) => [linear(light), linear(dark)] as const,
      )
    const both = colors(chart, 'line-\\d')
    const [grounds] = colors(page, 'surface')
    expect(both).to.have.length(8)
    for (const mode of [0, 1] as const) {
      const lines = both.map((line) => line[mode])
      for (const [at, line] of lines.entries()) {
        expect(contrast(line, grounds?.[mode] ?? [])).to.be.greaterThan(4.5)
        for (const other of lines.slice(0, at)) {
          expect(leastDistance(line, other)).to.be.greaterThan(0.1)
        }
      }
    }
    const greys = both.filter((line) => line.every((color) => hueOf(color) === undefined))
    expect(greys).to.have.length(1)
    for (const [light, dark] of both.filter((line) => !greys.includes(line))) {
      const turn = Math.abs((hueOf(light) ?? NaN) - (hueOf(dark) ?? NaN))
      expect(Math.min(turn, 360 - turn)).to.be.lessThan(20)
    }
  })
})

/** Machado, Oliveira and Fernandes 2009, at full severity. */
const SIGHTS = {
  usual: [1, 0, 0, 0, 1, 0, 0, 0, 1],
  protanopia: [
    0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998,
  ],
  deuteranopia: [
    0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.01182, 0.04294, 0.968881,
  ],
  tritanopia: [
    1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.3039,
  ],
}

function linear(hex: string): number[] {
  return [1, 3, 5].map((at) => {
    const part = Number.parseInt(hex.slice(at, at + 2), 16) / 255
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  })
}

function times(matrix: readonly number[], color: readonly number[]): number[] {
  return [0, 3, 6].map((row) =>
    color.reduce((sum, part, at) => sum + part * (matrix[row + at] ?? 0), 0),
  )
}

/** In Oklab, where distances are what people see. */
function seenAs(color: readonly number[], sight: readonly number[]): number[] {
  const seen = times(sight, color).map((part) => Math.min(1, Math.max(0, part)))
  const cones = times(
    [
      0.4122214708, 0.5363325363, 0.0514459929, 0.2119034982, 0.6806995451, 0.1073969566,
      0.0883024619, 0.2817188376, 0.6299787005,
    ],
    seen,
  )
  return times(
    [
      0.2104542553, 0.793617785, -0.0040720468, 1.9779984951, -2.428592205, 0.4505937099,
      0.0259040371, 0.7827717662, -0.808675766,
    ],
    cones.map(Math.cbrt),
  )
}

/** In degrees; greys have none. */
function hueOf(color: readonly number[]): number | undefined {
  const [, a = 0, b = 0] = seenAs(color, SIGHTS.usual)
  return Math.hypot(a, b) < 0.02 ? undefined : (Math.atan2(b, a) * 180) / Math.PI
}

/** In the eyes of those to whom they are most alike. */
function leastDistance(one: readonly number[], other: readonly number[]): number {
  const sights = Object.values(SIGHTS)
  return Math.min(...sights.map((sight) => distance(seenAs(one, sight), seenAs(other, sight))))
}

function distance(one: readonly number[], other: readonly number[]): number {
  return Math.hypot(...one.map((part, at) => part - (other[at] ?? 0)))
}

function contrast(one: readonly number[], other: readonly number[]): number {
  const [light = 0, dark = 0] = [one, other]
    .map(([red = 0, green = 0, blue = 0]) => 0.2126 * red + 0.7152 * green + 0.0722 * blue)
    .sort((a, b) => b - a)
  return (light + 0.05) / (dark + 0.05)
}
