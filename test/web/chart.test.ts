// Goal: a chart shows the history that was asked for, at every zoom, and nothing where there is
// nothing. Method: a real browser; the requests that the page makes, the pixels it draws and the
// addresses it has.

import { expect } from 'chai'
import type { Page } from 'playwright-core'
import { addressOf, useChartPage, PHONE } from './chart-page.ts'

const HOUR_MS = 3_600_000

describe('a chart of the chart page', () => {
  const test = useChartPage()

  async function waitForChart(page: Page): Promise<void> {
    await page.locator('.uplot canvas').waitFor()
    await page.locator('.drawing[aria-busy=false]').waitFor()
    await page.locator('.readout dd', { hasText: '°' }).first().waitFor()
  }

  const hash = async (page: Page) => new URL(await addressOf(page)).hash
  const spanMs = ({ searchParams }: URL) =>
    Date.parse(searchParams.get('to') ?? '') - Date.parse(searchParams.get('from') ?? '')

  /** Whether a whole period is asked for: what is shown may be read on at any time. */
  const isWhole = ({ pathname, searchParams }: URL) =>
    pathname.endsWith('/measurements') && !searchParams.has('bucket')

  const whole = (histories: readonly URL[]) => histories.filter(isWhole)

  /** The history of a span; the one that is shown may be asked for once more meanwhile. */
  const answerOf = (page: Page, isAsked: (ms: number) => boolean) =>
    page.waitForResponse((response) => {
      const url = new URL(response.url())
      return isWhole(url) && isAsked(spanMs(url))
    })

  /** How many columns of the chart have nothing of its line's colour, left to right, in tenths. */
  async function emptyTenths(page: Page): Promise<number[]> {
    return page.evaluate(() => {
      const canvas = document.querySelector<HTMLCanvasElement>('.uplot canvas')
      const over = document.querySelector<HTMLElement>('.u-over')
      if (canvas === null || over === null) throw new Error('no chart')
      const scale = canvas.width / canvas.clientWidth
      const [left, width] = [over.offsetLeft * scale, over.offsetWidth * scale]
      const height = over.offsetHeight * scale
      const pen = canvas.getContext('2d')
      return Array.from({ length: 10 }, (_, tenth) => tenth).filter((tenth) => {
        const x = left + ((tenth + 0.25) * width) / 10
        const { data } = pen?.getImageData(x, 20, width / 20, height - 30) ?? { data: [] }
        for (let at = 0; at < data.length; at += 4) {
          const [red = 0, , blue = 0, opacity = 0] = data.slice(at, at + 4)
          if (opacity > 150 && blue - red > 90) return false
        }
        return true
      })
    })
  }

  it('opens from the dashboard with the last day in minutes, gap left open', async () => {
    const { page, close, histories } = await test().openSignedIn()
    await page.locator('.card', { hasText: 'Cellar' }).click()
    await waitForChart(page)
    expect(await hash(page)).to.equal('#/sensors/1')
    await page.getByText('compensation −0.4 °C').waitFor()
    const [asked] = whole(histories)
    if (asked === undefined) throw new Error('no history was asked for')
    expect(spanMs(asked)).to.equal(24 * HOUR_MS)
    expect(asked.searchParams.get('tz')).to.equal('Europe/Berlin')
    // Silent from 14.4 to 19.2 of 24 hours.
    expect(await emptyTenths(page)).to.deep.equal([6, 7])
    await close()
  })

  it('asks for the history of each period, and raw for an hour', async () => {
    const { page, close, histories } = await test().openSignedIn('#/sensors/1', PHONE)
    await waitForChart(page)
    const periods = [
      ['1 h', 1, 'raw'],
      ['1 w', 168, '15min'],
      ['1 mo', 720, 'hour'],
      ['1 y', 8_760, 'day'],
    ] as const
    for (const [name, hours, bucket] of periods) {
      const answered = answerOf(page, (span) => span === hours * HOUR_MS)
      await page.getByRole('button', { name }).tap()
      const answer = (await (await answered).json()) as { data: { bucket: string } }
      expect(answer.data.bucket).to.equal(bucket)
      expect(whole(histories).map(spanMs).at(-1)).to.equal(hours * HOUR_MS)
    }
    expect(await hash(page)).to.equal('#/sensors/1/1y')
    const pressed = page.getByRole('button', { name: '1 y' })
    expect(await pressed.getAttribute('aria-pressed')).to.equal('true')
    // A period takes the place of the one before: one step leaves the chart.
    await page.goBack()
    expect(await hash(page)).to.equal('')
    await close()
  })

  it('zooms into what the mouse drags over, and a double click zooms out', async () => {
    const { page, close, histories } = await test().openSignedIn('#/sensors/1')
    await waitForChart(page)
    const box = await page.locator('.u-over').boundingBox()
    if (box === null) throw new Error('no chart')
    const y = box.y + box.height / 2
    const answered = answerOf(page, (span) => span < 20 * HOUR_MS)
    await page.mouse.move(box.x + box.width / 4, y)
    await page.mouse.down()
    await page.mouse.move(box.x + box.width / 2, y, { steps: 4 })
    await page.mouse.up()
    await answered
    const [zoomed] = whole(histories).slice(-1)
    if (zoomed === undefined) throw new Error('no history was asked for')
    expect(spanMs(zoomed) / HOUR_MS).to.be.closeTo(6, 0.3)
    expect(await hash(page)).to.match(/^#\/sensors\/1\/2\S+Z\/2\S+Z$/)
    await page.mouse.dblclick(box.x + box.width / 2, y)
    await page.waitForURL(/#\/sensors\/1\/1d$/)
    await close()
  })

  it('zooms with the wheel about the pointer, with Ctrl or once it has the focus', async () => {
    const { page, close, histories } = await test().openSignedIn('#/sensors/1')
    await waitForChart(page)
    await page.setViewportSize({ width: 1280, height: 600 })
    await page.locator('.u-over').hover()
    await page.mouse.wheel(0, 200)
    await page.waitForFunction(() => scrollY > 0)
    expect(await hash(page)).to.equal('#/sensors/1')
    expect(new Set(whole(histories).map(spanMs))).to.deep.equal(new Set([24 * HOUR_MS]))
    await page.locator('.u-over').hover()
    const zoomed = answerOf(page, (span) => span < 20 * HOUR_MS)
    await page.keyboard.down('Control')
    await page.mouse.wheel(0, -350)
    await page.keyboard.up('Control')
    expect(spanMs(new URL((await zoomed).url())) / HOUR_MS).to.be.closeTo(12, 0.5)
    await page.locator('.u-over').click()
    const again = answerOf(page, (span) => span < 8 * HOUR_MS)
    await page.mouse.wheel(0, -350)
    expect(spanMs(new URL((await again).url())) / HOUR_MS).to.be.closeTo(6, 0.5)
    await close()
  })

  it('is moved by a finger and zoomed by two', async () => {
    const { page, close, histories } = await test().openSignedIn('#/sensors/1', PHONE)
    await waitForChart(page)
    const touch = (type: string, xs: readonly number[]) =>
      page.locator('.u-over').evaluate(
        (over, [name, points]) => {
          const { left, top, width } = over.getBoundingClientRect()
          for (const [id, x] of points.entries()) {
            const clientX = left + x * width
            const place = { clientX, clientY: top + 50, pointerId: id + 1, bubbles: true }
            Element.prototype.setPointerCapture = () => undefined
            over.dispatchEvent(new PointerEvent(name, { ...place, pointerType: 'touch' }))
          }
        },
        [type, xs] as const,
      )
    await touch('pointerdown', [0.3])
    await touch('pointermove', [0.8])
    await touch('pointerup', [0.8])
    await page.waitForURL(/Z\/2\S+Z$/)
    await waitForChart(page)
    expect(whole(histories).map(spanMs).at(-1)).to.equal(24 * HOUR_MS)
    const answered = answerOf(page, (span) => span < 20 * HOUR_MS)
    await touch('pointerdown', [0.4, 0.6])
    await touch('pointermove', [0.3, 0.7])
    await touch('pointerup', [0.3, 0.7])
    await answered
    expect((whole(histories).map(spanMs).at(-1) ?? 0) / HOUR_MS).to.be.closeTo(12, 0.5)
    await close()
  })

  it('is moved, zoomed and read with the keyboard', async () => {
    const { page, close } = await test().openSignedIn('#/sensors/1')
    await waitForChart(page)
    await page.getByRole('application', { name: 'Temperature of Cellar' }).focus()
    await page.keyboard.press('+')
    await page.keyboard.press('ArrowLeft')
    const [, from = '', to = ''] = /1\/(\S+Z)\/(\S+Z)$/.exec(await hash(page)) ?? []
    expect((Date.parse(to) - Date.parse(from)) / HOUR_MS).to.be.closeTo(12, 0.01)
    // A live chart is zoomed at its end.
    expect(Date.parse(to)).to.be.closeTo(Date.now() - 3 * HOUR_MS, 60_000)
    await page.keyboard.press('End')
    expect(await hash(page)).to.equal('#/sensors/1/43200s')
    await waitForChart(page)
    await page.keyboard.press('Shift+ArrowLeft')
    const said = page.locator('.sensor .hidden-text[role=status]')
    expect(await said.innerText()).to.match(/Mean 1\d\.\d+ °C Lowest .* Highest .* Count 1/)
    await page.keyboard.press('Home')
    expect(await hash(page)).to.equal('#/sensors/1/1d')
    expect(await said.innerText()).to.equal('')
    await close()
  })

  it('is zoomed about the point that is read, which is forgotten when it is moved', async () => {
    const { page, close } = await test().openSignedIn('#/sensors/1')
    await waitForChart(page)
    await page.getByRole('application', { name: 'Temperature of Cellar' }).focus()
    await page.keyboard.press('Shift+ArrowRight')
    const range = page.locator('.range')
    const read = await range.innerText()
    await page.keyboard.press('+')
    const [, from = '', to = ''] = /1\/(\S+Z)\/(\S+Z)$/.exec(await hash(page)) ?? []
    expect(Date.parse(from)).to.be.closeTo(Date.now() - 24 * HOUR_MS, 600_000)
    expect((Date.parse(to) - Date.parse(from)) / HOUR_MS).to.be.closeTo(12, 0.01)
    await waitForChart(page)
    expect(await range.innerText()).to.equal(read)
    await page.getByRole('button', { name: 'Zoom out' }).click()
    await waitForChart(page)
    expect(await range.innerText()).to.equal(read)
    await page.getByRole('application').press('ArrowLeft')
    await waitForChart(page)
    expect(await range.innerText()).not.to.equal(read)
    await close()
  })

  it('opens at the period that its address names', async () => {
    const { page, close, histories } = await test().openSignedIn(
      '#/sensors/1/2026-03-01T00:00:00Z/2026-03-15T00:00:00Z',
    )
    await page.getByText('No measurements in this period. Last reading:').waitFor()
    const [asked] = histories
    expect(asked?.searchParams.get('from')).to.equal('2026-03-01T00:00:00.000Z')
    expect(asked?.searchParams.get('to')).to.equal('2026-03-15T00:00:00.000Z')
    await page.getByRole('link', { name: 'Sensors' }).click()
    await page.locator('.card').first().waitFor()
    await page.goBack()
    await page.getByRole('heading', { name: 'Cellar' }).waitFor()
    await close()
  })

  it('shows a new value, another name and another compensation at once', async () => {
    const { page, close } = await test().openSignedIn('#/sensors/1/1h')
    await waitForChart(page)
    await page.getByText('Live').waitFor()
    await test().call('POST', 'measurements', { sn: 'cellar', temp: 31.5 })
    await page.locator('.value', { hasText: '31.10 °C' }).waitFor()
    const highest = page.locator('.readout div', { hasText: 'Highest' })
    await highest.getByText('31.10 °C').waitFor()
    await test().call('PATCH', 'sensors/1', { alias: 'Wine', compensation: 0.5 })
    await page.getByRole('heading', { name: 'Wine' }).waitFor()
    await page.getByText('compensation +0.5 °C').waitFor()
    await highest.getByText('32.00 °C').waitFor()
    await test().call('PATCH', 'sensors/1', { alias: 'Cellar', compensation: -0.4 })
    await close()
  })

  it('shows late data, in a period that is over as well', async () => {
    const sendLate = (hours: number, temp: number) => {
      const timestamp = new Date(Date.now() - hours * HOUR_MS).toISOString()
      return test().call('POST', 'measurements', { sn: 'cellar', temp, timestamp })
    }
    const { page, close } = await test().openSignedIn('#/sensors/1/1d')
    await waitForChart(page)
    await page.getByText('Live').waitFor()
    const highest = page.locator('.readout div', { hasText: 'Highest' })
    await sendLate(7, 41.4)
    await highest.getByText('41.00 °C').waitFor()
    const at = (hours: number) =>
      `${new Date(Date.now() - hours * HOUR_MS).toISOString().slice(0, 19)}Z`
    await page.evaluate(
      (name) => void (location.hash = `#/sensors/1/${name}`),
      `${at(40)}/${at(28)}`,
    )
    await page.getByText('No measurements in this period').waitFor()
    await sendLate(30, 43.4)
    await highest.getByText('43.00 °C').waitFor()
    await close()
  })

  it('is a table as well', async () => {
    const { page, close } = await test().openSignedIn('#/sensors/1')
    await waitForChart(page)
    const table = page.getByRole('table')
    await table.waitFor({ state: 'attached' })
    for (const name of ['Time', 'Mean °C', 'Lowest °C', 'Highest °C', 'Count']) {
      await table.locator(`thead th`, { hasText: name }).waitFor({ state: 'attached' })
    }
    expect(await table.locator('tbody tr:has(td)').count()).to.be.within(220, 240)
    const place = page.locator('.table')
    expect(await place.getAttribute('class')).to.include('hidden-text')
    await page.getByRole('button', { name: 'Table' }).click()
    expect(await place.getAttribute('class')).to.equal('table')
    await close()
  })

  it('says when there is no such sensor', async () => {
    const { page, close } = await test().openSignedIn('#/sensors/99')
    await page.getByRole('heading', { name: 'Sensor not found' }).waitFor()
    await page.getByText('It may have been deleted, or belong to somebody else.').waitFor()
    await page.getByRole('link', { name: 'All sensors' }).click()
    await page.locator('.card').first().waitFor()
    await close()
    expect(test().problems.splice(0).join()).to.match(/404/)
  })
})
