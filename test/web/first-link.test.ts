// Goal: the link of the first start makes the first user. Method: a real browser, and a
// service that has no user.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { linkUrl } from '../../src/access/sign-in-links.ts'
import { createService } from '../../src/compose.ts'
import type { Service } from '../../src/compose.ts'
import { loadConfig } from '../../src/config.ts'
import { useChromium } from '../support/chromium.ts'
import { send } from '../support/http.ts'
import { startInline } from '../support/inline-threads.ts'
import { RecordingLog } from '../support/log.ts'
import { DESKTOP, expectInSight, PHONE } from './chart-page.ts'

/** Browsers take it. */
const TOO_LONG = `${'a'.repeat(250)}@example.org`

describe('the link of the first start on the chart page', () => {
  const browser = useChromium()
  let dataDir = ''
  let service: Service
  let page: Page

  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'thermolog-'))
    const config = loadConfig({ PORT: '0', DATA_DIR: dataDir })
    service = await createService(config, { log: new RecordingLog(), startThread: startInline })
    const { url } = await service.start()
    page = await (await browser().newContext(PHONE)).newPage()
    await page.goto(linkUrl(url, (await service.createFirstLink()) ?? ''))
  })
  after(async () => {
    await page?.context().close()
    await service?.stop()
    if (dataDir !== '') await rm(dataDir, { recursive: true })
  })

  it('asks who that is, and for a name only if there is to be one', async () => {
    await page.getByText('You are the first user here.').waitFor()
    expect(await page.getByLabel('Name (optional)').isVisible()).to.equal(true)
  })

  it('asks again for an address that the service refuses, with what was typed', async () => {
    await page.getByLabel('E-mail').fill(TOO_LONG)
    await page.getByRole('button', { name: 'Create account' }).tap()
    await page.getByText('Check your e-mail address.').waitFor()
    expect(await page.getByLabel('E-mail').inputValue()).to.equal(TOO_LONG)
  })

  it('signs in, and lets that user make a token', async () => {
    await page.getByLabel('E-mail').fill('ana@example.org')
    await page.getByRole('button', { name: 'Create account' }).tap()
    await page.getByRole('button', { name: 'Create a token' }).tap()
    const token = await page.locator('.made code').first().innerText()
    const { origin } = new URL(page.url())
    const { body } = await send(origin, { path: '/api/v1/me', token })
    expect(body.data.user.email).to.equal('ana@example.org')
    expect(body.data.token.scopes).to.deep.equal(['measurements:write'])
  })

  it('brings what arrives into sight, and takes the token for copied', async () => {
    await page.setViewportSize(DESKTOP.viewport)
    const token = await page.locator('.made code').first().innerText()
    await page.getByText('These lines name an address').scrollIntoViewIfNeeded()
    const measurements = Array.from({ length: 40 }, (_, at) => ({ sn: `cellar-${at}`, temp: 12 }))
    const path = '/api/v1/measurements/batch'
    const body = { measurements }
    await send(new URL(page.url()).origin, { method: 'POST', path, token, body })
    await page.getByText('The first measurement has arrived.').waitFor()
    await expectInSight(page, '.first-run p', '.made', '.card')
    await page.getByRole('link', { name: 'See it' }).click()
    await page.getByRole('heading', { name: 'cellar-0' }).waitFor()
    expect(await page.content()).not.to.include('thd_live_')
  })
})
