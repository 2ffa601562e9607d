// Goal: everyone can use the page. Method: axe with the rules of WCAG A and AA, on every view, on a
// light phone and on a dark desktop; sizes and places, with the browser's letters and with letters
// of twice their size.

import { AxeBuilder } from '@axe-core/playwright'
import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { useChartPage, DESKTOP, PHONE } from './chart-page.ts'

const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
const TOUCH_PX = 44
/** The browser's own size, to which all others relate. */
const LETTERS_PX = 16
// Colours do not depend on the size, nor sizes on the colours.
const SCREENS = {
  phone: { ...PHONE, colorScheme: 'light' },
  desktop: { ...DESKTOP, colorScheme: 'dark' },
} as const

describe('the accessibility of the chart page', () => {
  const test = useChartPage({
    ALLOW_SIGN_UP: 'true',
    ALLOW_ACCOUNT_DELETION: 'true',
    MOBILE_TOKENS: 'true',
  })

  async function expectAccessible(page: Page): Promise<void> {
    // Only violations matter, and there are no frames, for which it would open another page.
    const axe = new AxeBuilder({ page }).setLegacyMode().options({ resultTypes: ['violations'] })
    const { violations } = await axe.withTags(RULES).analyze()
    const found = violations.map(({ id, nodes }) => {
      return `${id}: ${nodes.map(({ html, failureSummary }) => html + failureSummary).join()}`
    })
    expect(found).to.deep.equal([])
  }

  for (const [device, options] of Object.entries(SCREENS)) {
    it(`holds on a ${device}, ${options.colorScheme}`, async () => {
      const { page, close } = await test().openSignedIn('', options)
      await page.locator('.spark-line').first().waitFor({ state: 'attached' })
      await expectAccessible(page)
      await expectFit(page)
      await page.keyboard.press('?')
      await page.getByRole('dialog').waitFor()
      await expectAccessible(page)
      await page.getByRole('button', { name: 'Close' }).click()
      await page.getByRole('button', { name: 'Table' }).click()
      await page.getByRole('table').waitFor()
      await expectAccessible(page)
      await expectFit(page)
      // Pointed at, too.
      await page.getByRole('button', { name: '1 needs attention' }).click()
      await expectAccessible(page)
      await page.goto(`${test().url}#/sensors/1/1h`)
      await page.locator('.readout dd').first().waitFor()
      await page.getByRole('table').waitFor({ state: 'attached' })
      await page.getByRole('button', { name: 'Table' }).click()
      await page.getByRole('button', { name: 'Dates' }).click()
      await page.getByRole('button', { name: 'Edit' }).click()
      await page.getByLabel('Compensation').fill('2')
      await expectAccessible(page)
      await expectFit(page)
      await page.getByRole('button', { name: 'Cancel' }).click()
      await page.goto(`${test().url}#/compare/1,2/1d`)
      await page.locator('.legend-value', { hasText: '°C' }).first().waitFor()
      await page.getByRole('button', { name: 'Hide Cellar' }).click()
      await page.getByRole('searchbox', { name: 'Add a sensor' }).focus()
      await expectAccessible(page)
      if (device === 'phone') await page.getByRole('button', { name: 'Edit' }).click()
      await expectFit(page)
      await close()
    })

    it(`holds where there is nothing on a ${device}, ${options.colorScheme}`, async () => {
      const { page, close } = await test().openSignedIn('', options)
      await page.locator('.card').first().waitFor()
      await page.getByRole('searchbox').fill('no such name')
      await page.locator('.card').first().waitFor({ state: 'detached' })
      await expectAccessible(page)
      await expectFit(page)
      await page.goto(`${test().url}#/sensors/1/2019-03-01T00:00:00Z/2019-03-02T00:00:00Z`)
      await page.getByText('No measurements in this period.').waitFor()
      await expectAccessible(page)
      await page.goto(`${test().url}#/sensors/99`)
      await page.getByRole('link', { name: 'All sensors' }).waitFor()
      await expectAccessible(page)
      await expectFit(page)
      await page.goto(`${test().url}nothing`)
      await page.getByRole('heading', { name: 'Page not found' }).waitFor()
      await expectAccessible(page)
      await close()
      expect(test().problems.splice(0).join()).to.match(/404/)
    })

    it(`holds in the settings on a ${device}, ${options.colorScheme}`, async () => {
      const { page, close } = await test().openSignedIn('#/settings', options)
      await page.getByText('Tokens made by the operator').waitFor()
      await page.getByText('This device').waitFor()
      await page.getByRole('button', { name: 'New token' }).click()
      await page.getByText('Expiry, prefix').click()
      await expectAccessible(page)
      await expectFit(page)
      await page.getByLabel('Name of the device').fill('gate')
      await page.getByRole('button', { name: 'Create token' }).click()
      await page.getByText('Home Assistant', { exact: true }).click()
      await page.getByRole('button', { name: 'Done' }).click()
      await page.getByText('You have not copied it.').waitFor()
      await page.getByRole('button', { name: 'Delete account' }).click()
      await expectAccessible(page)
      await page.getByRole('button', { name: 'Continue' }).click()
      await page.getByRole('button', { name: 'Rotate gate' }).first().click()
      await page.getByRole('button', { name: 'Sign out', exact: true }).click()
      await page.getByText(/The tokens? “gate”/).waitFor()
      await expectFit(page)
      await close()
    })

    it(`holds in the first run on a ${device}, ${options.colorScheme}`, async () => {
      const { page, context } = await test().openAs(device, '', options)
      await page.getByRole('button', { name: 'Create a token' }).click()
      await page.getByRole('heading', { name: 'Token “first”' }).waitFor()
      await expectAccessible(page)
      await expectFit(page)
      await context.close()
    })
  }

  it('holds before anyone has signed in', async () => {
    const { page, context } = await test().open('', PHONE)
    await page.getByRole('button', { name: 'Sign in with Home' }).waitFor()
    await expectAccessible(page)
    await expectFit(page)
    await context.close()
  })

  for (const place of ['#/sensors/1', '#/compare/1,2/1d']) {
    it(`has nothing to touch at ${place} that is smaller than a finger`, async () => {
      await expectTouchable(place)
    })
  }

  async function expectTouchable(place: string): Promise<void> {
    const { page, close } = await test().openSignedIn(place, PHONE)
    await page.locator('.drawing[aria-busy=false]').waitFor()
    await expectFit(page)
    await close()
  }

  /** Nothing to touch is smaller than a finger, and large letters fit the screen too. */
  async function expectFit(page: Page): Promise<void> {
    const small = await page.evaluate((px) => {
      return (
        [...document.querySelectorAll('a, button, input, select, summary')]
          // All of a card is its link.
          .map((target) => ({ target, touched: target.closest('.card') ?? target }))
          .map(({ target, touched }) => ({ target, box: touched.getBoundingClientRect() }))
          .filter(({ box: { width, height } }) => width > 0 && (width < px || height < px))
          .map(({ target }) => target.outerHTML)
      )
    }, TOUCH_PX)
    expect(small).to.deep.equal([])
    await expectOnScreen(page)
    // A wide screen with large letters is a phone's with more room.
    if (page.viewportSize()?.width !== PHONE.viewport.width) return
    await setLetters(page, 2 * LETTERS_PX)
    await expectOnScreen(page)
    await setLetters(page, LETTERS_PX)
  }

  it('has the bar in line with what is below it on a wide screen', async () => {
    const { page, close } = await test().openSignedIn('', {
      viewport: { width: 1920, height: 900 },
    })
    const edgesOf = (selector: string, side: 'left' | 'right') =>
      page.locator(selector).evaluate((part, of) => part.getBoundingClientRect()[of], side)
    await page.locator('#user', { hasText: 'ana' }).waitFor()
    expect(await edgesOf('.brand', 'left')).to.equal(await edgesOf('.dashboard', 'left'))
    expect(await edgesOf('#user', 'right')).to.equal(await edgesOf('.dashboard', 'right'))
    await close()
  })

  it('has room for everything without a network', async () => {
    const { page, context } = await test().openSignedIn('', PHONE)
    await page.getByText('Live').waitFor()
    await context.setOffline(true)
    const offline = page.getByText('Offline, as of')
    await offline.waitFor()
    // The longest there is.
    await offline.evaluate((text) => (text.textContent = 'Offline, as of Wed 30 Sep 2026, 22:03'))
    const right = await page.getByRole('link', { name: 'Settings' }).boundingBox()
    expect((right?.x ?? 0) + (right?.width ?? 0)).to.be.within(300, 390)
    expect(await page.evaluate(() => document.body.scrollWidth)).to.equal(390)
    await context.close()
    test().problems.length = 0
  })
})

/** As people do it in the settings of their browser. */
async function setLetters(page: Page, px: number): Promise<void> {
  const devTools = await page.context().newCDPSession(page)
  await devTools.send('Page.setFontSizes', { fontSizes: { standard: px } })
  await devTools.detach()
}

/** Nothing but what scrolls is beside the screen, and of each name there is room for a word. */
async function expectOnScreen(page: Page): Promise<void> {
  const found = await page.evaluate((width) => {
    const parts = [...document.querySelectorAll<HTMLElement>('body *')].filter(
      (part) => part.closest('svg, .uplot, .table, .hidden-text') === null,
    )
    const beside = parts.filter((part) => {
      const { left, right } = part.getBoundingClientRect()
      return left < right && (left < -1 || right > width + 1)
    })
    const cut = parts.filter((part) => {
      const { scrollWidth, clientWidth, scrollHeight, clientHeight } = part
      const isCut = scrollWidth > clientWidth || scrollHeight > clientHeight + 1
      return part.matches('h1, .name, .legend-name') && isCut && clientWidth < 6 * em(part)
    })
    const whole = document.documentElement.scrollWidth > width ? ['the page'] : []
    return [...whole, ...[...beside, ...cut].map((part) => part.outerHTML)]

    function em(part: HTMLElement): number {
      return parseFloat(getComputedStyle(part).fontSize)
    }
  }, page.viewportSize()?.width ?? 0)
  expect(found).to.deep.equal([])
}
