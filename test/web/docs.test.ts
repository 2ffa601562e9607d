// The page that shows the description of the API. Goal: it shows all of it and lets people try it,
// without a network beyond this service. Method: a real browser, whose console stays empty.

import { AxeBuilder } from '@axe-core/playwright'
import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { boxesOf, DESKTOP, PHONE, useChartPage } from './chart-page.ts'

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

  it('offers no list of one server, and has lines of more than a word on a phone', async () => {
    expect(await page.locator('#servers').isVisible()).to.equal(false)
    await page.setViewportSize(PHONE.viewport)
    const [about] = await boxesOf(page, '.opblock-tag small')
    expect((about?.right ?? 0) - (about?.left ?? 0)).to.be.greaterThan(224)
    await page.setViewportSize(DESKTOP.viewport)
  })

  for (const [colorScheme, ground] of [
    ['light', 'rgb(244, 246, 248)'],
    ['dark', 'rgb(13, 19, 24)'],
  ] as const) {
    it(`is ${colorScheme} where the system is, in the colours of the other pages`, async () => {
      await page.emulateMedia({ colorScheme })
      const dark = page.locator('html.dark-mode')
      await dark.waitFor({ state: colorScheme === 'dark' ? 'attached' : 'detached' })
      expect(await groundOf(page)).to.include(ground)
      // Colours that fade have too little contrast on their way.
      expect(await page.evaluate(() => document.getAnimations().length)).to.equal(0)
      const axe = new AxeBuilder({ page }).setLegacyMode().options({ resultTypes: ['violations'] })
      const shown = axe
        .include('nav')
        .include('.information-container')
        .include('.scheme-container')
        .include('#operations-tag-Measurements')
        .include('#operations-Measurements-submitBatch')
        .include('#operations-Operations-showHealth')
      const { violations } = await shown.withRules(['color-contrast']).analyze()
      expect(violations.flatMap(({ nodes }) => nodes.map(({ html }) => html))).to.deep.equal([])
    })
  }

  it('is light where somebody has chosen that, and leads to the other pages', async () => {
    await page.evaluate(() => localStorage.setItem('thermolog.theme', 'light'))
    await page.emulateMedia({ colorScheme: 'dark' })
    await page.reload()
    await page.locator('.dark-mode').waitFor({ state: 'detached' })
    expect(await groundOf(page)).to.include('rgb(244, 246, 248)')
    await page.getByRole('link', { name: 'Problems', exact: true }).click()
    await page.getByRole('heading', { name: 'Problems' }).waitFor()
    await page.getByRole('link', { name: 'API', exact: true }).waitFor()
  })

  function groundOf(shown: Page): Promise<string> {
    return shown.evaluate(() => getComputedStyle(document.documentElement).background)
  }
})
