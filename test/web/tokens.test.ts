// Goal: owners make, rotate and revoke the tokens of their devices on the page, and lose none by
// accident. Method: a real browser and the whole service; what the page shows to paste is pasted
// into a shell.

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { send } from '../support/http.ts'
import { addressOf, PHONE, tokenOf, useChartPage } from './chart-page.ts'

const DAY_MS = 86_400_000
const run = promisify(execFile)

const makeToken = async (page: Page, name: string) => {
  await page.getByRole('button', { name: 'New token' }).click()
  await page.getByLabel('Name of the device').fill(name)
  await page.getByRole('button', { name: 'Create token' }).click()
}

/** Holds what makes a token. @returns lets it go */
async function holdMaking(page: Page): Promise<() => void> {
  const { promise: gone, resolve } = Promise.withResolvers<void>()
  await page.route('**/tokens', async (route) => {
    if (route.request().method() === 'POST') await gone
    await route.continue()
  })
  return resolve
}

/** The token that is shown. */
const shownToken = (page: Page) => page.locator('.made .command code').first().innerText()

const row = (page: Page, name: string) => page.locator('.entries li', { hasText: name })

describe('tokens on the chart page', () => {
  const test = useChartPage()

  const isTaken = async (token: string) =>
    (await send(test().service.url, { path: '/api/v1/me', token })).status === 200

  const mayDo = async (token: string) =>
    (await send(test().service.url, { path: '/api/v1/me', token })).body.data.token.scopes

  it('are made with a name and one tap, shown once with what sends, and kept nowhere', async () => {
    const { page, close } = await test().openSignedIn('#/settings', PHONE)
    await makeToken(page, 'cabin "1"')
    await page.getByRole('heading', { name: 'Token “cabin "1"”' }).waitFor()
    const token = await shownToken(page)
    expect(await mayDo(token)).to.deep.equal(['measurements:write'])
    const lines = await page.locator('.made .command', { hasText: 'curl http' }).innerText()
    const [command = ''] = lines.split('\nCopy')
    const { stdout } = await run('sh', ['-c', command])
    expect(JSON.parse(stdout).data).to.include({ sn: 'test', status: 'created' })
    const again = await run('sh', ['-c', command])
    expect(JSON.parse(again.stdout).data).to.include({ status: 'duplicate' })
    await page.getByText('Telegraf', { exact: true }).click()
    const telegraf = page.locator('.command', { hasText: '[[outputs.influxdb_v2]]' })
    const { origin, port } = new URL(test().url)
    expect(await telegraf.innerText()).to.include(`urls = ["${origin}"]\n  token = "${token}"\n`)
    await page.getByText('Home Assistant', { exact: true }).click()
    const assistant = page.locator('.command', { hasText: 'influxdb:' })
    expect(await assistant.innerText()).to.include(`host: "127.0.0.1"\n  port: ${port}\n`)
    expect(await keptText(page)).not.to.include('thd_live_')
    await page.getByRole('button', { name: 'Copy the token' }).click()
    await page.getByRole('button', { name: 'Done' }).click()
    expect(await page.content()).not.to.include('thd_live_')
    await row(page, 'cabin').getByText('May send', { exact: true }).waitFor()
    await row(page, 'cabin').getByText('Made by you').waitFor()
    await page.getByRole('button', { name: 'Revoke cabin' }).click()
    expect(await isTaken(token)).to.equal(true)
    await page.getByRole('button', { name: 'Revoke', exact: true }).last().click()
    await page.getByText('has been revoked.').waitFor()
    expect(await isTaken(token)).to.equal(false)
    await close()
  })

  it('may read and change only where that is chosen, and expire', async () => {
    const { page, close } = await test().openSignedIn('#/settings')
    await page.getByRole('button', { name: 'New token' }).click()
    await page.getByLabel('Name of the device').fill('viewer')
    await page.getByLabel('send measurements').uncheck()
    await page.getByRole('button', { name: 'Create token' }).click()
    await page.getByText('Choose what the token may do.').waitFor()
    await page.getByLabel('change sensors, delete them with their history').check()
    await page.getByLabel('read, for Grafana and programs').check()
    await page.getByText('Expiry, prefix').click()
    await page.getByLabel('Expires').selectOption('In 30 days')
    await page.getByLabel('Prefix').fill('cabin.')
    await page.getByRole('button', { name: 'Create token' }).click()
    await page.getByRole('button', { name: 'Copy the token' }).click()
    const token = await shownToken(page)
    // It sends nothing, so there is nothing that sends.
    expect(await page.locator('.made summary').allInnerTexts()).to.deep.equal(['Try it with curl'])
    const { body } = await send(test().service.url, { path: '/api/v1/me', token })
    const scopes = ['sensors:read', 'sensors:write']
    expect(body.data.token).to.deep.include({ name: 'viewer', scopes })
    const lifeMs = Date.parse(body.data.token.expires_at) - Date.parse(body.data.token.created_at)
    expect(lifeMs).to.equal(30 * DAY_MS)
    await page.getByRole('button', { name: 'Done' }).click()
    await row(page, 'viewer').getByText('May read, change and delete, prefix cabin.').waitFor()
    await close()
  })

  it('get a successor, beside which they work for a while, but for the operator’s', async () => {
    const { page, close } = await test().openSignedIn('#/settings')
    await row(page, 'gateway').getByText('Made by the operator').waitFor()
    expect(await row(page, 'gateway').getByRole('button').count()).to.equal(0)
    await page.getByText('Tokens made by the operator are changed on the command line.').waitFor()
    await makeToken(page, 'buoy')
    await page.getByRole('button', { name: 'Copy the token' }).click()
    const before = await shownToken(page)
    await page.getByRole('button', { name: 'Done' }).click()
    await page.getByRole('button', { name: 'Rotate buoy' }).click()
    await page.getByRole('button', { name: 'Rotate', exact: true }).last().click()
    await page.getByText('The old one keeps working for at most 7 days.').waitFor()
    const after = await shownToken(page)
    expect(after).not.to.equal(before)
    expect([await isTaken(before), await isTaken(after)]).to.deep.equal([true, true])
    expect(await mayDo(after)).to.deep.equal(['measurements:write'])
    const { body } = await send(test().service.url, { path: '/api/v1/me', token: before })
    const restMs = Date.parse(body.data.token.expires_at) - test().service.clock.nowMs()
    expect(restMs).to.equal(7 * DAY_MS)
    await page.getByRole('button', { name: 'Copy the token' }).click()
    await close()
  })

  it('are not lost by leaving before they are copied', async () => {
    const { page, close } = await test().openSignedIn('#/settings')
    const leave = () => page.getByRole('link', { name: 'Sensors' }).click()
    await page.getByRole('button', { name: 'New token' }).click()
    await page.getByLabel('Name of the device').fill('loft')
    await leave()
    await page.getByText('Leave without saving what you typed?').waitFor()
    await page.getByRole('button', { name: 'Create token' }).click()
    const token = await shownToken(page)
    await leave()
    await page.getByText('You have not copied it. Leave without the token?').waitFor()
    expect(await addressOf(page)).to.equal(`${test().url}#/settings`)
    expect(await shownToken(page)).to.equal(token)
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.goBack()
    await page.getByText('You have not copied it. Leave without the token?').waitFor()
    const asked = page.waitForEvent('dialog')
    const closing = page.evaluate(() => location.reload())
    await (await asked).dismiss()
    await closing
    expect(await shownToken(page)).to.equal(token)
    await page.getByRole('button', { name: 'Leave' }).click()
    await page.locator('.card').first().waitFor()
    await page.getByRole('link', { name: 'Settings' }).click()
    await row(page, 'loft').waitFor()
    expect(await page.content()).not.to.include('thd_live_')
    await page.getByRole('button', { name: 'New token' }).click()
    await page.getByLabel('Prefix').evaluate((prefix) => ((prefix as HTMLInputElement).value = 'a'))
    await leave()
    await page.getByRole('button', { name: 'Leave' }).click()
    await page.locator('.card').first().waitFor()
    await page.getByRole('link', { name: 'Settings' }).click()
    await page.getByRole('button', { name: 'New token' }).click()
    await leave()
    await page.locator('.card').first().waitFor()
    await close()
  })

  it('are made one after the other, so that none takes another’s place', async () => {
    const { page, close } = await test().openSignedIn('healthz', { serviceWorkers: 'block' })
    const letGo = await holdMaking(page)
    await page.goto(`${test().url}#/settings`)
    await makeToken(page, 'slow')
    await page.getByRole('button', { name: 'Cancel' }).click()
    await makeToken(page, 'eager')
    await page.getByText('One token at a time').waitFor()
    letGo()
    await page.getByRole('heading', { name: 'Token “slow”' }).waitFor()
    await row(page, 'slow').waitFor()
    expect(await row(page, 'eager').count()).to.equal(0)
    await page.getByRole('button', { name: 'Copy the token' }).click()
    await close()
  })

  it('are there to be revoked where the answer was cut off', async () => {
    const { page, close } = await test().openSignedIn('healthz', { serviceWorkers: 'block' })
    await page.route('**/tokens', async (route) => {
      if (route.request().method() !== 'POST') return route.continue()
      const response = await route.fetch()
      await page.context().setOffline(true)
      await route.fulfill({ response, body: (await response.text()).slice(0, 60) })
    })
    await page.goto(`${test().url}#/settings`)
    await makeToken(page, 'cut')
    await page.getByText('Reload the page to see what has changed.').waitFor()
    await page.context().setOffline(false)
    await page.reload()
    await row(page, 'cut').getByText('never used').waitFor()
    await close()
    test().problems.splice(0)
  })

  it('hold nobody who has gone on before one is made', async () => {
    const { page, close } = await test().openSignedIn('healthz', { serviceWorkers: 'block' })
    const letGo = await holdMaking(page)
    await page.goto(`${test().url}#/settings`)
    await makeToken(page, 'shed')
    await page.getByRole('link', { name: 'Sensors' }).click()
    await page.locator('.card').first().waitFor()
    const made = page.waitForResponse((response) => response.status() === 201)
    letGo()
    await (await made).finished()
    await page.getByRole('link', { name: 'Settings' }).click()
    await row(page, 'shed').getByText('never used').waitFor()
    await page.reload()
    await row(page, 'shed').getByText('never used').waitFor()
    await close()
  })

  it('need a new session, which the page leads to and puts in place of the old one', async () => {
    const { page, context } = await test().open('#/sign-in/home')
    await page.locator('.card').first().waitFor()
    const session = await tokenOf(page)
    await page.getByRole('link', { name: 'Settings' }).click()
    test().service.clock.advanceMs(2 * DAY_MS)
    await makeToken(page, 'barn')
    await page.getByText('Making tokens needs a sign-in within the last day').waitFor()
    // The provider lives in the present.
    test().service.clock.advanceMs(-2 * DAY_MS)
    const ended = page.waitForResponse(/\/logout$/)
    await page.getByRole('button', { name: 'Sign in again with Home' }).click()
    await page.getByRole('heading', { name: 'Settings' }).waitFor()
    await ended
    const answer = await send(test().service.url, { path: '/api/mobile/v1/me', token: session })
    expect(answer.status).to.equal(401)
    await makeToken(page, 'barn')
    await page.getByRole('button', { name: 'Copy the token' }).click()
    await context.close()
    // The browser tells of the 403 on its console.
    expect(test().problems.splice(0).join()).to.match(/403/)
  })

  it('need a new link without a provider, and an operator where people make none', async () => {
    const { page, close } = await test().openSignedIn('healthz', { serviceWorkers: 'block' })
    const changes = { sign_in_providers: [], daemon_tokens: true }
    await page.route('**/bootstrap', async (route) => {
      const { data } = await (await route.fetch()).json()
      const headers = { 'Cache-Control': 'no-store' }
      await route.fulfill({ headers, json: { data: { ...data, ...changes } } })
    })
    await page.goto(`${test().url}#/settings`)
    await page.getByText('gateway').waitFor()
    const again = 'open a new sign-in link first.'
    await page.getByText(new RegExp(`^You can make tokens until .* that, ${again}`)).waitFor()
    test().service.clock.advanceMs(2 * DAY_MS)
    await makeToken(page, 'barn')
    await page.getByText('bin/thermolog user link ana@example.org').waitFor()
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: 'New token' }).waitFor()
    test().service.clock.advanceMs(-2 * DAY_MS)
    const created_at = new Date(Date.now() - 2 * DAY_MS).toISOString()
    await page.route('**/sessions', async (route) => {
      const { data } = await (await route.fetch()).json()
      const old = data.map((session: object) => ({ ...session, created_at }))
      await route.fulfill({ json: { data: old } })
    })
    await page.reload()
    await page.getByText(`more than a day ago: to make a token, ${again}`).waitFor()
    changes.daemon_tokens = false
    await page.reload()
    await page.getByText('bin/thermolog token create --user ana@example.org').waitFor()
    await row(page, 'buoy').first().waitFor()
    expect(await page.getByRole('button', { name: /^(New token|Revoke)/ }).count()).to.equal(0)
    await page.getByText('To have your account deleted, ask the operator.').waitFor()
    await close()
    expect(test().problems.splice(0).join()).to.match(/403/)
  })
})

/** All texts that the browser keeps of the page. */
function keptText(page: Page): Promise<string> {
  return page.evaluate(async () => {
    const done = <T>(request: IDBRequest<T>) =>
      new Promise<T>((resolve) => (request.onsuccess = () => resolve(request.result)))
    const database = await done(indexedDB.open('thermolog'))
    const stores = [...database.objectStoreNames]
    const rows = stores.map((name) => done(database.transaction(name).objectStore(name).getAll()))
    const kept = await Promise.all(rows)
    return JSON.stringify([{ ...localStorage }, { ...sessionStorage }, history.state, kept])
  })
}
