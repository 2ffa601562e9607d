// Goal: owners rename and calibrate a sensor on its page, and see before they save what it does;
// and a chart that was cut off from the service is right again when it is back. Method: a real
// browser.

import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { addressOf, boxesOf, ChartPageTest, PHONE, useChartPage } from './chart-page.ts'
import { useChromium } from '../support/chromium.ts'

const HOUR_MS = 3_600_000

const numbers = (page: Page) => page.locator('.readout dd', { hasText: '°' }).first().waitFor()
/** It comes apart from those of the chart. */
const latest = (page: Page) => page.locator('.value', { hasText: '°' }).waitFor()

/** How high elements are, each height once. */
const topsOf = async (page: Page, selector: string) => {
  const boxes = await boxesOf(page, selector)
  return [...new Set(boxes.map(({ top }) => Math.round(top)))]
}

describe('a sensor on the chart page', () => {
  const test = useChartPage()

  it('is renamed and calibrated by its owner, who sees before what that does', async () => {
    const { page, close } = await test().openSignedIn('#/sensors/1/1d', PHONE)
    await numbers(page)
    await latest(page)
    const highest = page.locator('.readout div', { hasText: 'Highest' }).locator('dd').first()
    // A phone has room for all numbers in one row, and for the buttons beside each other.
    expect(await topsOf(page, '.readout dt')).to.have.length(1)
    const value = page.locator('.value')
    const cells = page.locator('tbody td')
    const before = Number.parseFloat(await highest.innerText())
    const now = Number.parseFloat(await value.innerText())
    await page.getByRole('button', { name: 'Edit' }).tap()
    await page.getByLabel('Name').fill('Attic')
    expect(await topsOf(page, '.edit button')).to.have.length(1)
    await page.getByText('Another sensor has this name.').waitFor()
    await page.getByLabel('Name').fill('Wine')
    await page.getByLabel('Compensation').fill('1.6')
    await page.getByText(/ °C becomes 1\d\.\d\d °C\. Dashed: current values\./).waitFor()
    // Every number is that of the compensation that is tried out.
    const after = [before + 2, now + 2].map((celsius) => `${celsius.toFixed(2)} °C`)
    await highest.getByText(after[0] ?? '').waitFor()
    expect(await value.innerText()).to.equal(after[1])
    expect(await page.locator('.details').first().innerText()).to.match(/compensation \+1\.6 °C/)
    await cells
      .getByText((before + 2).toFixed(2))
      .first()
      .waitFor({ state: 'attached' })
    const save = page.getByText('Download CSV')
    expect(await save.isDisabled()).to.equal(true)
    await page.getByLabel('Compensation').fill('-0.4')
    await highest.getByText(`${before.toFixed(2)} °C`).waitFor()
    expect(await value.innerText()).to.equal(`${now.toFixed(2)} °C`)
    await cells.getByText(before.toFixed(2)).first().waitFor({ state: 'attached' })
    expect(await save.isDisabled()).to.equal(false)
    await page.getByLabel('Compensation').fill('1.6')
    await page.getByRole('button', { name: 'Save' }).tap()
    await page.getByRole('heading', { name: 'Wine' }).waitFor()
    await page.getByText('compensation +1.6 °C').waitFor()
    await highest.getByText(`${(before + 2).toFixed(2)} °C`).waitFor()
    await test().call('PATCH', 'sensors/1', { alias: 'Cellar', compensation: -0.4 })
    await close()
  })

  for (const [button, name] of Object.entries({ Edit: 'Edit sensor', Dates: 'Dates' })) {
    it(`has a form for a phone: ${name}`, async () => {
      const { page, close } = await test().openSignedIn('#/sensors/1/1d', PHONE)
      await numbers(page)
      await page.getByRole('button', { name: button }).tap()
      const form = page.getByRole('form', { name })
      const fields = form.locator('input')
      await fields.first().waitFor()
      const ends = await fields.evaluateAll((inputs) =>
        inputs.map((input) => {
          const { left, right, bottom } = input.getBoundingClientRect()
          return { width: right - left, bottom }
        }),
      )
      expect(ends.map(({ width }) => width > 340)).to.deep.equal([true, true])
      const tops = await topsOf(page, 'form:not([hidden]) button')
      expect(tops).to.have.length(1)
      expect(tops[0]).to.be.greaterThan(Math.max(...ends.map(({ bottom }) => bottom)))
      // It is a button to the eye: it has another ground than the form.
      const main = form.getByRole('button').first()
      expect(await main.evaluate((it) => getComputedStyle(it).backgroundColor)).to.equal(
        'rgb(10, 108, 140)',
      )
      await close()
    })
  }

  it('stays as it is when that is cancelled or refused', async () => {
    const { page, context } = await test().openSignedIn('#/sensors/1/1d')
    await numbers(page)
    await page.getByRole('button', { name: 'Edit' }).click()
    await page.getByLabel('Compensation').fill('9')
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByText('compensation −0.4 °C').waitFor()
    await page.getByRole('button', { name: 'Edit' }).click()
    await page.getByLabel('Name').fill('x')
    await context.setOffline(true)
    await page.getByRole('button', { name: 'Save' }).click()
    const fault = page.getByText('You are offline. Nothing has been changed.')
    await fault.waitFor()
    await page.getByLabel('Name').fill('y')
    await fault.waitFor({ state: 'hidden' })
    await context.close()
    test().problems.length = 0
  })

  it('keeps what is typed until one agrees to lose it, and asks only then', async () => {
    const { page, close } = await test().openSignedIn('#/sensors/1/1d')
    await numbers(page)
    const toSensors = page.getByRole('link', { name: 'Sensors' })
    const name = page.getByLabel('Name')
    const question = page.getByText('Leave without saving what you typed?')
    await page.getByRole('button', { name: 'Edit' }).click()
    await name.fill('Wine')
    await toSensors.click()
    await question.waitFor()
    expect(await addressOf(page)).to.equal(`${test().url}#/sensors/1/1d`)
    await page.getByRole('group', { name: 'Question' }).getByText('Cancel').click()
    await page.goBack()
    await question.waitFor()
    const asked = page.waitForEvent('dialog')
    const closing = page.evaluate(() => location.reload())
    await (await asked).dismiss()
    await closing
    expect(await name.inputValue()).to.equal('Wine')
    await page.getByRole('button', { name: 'Leave' }).click()
    await page.locator('.card', { hasText: 'Cellar' }).click()
    await page.getByRole('button', { name: 'Edit' }).click()
    await name.fill('Wine')
    await name.fill('Cellar')
    await toSensors.click()
    await page.locator('.card', { hasText: 'Cellar' }).waitFor()
    await close()
  })

  it('has its new name and numbers as soon as they are saved, without a live event', async () => {
    // A service worker's requests pass by the route.
    const { page, close } = await test().openSignedIn('healthz', { serviceWorkers: 'block' })
    const { promise: end, resolve } = Promise.withResolvers<void>()
    await page.route('**/events', async (route) => {
      await end
      await route.abort()
    })
    await page.goto(`${test().url}#/sensors/1/1d`)
    await numbers(page)
    await latest(page)
    const now = Number.parseFloat(await page.locator('.value').innerText())
    const mean = Number.parseFloat(await page.locator('.readout dd').first().innerText())
    await page.getByRole('button', { name: 'Edit' }).click()
    await page.getByLabel('Name').fill('Wine')
    await page.getByLabel('Compensation').fill('9.6')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('heading', { name: 'Wine' }).waitFor()
    await page.locator('.value', { hasText: `${(now + 10).toFixed(2)} °C` }).waitFor()
    await page.locator('.readout', { hasText: `${(mean + 10).toFixed(2)} °C` }).waitFor()
    resolve()
    await test().call('PATCH', 'sensors/1', { alias: 'Cellar', compensation: -0.4 })
    await close()
    test().problems.length = 0
  })

  it('can be edited as soon as it is known, which may be after its chart', async () => {
    // A service worker's requests pass by the route.
    const { page, close } = await test().openSignedIn('healthz', { serviceWorkers: 'block' })
    const known = Promise.withResolvers<void>()
    await page.route('**/changes', async (route) => {
      await known.promise
      await route.continue()
    })
    await page.goto(`${test().url}#/sensors/1/1d`)
    await numbers(page)
    const edit = page.getByRole('button', { name: 'Edit' })
    expect(await edit.isDisabled()).to.equal(true)
    known.resolve()
    await edit.click()
    await page.getByLabel('Name').fill('Wine')
    expect(await edit.isDisabled()).to.equal(true)
    await page.getByRole('button', { name: 'Cancel' }).click()
    expect(await edit.isEnabled()).to.equal(true)
    await close()
  })

  it('has a chart that is right again after a break of the connection', async () => {
    const { page, context } = await test().openSignedIn('#/sensors/1/1d')
    await numbers(page)
    await page.getByText('Live').waitFor()
    await context.setOffline(true)
    await page.getByText(/^Offline/).waitFor()
    const timestamp = new Date(Date.now() - 7 * HOUR_MS).toISOString()
    await test().call('POST', 'measurements', { sn: 'cellar', temp: 61.4, timestamp })
    await context.setOffline(false)
    await page.locator('.readout div', { hasText: 'Highest' }).getByText('61.00 °C').waitFor()
    await context.close()
    test().problems.length = 0
  })

  it('has a chart that is right when live events begin only later', async () => {
    const { page, close } = await test().openSignedIn()
    await page.route('**/events', (route) => route.fulfill({ status: 503, json: {} }))
    await page.goto(`${test().url}#/sensors/1/1d`)
    await page.reload()
    await numbers(page)
    await page.getByText('Every 30 s').waitFor()
    const timestamp = new Date(Date.now() - 6 * HOUR_MS).toISOString()
    await test().call('POST', 'measurements', { sn: 'cellar', temp: 71.4, timestamp })
    await page.unroute('**/events')
    await page.evaluate(() => globalThis.dispatchEvent(new Event('online')))
    await page.locator('.readout div', { hasText: 'Highest' }).getByText('71.00 °C').waitFor()
    await close()
    test().problems.length = 0
  })
})

describe('a sensor on the chart page without edits', () => {
  const browser = useChromium()

  it('says that the operator does not allow changes', async () => {
    const test = await ChartPageTest.start(browser(), { MOBILE_EDITS: 'false' })
    const { page, close } = await test.openSignedIn('#/sensors/1/1d')
    await numbers(page)
    await page.getByRole('button', { name: 'Edit' }).click()
    await page.getByLabel('Name').fill('Wine')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('The operator of this service does not allow changes here.').waitFor()
    await close()
    await test.stop()
  })
})
