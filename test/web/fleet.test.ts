// Goal: among thousands of sensors people find the ones they want, and a page stays small. Method:
// a real browser with 1,200 sensors in groups; the order of cards, and how many are there.

import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { PHONE, useChartPage } from './chart-page.ts'

const HOUR_MS = 3_600_000
const SENSORS = 1_200

describe('a large fleet on the chart page', () => {
  const test = useChartPage()

  before(async () => {
    for (let from = 0; from < SENSORS; from += 400) {
      const measurements = Array.from({ length: 400 }, (_, at) => ({
        sn: `rack${from + at}`,
        temp: 20 + (from + at) / 100,
      }))
      await test().call('POST', 'measurements/batch', { measurements })
    }
    const longAgo = new Date(Date.now() - 200 * HOUR_MS).toISOString()
    await test().call('POST', 'measurements', { sn: 'shed', temp: -30, timestamp: longAgo })
    await test().call('PATCH', 'sensors/3', { alias: 'Hall / Rack 2' })
    await test().call('PATCH', 'sensors/4', { alias: 'Hall / Rack 10' })
  })

  const names = (page: Page) => page.locator('.cards .alias').allInnerTexts()
  const choose = (page: Page, value: string) =>
    page.getByRole('combobox', { name: 'Order' }).selectOption(value)

  it('has only what is in view in its document, and all of it when scrolled to', async () => {
    const { page, close } = await test().openSignedIn('', PHONE)
    await page.getByText('of 1,203 online').waitFor()
    expect((await names(page)).length).to.be.lessThan(30)
    const first = page.locator('.cards [aria-posinset]').first()
    expect(await first.getAttribute('aria-setsize')).to.equal('1203')
    await page.evaluate(() => scrollTo(0, document.body.scrollHeight))
    await page.getByText('Rack 10', { exact: true }).waitFor()
    expect((await names(page)).length).to.be.lessThan(30)
    await close()
  })

  it('is filtered and ordered', async () => {
    const { page, close } = await test().openSignedIn()
    await page.locator('.card').first().waitFor()
    // What has been lost last is the news.
    expect((await names(page)).slice(0, 2)).to.deep.equal(['Attic', 'shed'])
    await choose(page, 'temp')
    expect((await names(page))[0]).to.equal('rack1199')
    await choose(page, '-temp')
    expect((await names(page))[0]).to.equal('shed')
    await choose(page, 'seen')
    expect((await names(page)).slice(0, 2)).to.deep.equal(['shed', 'Attic'])
    await page.getByRole('button', { name: '2 need attention' }).click()
    expect(await names(page)).to.deep.equal(['shed', 'Attic'])
    await page.reload()
    await page.locator('.card', { hasText: 'shed' }).waitFor()
    expect((await names(page))[0]).to.equal('shed')
    await close()
  })

  it('is grouped by what comes before the slash', async () => {
    const { page, close } = await test().openSignedIn()
    await page.getByRole('searchbox').fill('hall')
    await page.getByRole('heading', { name: 'Hall' }).waitFor()
    expect(await names(page)).to.deep.equal(['Rack 2', 'Rack 10'])
    await close()
  })

  it('is a table with a row for each sensor, ordered by each of its columns', async () => {
    const { page, close } = await test().openSignedIn()
    await page.getByRole('button', { name: 'Table' }).click()
    const table = page.getByRole('table', { name: 'Sensors' })
    expect(await table.getAttribute('aria-rowcount')).to.equal('1204')
    const first = table.getByRole('row').nth(1)
    expect(await first.getByRole('cell').allInnerTexts()).to.have.length(5)
    const by = (column: string) => page.getByRole('columnheader', { name: column })
    const ends = async (column: string) => {
      const seen = []
      for (const direction of ['ascending', 'descending']) {
        const isOther = async () => (await by(column).getAttribute('aria-sort')) !== direction
        if (await isOther()) await by(column).getByRole('button').click()
        if (await isOther()) await by(column).getByRole('button').click()
        seen.push((await names(page))[0])
      }
      return seen
    }
    expect(await ends('Name')).to.deep.equal(['Attic', 'shed'])
    expect(await ends('Now')).to.deep.equal(['shed', 'rack1199'])
    expect((await ends('Last seen'))[0]).to.equal('shed')
    expect((await ends('State'))[0]).to.equal('Attic')
    // Ranges of so many would be many requests.
    const ranges = by('Last 24 h').getByRole('button')
    expect(await ranges.isDisabled()).to.equal(true)
    await page.getByRole('searchbox').fill('rack11')
    await ranges.click()
    expect(await by('Last 24 h').getAttribute('aria-sort')).to.equal('descending')
    await page.getByRole('searchbox').fill('')
    await page.getByText('of 1,203 online').waitFor()
    expect(await by('Last 24 h').getAttribute('aria-sort')).to.equal('none')
    expect(await by('State').getAttribute('aria-sort')).to.equal('ascending')
    await close()
  })

  it('opens the only sensor found with Enter', async () => {
    const { page, close } = await test().openSignedIn()
    await page.locator('.card').first().waitFor()
    await page.getByRole('searchbox').fill('cellar')
    await page.getByRole('searchbox').press('Enter')
    await page.getByRole('heading', { name: 'Cellar' }).waitFor()
    await close()
  })
})
