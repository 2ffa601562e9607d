// Goal: everyone can use the page. Method: axe with the rules of WCAG A and AA, on every view, on a
// phone and on a desktop, light and dark.

import { AxeBuilder } from '@axe-core/playwright'
import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { useChartPage, DESKTOP, PHONE } from './chart-page.ts'

const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
const TOUCH_PX = 44

describe('the accessibility of the chart page', () => {
  const test = useChartPage()

  async function expectAccessible(page: Page): Promise<void> {
    const { violations } = await new AxeBuilder({ page }).withTags(RULES).analyze()
    const found = violations.map(({ id, nodes }) => {
      return `${id}: ${nodes.map(({ html, failureSummary }) => html + failureSummary).join()}`
    })
    expect(found).to.deep.equal([])
  }

  for (const [device, options] of Object.entries({ phone: PHONE, desktop: DESKTOP })) {
    for (const colorScheme of ['light', 'dark'] as const) {
      it(`holds on a ${device}, ${colorScheme}`, async () => {
        const { page, context } = await test().openSignedIn('', { ...options, colorScheme })
        await page.locator('.spark-line').first().waitFor({ state: 'attached' })
        await expectAccessible(page)
        await page.goto(`${test().url}#/sensors/1/1h`)
        await page.locator('.readout dd').first().waitFor()
        await page.getByRole('table').waitFor({ state: 'attached' })
        await page.getByRole('button', { name: 'Table' }).click()
        await expectAccessible(page)
        await context.close()
      })
    }
  }

  it('holds before anyone has signed in', async () => {
    const { page, context } = await test().open('', PHONE)
    await page.getByRole('button', { name: 'Sign in with Home' }).waitFor()
    await expectAccessible(page)
    await context.close()
  })

  it('has nothing to touch that is smaller than a finger', async () => {
    const { page, context } = await test().openSignedIn('#/sensors/1', PHONE)
    await page.locator('.readout dd').first().waitFor()
    const small = await page.evaluate((px) => {
      return [...document.querySelectorAll('a, button, input')]
        .map((target) => ({ target, box: target.getBoundingClientRect() }))
        .filter(({ box: { width, height } }) => width > 0 && (width < px || height < px))
        .map(({ target }) => target.outerHTML)
    }, TOUCH_PX)
    expect(small).to.deep.equal([])
    const isWide = await page.evaluate(() => document.body.scrollWidth > innerWidth)
    expect(isWide).to.equal(false)
    await context.close()
  })

  it('keeps the choice of light or dark', async () => {
    const { page, context } = await test().openSignedIn('', { colorScheme: 'light' })
    await page.getByRole('button', { name: 'Light or dark' }).click()
    const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor)
    expect(await ground()).to.equal('rgb(13, 19, 24)')
    await page.reload()
    expect(await ground()).to.equal('rgb(13, 19, 24)')
    await context.close()
  })
})
