// The page that shows the description of the API. Goal: it shows all of it and lets people try it,
// without a network beyond this service. Method: a real browser, whose console stays empty.

import { AxeBuilder } from '@axe-core/playwright'
import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { useChartPage } from './chart-page.ts'

describe('the page that shows the description of the API', () => {
  const test = useChartPage()
  let page: Page

  // Once for all: a slow machine needs half a minute to draw it.
  before(async () => {
    ;({ page } = await test().open('docs'))
    await page.locator('#operations-Sensors-listSensors').waitFor()
  })
  after(() => page?.context().close())

  it('shows every operation, with nothing from elsewhere', async () => {
    const description = await (await fetch(`${test().url}openapi.json`)).json()
    const operations = Object.values<object>(description.paths).flatMap(Object.keys)
    expect(await page.locator('.opblock').count()).to.equal(operations.length)
    const addresses = await page.evaluate(() =>
      performance.getEntriesByType('resource').map(({ name }) => name),
    )
    expect(addresses).to.include(`${test().url}openapi.json`)
    expect(addresses.filter((address) => !address.startsWith(test().url))).to.deep.equal([])
  })

  it('opens an operation, and asks the service when somebody tries it', async () => {
    const batch = page.locator('#operations-Measurements-submitBatch')
    await batch.locator('.opblock-summary-control').click()
    await batch.getByText('0192f3c1-7a44-7cc0-9d5e-0b1d6e1c7a55').first().waitFor()
    const health = page.locator('#operations-Operations-showHealth')
    await health.locator('.opblock-summary-control').click()
    await health.getByRole('button', { name: 'Try it out' }).click()
    await health.getByRole('button', { name: 'Execute' }).click()
    await health.locator('.live-responses-table .response-col_status').last().waitFor()
    const answer = await health.locator('.live-responses-table').textContent()
    expect(answer).to.include('"status": "ok"')
  })

  it('is dark where the system is, and legible', async () => {
    await page.emulateMedia({ colorScheme: 'dark' })
    const ground = await page.evaluate(() => getComputedStyle(document.documentElement).background)
    expect(ground).to.include('rgb(28, 32, 34)')
    const axe = new AxeBuilder({ page }).setLegacyMode().options({ resultTypes: ['violations'] })
    const shown = axe
      .include('.information-container')
      .include('#operations-Measurements-submitBatch')
    const { violations } = await shown.withRules(['color-contrast']).analyze()
    expect(violations.flatMap(({ nodes }) => nodes.map(({ html }) => html))).to.deep.equal([])
  })
})
