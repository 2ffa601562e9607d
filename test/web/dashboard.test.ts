// Goal: the dashboard shows every sensor as it is now, and finds it. Method: a real browser; what
// changes is changed through the daemon API while the page is open.

import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { until } from '../support/until.ts'
import { useChartPage, PHONE } from './chart-page.ts'

describe('the dashboard of the chart page', () => {
  const test = useChartPage()

  const card = (page: Page, name: string) => page.locator('.card', { hasText: name })

  const latest = (page: Page, name: string, text: string) =>
    card(page, name).locator('.temp', { hasText: text })

  it('shows state, latest value and the line of the day, with its gap', async () => {
    const { page, close, histories } = await test().openSignedIn()
    await page.getByText('1 of 2 online').waitFor()
    await card(page, 'Cellar').getByText('Online').waitFor()
    await card(page, 'Attic')
      .getByText(/^Offline since $/)
      .waitFor()
    const line = card(page, 'Cellar').locator('.spark-line')
    await line.waitFor({ state: 'attached' })
    expect((await line.getAttribute('d'))?.split('M')).to.have.length(3)
    const day = await card(page, 'Cellar').locator('.day').innerText()
    expect(day).to.match(/^24 h: 10\.\d to 12\.\d °C$/)
    // The lines of all cards come in one response.
    expect(histories.map(({ searchParams }) => searchParams.get('sensors'))).to.deep.equal(['2,1'])
    await close()
  })

  it('shows the sensors as soon as they are there', async () => {
    const { page, context } = await test().openSignedIn('#/settings')
    await page.clock.install()
    await page.goto('about:blank')
    await page.clock.pauseAt(Date.now() + 60_000)
    await page.goto(test().url)
    // Each look takes longer than what it adds to the page's time, which stays below a second.
    const isShown = async () => {
      await page.clock.runFor(1)
      return (await page.locator('.card').count()) === 2
    }
    await until('there are cards as soon as the page has them', isShown, 10_000)
    await context.close()
  })

  it('finds sensors by name and serial number', async () => {
    const { page, close } = await test().openSignedIn('', PHONE)
    await page.locator('.card').first().waitFor()
    const search = page.getByRole('searchbox', { name: 'Search sensors' })
    const keys = page.getByRole('dialog', { name: 'Keys' })
    await page.keyboard.press('?')
    await keys.getByText('Read point after point').waitFor()
    await page.keyboard.press('Escape')
    await keys.waitFor({ state: 'detached' })
    await page.keyboard.press('Control+/')
    await page.keyboard.press('/')
    await page.keyboard.press('/')
    await page.keyboard.press('?')
    expect(await search.inputValue()).to.equal('/?')
    expect(await keys.count()).to.equal(0)
    await search.fill('CELL')
    expect(await page.locator('.card').allInnerTexts()).to.have.length(1)
    await page.getByText('1 found').waitFor({ state: 'attached' })
    await search.fill('nothing')
    await page.getByText('No sensor is called “nothing”.').waitFor()
    await page.getByText('0 of 2 shown').waitFor()
    await page.getByRole('button', { name: 'Show all sensors' }).tap()
    expect(await page.locator('.card').allInnerTexts()).to.have.length(2)
    await close()
  })

  it('shows a value, a name and a sensor as soon as they are there', async () => {
    const { page, close } = await test().openSignedIn()
    await page.getByText('Live').waitFor()
    await test().call('POST', 'measurements', { sn: 'cellar', temp: 77.4 })
    await latest(page, 'Cellar', '77.0 °C').waitFor()
    await test().call('PATCH', 'sensors/2', { alias: 'Loft <b>' })
    await card(page, 'Loft <b>').waitFor()
    await test().call('POST', 'measurements', { sn: 'barn', temp: -3.26 })
    await latest(page, 'barn', '−3.3 °C').waitFor()
    const lines = page.locator('.spark-line')
    const dot = card(page, 'barn').locator('.spark-line')
    await dot.waitFor({ state: 'attached' })
    const widths = await lines.evaluateAll((all) =>
      all.map((it) => getComputedStyle(it).strokeWidth),
    )
    expect(widths.toSorted()).to.deep.equal(['1.5px', '6px'])
    await page.getByText('2 of 3 online').waitFor()
    const names = await page.locator('.alias').allInnerTexts()
    expect(names).to.deep.equal(['Loft <b>', 'barn', 'Cellar'])
    await test().call('PATCH', 'sensors/2', { alias: 'Attic' })
    await close()
  })

  it('writes numbers in the language of its words', async () => {
    const { page, close } = await test().openSignedIn('', { locale: 'de-DE' })
    await latest(page, 'Cellar', '77.0 °C').waitFor()
    await close()
  })

  it('asks every half minute where the stream is refused', async () => {
    const { page, context } = await test().openSignedIn('#/sensors/none')
    await page.locator('.card').first().waitFor()
    await page.clock.install()
    await page.route('**/events', (route) => route.fulfill({ status: 503, body: '{}' }))
    let asked = 0
    page.on('request', (request) => (asked += request.url().includes('/changes?') ? 1 : 0))
    await page.reload()
    await page.getByText('Reconnecting, refreshing every 30 s').waitFor()
    // The half minute begins when the answer before has been read, which a page does not show.
    await until('the page asks more often than one that opens', async () => {
      await page.clock.fastForward(31_000)
      return asked > 5
    })
    await context.close()
    // The browser tells of every 503 on its console.
    expect(test().problems.splice(0).join()).to.match(/503/)
  })

  it('has what needs attention first, since when, and alone by a tap on its number', async () => {
    const { page, close } = await test().openSignedIn('', PHONE)
    const attention = page.getByRole('button', { name: '1 needs attention' })
    await attention.waitFor()
    const headings = () => page.getByRole('heading', { level: 2 }).allInnerTexts()
    expect(await headings()).to.deep.equal(['Needs attention\n1', 'Other sensors\n2'])
    const texts = () => page.locator('.card').allInnerTexts()
    expect((await texts())[0]).to.match(/^Attic\nOffline since \n\d{1,2} \w{3}, \d\d:\d\d\n/)
    const colors = (name: string) =>
      card(page, name).evaluate((it) => getComputedStyle(it).backgroundColor)
    expect(await colors('Attic')).to.equal('rgb(179, 38, 30)')
    expect(await colors('Cellar')).to.equal('rgb(255, 255, 255)')
    // Red is what has failed, not what one presses.
    expect(await attention.evaluate((it) => getComputedStyle(it).backgroundColor)).to.equal(
      'rgb(255, 255, 255)',
    )
    await attention.tap()
    await page.getByText('1 of 3 shown').waitFor()
    expect(await texts()).to.have.length(1)
    await test().call('POST', 'measurements', { sn: 'attic', temp: 11 })
    await page.getByText('No sensor needs attention.').waitFor()
    await page.getByRole('button', { name: 'Show all sensors' }).tap()
    await page.getByText('3 of 3 online').waitFor()
    await attention.waitFor({ state: 'hidden' })
    expect(await headings()).to.deep.equal([])
    const order = await page.getByLabel('Order').boundingBox()
    expect(order?.width).to.be.greaterThan(200)
    await close()
  })

  it('has a table that is whole on a phone, and ordered by the ranges of the day', async () => {
    const name = 'Greenhouse / Propagation, north'
    await test().call('PATCH', 'sensors/2', { alias: name })
    const temps = [-173.25, 1_499.95]
    const measurements = [{ sn: 'attic', temp: 3 }, ...temps.map((temp) => ({ sn: 'barn', temp }))]
    await test().call('POST', 'measurements/batch', { measurements })
    // The line of a day that is known is not read again with each value.
    const { page, close } = await test().openSignedIn('', PHONE)
    await page.getByRole('button', { name: 'Table' }).tap()
    await page.getByRole('row', { name }).waitFor()
    await page.locator('.day', { hasText: '−173.3 to 1,500.0' }).waitFor()
    const ranges = page.getByRole('columnheader', { name: 'Last 24 h' }).getByRole('button')
    const names = () => page.locator('.alias').allInnerTexts()
    await ranges.tap()
    expect(await names()).to.deep.equal(['barn', 'Cellar', name])
    await ranges.tap()
    expect(await names()).to.deep.equal([name, 'Cellar', 'barn'])
    const cut = await page.evaluate(() =>
      [...document.querySelectorAll('.card *, .list-head *')]
        .filter((it) => it.scrollWidth > it.clientWidth || it.getBoundingClientRect().right > 390)
        .map((it) => it.outerHTML),
    )
    expect(cut).to.deep.equal([])
    await test().call('PATCH', 'sensors/2', { alias: 'Attic' })
    await close()
  })

  it('keeps the focus with a sensor that moves, and leaves none that is gone', async () => {
    const { page, close, histories } = await test().openSignedIn()
    await test().call('POST', 'measurements', { sn: 'late', temp: 1 })
    await page.getByText('4 of 4 online').waitFor()
    const focused = () => page.evaluate(() => document.activeElement?.textContent)
    const names = () => page.locator('.alias').allInnerTexts()
    const link = page.getByRole('link', { name: 'late' })
    await link.focus()
    await test().call('PATCH', 'sensors/4', { alias: 'a first one' })
    await until('it is first', async () => (await names())[0] === 'a first one')
    expect(await focused()).to.equal('a first one')
    const asked = histories.length
    await test().remove('sensors/4')
    await until('it is gone', async () => !(await names()).includes('a first one'))
    expect(await focused()).to.equal('Sensors')
    await page.clock.install()
    await page.clock.runFor(25_000)
    const ids = histories.slice(asked).map(({ searchParams }) => searchParams.get('sensors'))
    expect(ids.filter((id) => id?.split(',').includes('4'))).to.deep.equal([])
    await close()
  })

  it('has groups of the names of its own, and says nothing of now without a network', async () => {
    const timestamp = new Date(Date.now() - 30 * 3_600_000).toISOString()
    await test().call('PATCH', 'sensors/3', { alias: 'Other sensors / barn' })
    for (const sn of ['gone', 'older']) {
      await test().call('POST', 'measurements', { sn, temp: 1, timestamp })
    }
    const { page, context } = await test().openSignedIn()
    await page.getByRole('button', { name: '2 need attention' }).click()
    const names = () => page.locator('.alias').allInnerTexts()
    expect(await names()).to.deep.equal(['gone', 'older'])
    // Late, and not late enough: the latest loss comes first.
    const later = new Date(Date.now() - 20 * 3_600_000).toISOString()
    await test().call('POST', 'measurements', { sn: 'older', temp: 2, timestamp: later })
    await until('the latest loss is first', async () => (await names())[0] === 'older')
    await page.getByRole('button', { name: '2 need attention' }).click()
    const headings = await page.getByRole('heading', { level: 2 }).allInnerTexts()
    expect(headings.map((text) => text.split('\n')[0])).to.deep.equal([
      'Needs attention',
      'Other sensors',
      'Other sensors',
    ])
    await page.getByRole('button', { name: 'Table' }).click()
    await page.getByText('Online', { exact: true }).first().waitFor()
    await page.getByRole('button', { name: '2 need attention' }).click()
    await context.setOffline(true)
    await page.getByRole('button', { name: 'Needs attention', exact: true }).waitFor()
    const states = () => page.locator('.word').allTextContents()
    await until('no state is said', async () => (await states()).join('') === '')
    expect(await states()).to.have.length(2)
    await context.close()
    test().problems.length = 0
  })
})
