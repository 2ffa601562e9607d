// Goal: a person gets in with a provider, and out again. Method: a real browser, the service and a
// real OpenID Connect provider that knows the page's address.

import { expect } from 'chai'
import {
  addressOf,
  ChartPageTest,
  keptOf,
  NO_PROVIDER,
  tokenOf,
  useChartPage,
} from './chart-page.ts'
import { useChromium } from '../support/chromium.ts'
import { send } from '../support/http.ts'

describe('signing in on the chart page', () => {
  const test = useChartPage()

  it('leads to the provider with a code challenge and back to where it began', async () => {
    const { page, context } = await test().open('#/sensors/1/1w')
    const asked = page.waitForRequest(/\/auth\?/)
    const traded = page.waitForRequest(/\/api\/mobile\/v1\/auth\/home$/)
    await page.getByRole('button', { name: 'Sign in with Home' }).click()
    const { searchParams } = new URL((await asked).url())
    expect(searchParams.get('code_challenge_method')).to.equal('S256')
    expect(searchParams.get('code_challenge')).to.match(/^[\w-]{43}$/)
    const grant = (await traded).postDataJSON() as Record<string, string>
    expect(grant['code_verifier']).to.match(/^[\w-]{43}$/)
    expect(grant['redirect_uri']).to.equal(test().url)
    await page.getByRole('heading', { name: 'Cellar' }).waitFor()
    expect(await addressOf(page)).to.equal(`${test().url}#/sensors/1/1w`)
    expect(await page.evaluate(() => sessionStorage.length)).to.equal(0)
    await context.close()
  })

  it('takes no answer that it did not ask for', async () => {
    const { page, context } = await test().open('?code=stolen&state=other')
    await page.getByText('This sign-in did not start here').waitFor()
    expect(await addressOf(page)).to.equal(test().url)
    await context.close()
  })

  it('says what the provider says when nobody is signed in', async () => {
    const { page, context } = await test().open('#/sign-in/nobody')
    await page.evaluate(() => {
      const attempt = { state: 's', issuer: 'i', backTo: '#/', providerId: 'home' }
      sessionStorage.setItem('thermolog.sign-in', JSON.stringify(attempt))
    })
    await page.goto(`${test().url}?error=access_denied&state=s`)
    await page.getByText('The provider did not sign you in: access_denied').waitFor()
    await context.close()
  })

  it('stays as it is when somebody does not sign in again', async () => {
    const { page, close } = await test().openSignedIn('healthz')
    await page.evaluate(() => {
      const attempt = { state: 's', issuer: 'i', backTo: '#/settings', providerId: 'home' }
      sessionStorage.setItem('thermolog.sign-in', JSON.stringify(attempt))
    })
    await page.goto(`${test().url}?error=access_denied&state=s`)
    await page.getByText('The provider did not sign you in: access_denied').waitFor()
    await page.getByRole('button', { name: 'Continue as ana@example.org' }).click()
    await page.getByRole('heading', { name: 'Settings' }).waitFor()
    await close()
  })

  it('ends at once, with everything that was kept', async () => {
    const { page, context } = await test().open('#/sign-in/home')
    await page.locator('.spark-line').first().waitFor({ state: 'attached' })
    const token = await tokenOf(page)
    expect(await keptOf(page)).to.be.greaterThan(0)
    const ended = page.waitForResponse(/\/logout$/)
    await page.getByRole('link', { name: 'Settings' }).click()
    await page.getByRole('button', { name: 'Sign out', exact: true }).click()
    await page.getByRole('button', { name: 'Sign in with Home' }).waitFor()
    await ended
    const left = await page.evaluate(() => [
      localStorage.getItem('thermolog.session'),
      document.querySelectorAll('.card').length,
    ])
    expect(left).to.deep.equal([null, 0])
    expect(await keptOf(page)).to.equal(0)
    const answer = await send(test().service.url, { path: '/api/mobile/v1/me', token })
    expect(answer.status).to.equal(401)
    await context.close()
  })

  it('ends as soon as there is a network again', async () => {
    const { page, context } = await test().open('#/sign-in/home')
    await page.locator('.card').first().waitFor()
    const token = await tokenOf(page)
    await page.evaluate(() => navigator.serviceWorker.ready)
    await page.getByRole('link', { name: 'Settings' }).click()
    await page.getByText('This device').waitFor()
    await context.setOffline(true)
    await page.getByRole('button', { name: 'Sign out', exact: true }).click()
    await page.getByText('Your session ends at the service as soon as').waitFor()
    const answer = () => send(test().service.url, { path: '/api/mobile/v1/me', token })
    expect((await answer()).status).to.equal(200)
    const ended = page.waitForResponse((response) => response.url().endsWith('/logout'))
    await context.setOffline(false)
    expect((await ended).status()).to.equal(204)
    expect((await answer()).status).to.equal(401)
    await page.getByText('Your session ends').waitFor({ state: 'detached' })
    await context.close()
    // The browser tells of each request without a network.
    expect(test().problems.splice(0).join()).to.match(/ERR_INTERNET_DISCONNECTED/)
  })

  it('lists where the user is signed in, and ends a session', async () => {
    const other = await test().open('#/sign-in/home')
    await other.page.locator('.card').first().waitFor()
    const { page, context } = await test().open('#/sign-in/home')
    await page.getByRole('link', { name: 'Settings' }).click()
    await page.getByText('This device').waitFor()
    const ends = page.getByRole('button', { name: 'Sign out of Chrome on Linux' })
    const before = await ends.count()
    await ends.first().click()
    await page.getByText('The session has ended.').waitFor()
    expect(await ends.count()).to.equal(before - 1)
    await other.page.getByText('You have been signed out').waitFor()
    await Promise.all([context.close(), other.context.close()])
    // The browser reports the 401 on its console.
    expect(test().problems.splice(0).join()).to.match(/401/)
  })

  it('follows an address that names a provider while it is shown', async () => {
    const { page, context } = await test().open()
    await page.getByRole('button', { name: 'Sign in with Home' }).waitFor()
    await page.evaluate(() => void (location.hash = '#/sign-in/home'))
    await page.locator('.card').first().waitFor()
    await context.close()
  })

  it('is asked for again when the token is revoked, and leads back to where one was', async () => {
    const { page, context } = await test().open('#/sign-in/home')
    await page.locator('.card').first().waitFor()
    await page.evaluate(() => void (location.hash = '#/sensors/1/1w'))
    await page.getByRole('heading', { name: 'Cellar' }).waitFor()
    const tokens = await test().service.operations.run('token list', { user: 'ana@example.org' })
    const id = String(Math.max(...tokens.map((token) => token.id)))
    await test().service.operations.run('token revoke', { id })
    await page.getByText('You have been signed out').waitFor()
    await page.getByRole('button', { name: 'Sign in with Home' }).click()
    await page.getByRole('heading', { name: 'Cellar' }).waitFor()
    expect(await addressOf(page)).to.equal(`${test().url}#/sensors/1/1w`)
    // Who signs out has done with it.
    await page.getByRole('link', { name: 'Settings' }).click()
    await page.getByRole('button', { name: 'Sign out', exact: true }).click()
    await page.getByRole('button', { name: 'Sign in with Home' }).waitFor()
    expect(await addressOf(page)).to.equal(test().url)
    await context.close()
    // The browser tells of every 401 on its console.
    expect(test().problems.splice(0).join()).to.match(/401/)
  })
})

describe('a chart page where nobody can sign in', () => {
  const browser = useChromium()

  it('names the setting when its address is not among the redirect URIs', async () => {
    const test = await ChartPageTest.start(browser(), {
      MOBILE_REDIRECT_URIS: 'org.example.thermolog:/callback',
    })
    const { page, context } = await test.open()
    await page.getByRole('button', { name: 'Sign in with Home' }).click()
    const setting = page.getByText(`MOBILE_REDIRECT_URIS=…,${test.url}`)
    await setting.waitFor()
    expect(test.problems.splice(0).join()).to.match(/422/)
    await context.close()
    await test.stop()
  })

  it('asks for a link without a provider, and names itself as the operator does', async () => {
    const test = await ChartPageTest.start(browser(), {
      APP_NAME: 'Cellars & “Sons”',
      ...NO_PROVIDER,
    })
    const { page, context } = await test.open()
    await page.getByText('You need a sign-in link. Just started Thermolog?').waitFor()
    await page.getByText('bin/thermolog user link you@example.org').waitFor()
    await page.getByRole('heading', { name: 'Cellars & “Sons”' }).waitFor()
    await page.getByRole('banner').getByText('Cellars & “Sons”').waitFor()
    expect(await page.title()).to.equal('Sign in · Cellars & “Sons”')
    const { body } = await send(test.service.url, { path: '/manifest.webmanifest' })
    expect(body).to.include({ name: 'Cellars & “Sons”', short_name: 'Cellars & “Sons”' })
    test.expectNoProblems()
    await context.close()
    await test.stop()
  })
})
