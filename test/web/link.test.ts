// Goal: people sign in with a link, and no link takes a session from anybody.
// Method: a real browser, and a service without an identity provider.

import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { useChromium } from '../support/chromium.ts'
import { addressOf, ChartPageTest, NO_PROVIDER } from './chart-page.ts'

const ANA = 'ana@example.org'

describe('a sign-in link on the chart page', () => {
  const browser = useChromium()
  let test: ChartPageTest
  before(async () => {
    test = await ChartPageTest.start(browser(), NO_PROVIDER)
    await test.service.operations.run('user create', { email: 'ben@example.org', name: 'Ben' })
  })
  after(() => test?.stop())
  afterEach(() => test?.expectNoProblems())

  const linkOf = async (user: string) => {
    const { url } = await test.service.operations.run('user link', { user })
    return url.slice(url.indexOf('#'))
  }
  const choose = (page: Page, name: string) => page.getByRole('button', { name }).click()

  it('signs in when the person asks for it, and leaves the address at once', async () => {
    const { page, context } = await test.open(await linkOf(ANA))
    await page.getByText('This link signs you in, once.').waitFor()
    expect(await addressOf(page)).to.equal(test.url)
    expect(await page.evaluate(() => localStorage.length)).to.equal(0)
    await choose(page, 'Sign in')
    await page.locator('.card').first().waitFor()
    await page.locator('#user', { hasText: ANA }).waitFor()
    await context.close()
  })

  it('works once', async () => {
    const link = await linkOf(ANA)
    const first = await test.open(link)
    await choose(first.page, 'Sign in')
    await first.page.locator('.card').first().waitFor()
    await first.context.close()
    const { page, context } = await test.open(link)
    await choose(page, 'Sign in')
    await page.getByText('This link has expired or was used').waitFor()
    await choose(page, 'Other ways to sign in')
    await page.getByText('thermolog user link').waitFor()
    expect(test.problems.splice(0).join()).to.match(/400/)
    await context.close()
  })

  it('replaces the session of another only when the person says so', async () => {
    const { page, context } = await test.open(await linkOf(ANA))
    await choose(page, 'Sign in')
    await page.locator('.card').first().waitFor()
    const open = async (link: string) => {
      await page.evaluate((hash) => void (location.hash = hash), link)
      await choose(page, 'Sign in')
      await page.getByText('This link is for Ben').waitFor()
    }
    await open(await linkOf('ben@example.org'))
    await choose(page, `Continue as ${ANA}`)
    await page.locator('#user', { hasText: ANA }).waitFor()
    await open(await linkOf('ben@example.org'))
    await choose(page, 'Sign in as Ben')
    await page.locator('#user', { hasText: 'Ben' }).waitFor()
    await page.getByRole('button', { name: 'Create a token' }).waitFor()
    const live = async (user: string) => {
      const tokens = await test.service.operations.run('token list', { user })
      return tokens.filter(({ kind, state }) => kind === 'mobile' && state === 'live').length
    }
    expect(await live('ben@example.org')).to.equal(1)
    await context.close()
  })

  it('leaves nothing of another to who signs in, even in a tab that is slow', async () => {
    const { page, context } = await test.open(await linkOf(ANA), { serviceWorkers: 'block' })
    await choose(page, 'Sign in')
    await page.locator('.card').first().waitFor()
    await page.getByText('Live', { exact: true }).waitFor()
    const other = await context.newPage()
    await other.goto(test.url + (await linkOf('ben@example.org')))
    await choose(other, 'Sign in')
    await page.route(test.url, async (route) => {
      await other.locator('#user', { hasText: 'Ben' }).waitFor()
      await route.continue()
    })
    // Only what is kept is shown.
    await page.route('**/changes*', () => undefined)
    const answer = page.waitForRequest('**/changes*')
    await choose(other, 'Sign in as Ben')
    await answer
    await page.locator('#user', { hasText: 'Ben' }).waitFor()
    expect(await page.locator('.card').count()).to.equal(0)
    await context.close()
  })

  it('leads to where the person was before', async () => {
    const { page, context } = await test.open('#/sensors/1/1w')
    await page.getByText('You need a sign-in link.').waitFor()
    await page.evaluate((hash) => void (location.hash = hash), await linkOf(ANA))
    await choose(page, 'Sign in')
    await page.getByRole('heading', { name: 'Cellar' }).waitFor()
    expect(await addressOf(page)).to.equal(`${test.url}#/sensors/1/1w`)
    await page.evaluate((hash) => void (location.hash = hash), await linkOf('ben@example.org'))
    await choose(page, 'Sign in')
    await choose(page, 'Sign in as Ben')
    await page.getByRole('button', { name: 'Create a token' }).waitFor()
    expect(await addressOf(page)).to.equal(test.url)
    await context.close()
  })
})
