// Goal: owners decide in the settings how the page looks, where they are signed in, and that their
// account is deleted. Method: a real browser, the service and a real OpenID Connect provider.

import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { deviceName } from '../../src/web/device-name.js'
import { send } from '../support/http.ts'
import { DESKTOP, keptOf, PHONE, tokenOf, useChartPage } from './chart-page.ts'

const HOUR_MS = 3_600_000

describe('the settings', () => {
  const test = useChartPage({
    ALLOW_SIGN_UP: 'true',
    ALLOW_ACCOUNT_DELETION: 'true',
    MOBILE_TOKENS: 'true',
    LINK_SUPPORT: 'https://help.example.org/',
  })

  const isEnded = async (token: string) =>
    (await send(test().service.url, { path: '/api/mobile/v1/me', token })).status === 401

  const makeToken = async (page: Page, name: string): Promise<string> => {
    const order = { method: 'POST', path: '/api/mobile/v1/tokens', token: await tokenOf(page) }
    const { status, body, text } = await send(test().service.url, { ...order, body: { name } })
    expect(status, text).to.equal(201)
    return body.data.token
  }

  const isRevoked = async (token: string) =>
    (await send(test().service.url, { path: '/api/v1/me', token })).status === 401

  it('choose unit and theme, for good and at once', async () => {
    const options = { ...DESKTOP, colorScheme: 'light' } as const
    const { page, close } = await test().openSignedIn('#/settings', options)
    const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor)
    await page.getByText('Times in Europe/Berlin.').waitFor()
    await page.getByRole('radio', { name: 'Dark' }).check()
    expect(await ground()).to.equal('rgb(13, 19, 24)')
    expect(await page.getByRole('radio', { name: '°C' }).isChecked()).to.equal(true)
    await page.getByRole('radio', { name: '°F' }).check()
    await page.getByRole('link', { name: 'Sensors' }).click()
    await page
      .locator('.temp', { hasText: /^[45]\d\.\d °F$/ })
      .first()
      .waitFor()
    await page.goto(`${test().url}#/settings`)
    await page.reload()
    expect(await ground()).to.equal('rgb(13, 19, 24)')
    expect(await page.getByRole('radio', { name: '°F' }).isChecked()).to.equal(true)
    await page.getByRole('radio', { name: 'Light' }).check()
    expect(await ground()).to.equal('rgb(244, 246, 248)')
    await page.getByRole('radio', { name: 'System' }).check()
    await page.emulateMedia({ colorScheme: 'dark' })
    expect(await ground()).to.equal('rgb(13, 19, 24)')
    await close()
  })

  it('tell the version, and lead to help, documents and out within one screen', async () => {
    const { page, close } = await test().openSignedIn('#/settings', PHONE)
    const { body } = await send(test().service.url, { path: '/api/mobile/v1/bootstrap' })
    await page.getByText(`Thermolog ${body.data.app.version}`).waitFor()
    const support = page.getByRole('link', { name: 'Support' })
    expect(await support.getAttribute('href')).to.equal('https://help.example.org/')
    for (const name of ['How devices send', 'API']) {
      const link = page.getByRole('link', { name })
      const address = await link.evaluate((it) => (it as HTMLAnchorElement).href)
      expect((await fetch(address)).status).to.equal(200)
    }
    const out = await page.getByRole('button', { name: 'Sign out', exact: true }).boundingBox()
    expect((out?.y ?? Infinity) + (out?.height ?? 0)).to.be.lessThan(PHONE.viewport.height)
    await close()
  })

  it('end a session, with the tokens that were made there if one wants that', async () => {
    const other = await test().openAs('abe')
    const token = await makeToken(other.page, 'cabin')
    const session = await tokenOf(other.page)
    const { page, context } = await test().openAs('abe', '#/settings')
    await page.getByText('cabin').waitFor()
    const out = page.getByRole('button', { name: 'Sign out of Unknown device' })
    await out.click()
    await page.getByText('The token “cabin”, made there, keeps working').waitFor()
    await page.getByRole('button', { name: 'Cancel' }).click()
    expect(await out.evaluate((it) => it === document.activeElement)).to.equal(true)
    expect(await isEnded(session)).to.equal(false)
    await out.click()
    await page.getByRole('button', { name: 'Sign out and revoke' }).click()
    await page.getByText('The session has ended.').waitFor()
    expect(await isEnded(session)).to.equal(true)
    expect(await isRevoked(token)).to.equal(true)
    await other.page.getByText('You have been signed out').waitFor()
    await Promise.all([context.close(), other.context.close()])
    // The browser reports the 401 on its console.
    expect(test().problems.splice(0).join()).to.match(/401/)
  })

  it('end all other sessions after a question, and no token by itself', async () => {
    const [first, last] = [await test().openAs('ben'), await test().openAs('ben')]
    const { page, context } = await test().openAs('ben', '#/settings')
    await page.getByRole('button', { name: 'Sign out everywhere else' }).waitFor()
    // Made after the page has read the list.
    const token = await makeToken(first.page, 'cabin')
    const sessions = await Promise.all([first, last].map((other) => tokenOf(other.page)))
    await Promise.all([first, last].map((other) => other.context.close()))
    await page.getByRole('button', { name: 'Sign out everywhere else' }).click()
    await page.getByText('Sign out of all 2? The token “cabin”, made there,').waitFor()
    // The first of the list has gone by itself.
    const out = { method: 'POST', path: '/api/mobile/v1/logout', token: sessions[1] ?? '' }
    await send(test().service.url, out)
    await page.getByRole('button', { name: 'Sign out only' }).click()
    await page.getByText('The other sessions have ended.').waitFor()
    expect(await Promise.all(sessions.map(isEnded))).to.deep.equal([true, true])
    expect(await isRevoked(token)).to.equal(false)
    expect(await page.getByRole('button', { name: /^Sign out/ }).count()).to.equal(1)
    await context.close()
    // The browser reports on its console what was gone.
    expect(test().problems.splice(0).join()).to.match(/404/)
  })

  it('delete the account, with everything that the browser kept', async () => {
    const { page, context } = await test().openAs('cleo', '#/settings')
    const session = await tokenOf(page)
    await page.getByRole('radio', { name: 'Dark' }).check()
    await page.getByRole('button', { name: 'Delete account' }).click()
    await page.getByText('cannot be brought back').waitFor()
    const address = page.getByLabel('Your e-mail address')
    const confirm = page.getByRole('button', { name: 'Delete my account' })
    await address.fill('ana@example.org')
    await confirm.click()
    await page.getByText('This is not the address of your account.').waitFor()
    expect(await isEnded(session)).to.equal(false)
    await address.fill('Cleo@Example.org')
    await confirm.click()
    await page.getByText('Your account has been deleted.').waitFor()
    await page.getByRole('button', { name: 'Sign in with Home' }).waitFor()
    expect(await isEnded(session)).to.equal(true)
    expect(await page.evaluate(() => localStorage.length + sessionStorage.length)).to.equal(0)
    expect(await keptOf(page)).to.equal(0)
    await context.close()
  })

  it('keep an account that an operator made, or whose session is too old for that', async () => {
    const old = await test().openAs('dora', '#/settings')
    test().service.clock.advanceMs(HOUR_MS)
    await tryToDelete(old.page, 'dora@example.org')
    await old.page.getByText('needs a sign-in within the last ten minutes').waitFor()
    await old.page.getByRole('button', { name: 'Sign in again with Home' }).waitFor()
    expect(await isEnded(await tokenOf(old.page))).to.equal(false)
    const { page, close } = await test().openSignedIn('#/settings')
    await tryToDelete(page, 'ana@example.org')
    await page.getByText('Only the operator can delete this account').waitFor()
    await close()
    await old.context.close()
    // The browser tells of every 403 on its console.
    expect(test().problems.splice(0).join()).to.match(/403/)
  })

  const tryToDelete = async (page: Page, email: string) => {
    await page.getByRole('button', { name: 'Delete account' }).click()
    await page.getByLabel('Your e-mail address').fill(email)
    await page.getByRole('button', { name: 'Delete my account' }).click()
  }
})

describe('the name of a session', () => {
  const NAMES = {
    'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/141.0 Safari/537.36':
      'Chrome on Linux',
    'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) Version/17.5 Safari/604.1':
      'Safari on iPhone',
    node: 'Node.js program (node)',
    'Go-http-client/1.1': 'Go program (Go-http-client)',
    'curl/8.5.0': 'Terminal (curl)',
    'python-requests/2.32': 'Python program (python-requests)',
    'okhttp/4.12.0': 'Android app (okhttp)',
    'Dart/3.4 (dart:io)': 'Flutter app (Dart)',
    'Thermo%20App/12 CFNetwork/1498 Darwin/23.6': 'Thermo App on an Apple device',
    'Cellar 1.2 (Pixel 8)': 'Cellar 1.2 (Pixel 8)',
    '': 'Unknown device',
  }
  for (const [sent, shown] of Object.entries(NAMES)) {
    it(`is ${shown} for ${sent || 'none'}`, () => {
      expect(deviceName(sent)).to.equal(shown)
    })
  }
})
