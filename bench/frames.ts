// `bin/node bench/frames.ts`: how long a frame takes while 10,000 sensors are scrolled through on a
// phone, as cards and as a table, in Chromium with a processor slowed down to a sixth, while 500 of
// them send each second; beside the same list at rest, by turns.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { launchChromium } from '../test/support/chromium.ts'
import { ChartPageTest, PHONE } from '../test/web/chart-page.ts'
import { median, printTable, say } from './report.ts'
import type { Figure } from './report.ts'

const SENSORS = 9_990
const EVENTS_A_SECOND = 500
const SLOWER = 6
const SCROLLED_MS = 5_000
const ROUNDS = 3

/** In the page: scrolls at every frame, and says how long all but the longest 5 % take at most. */
const SCROLL = `new Promise((resolve) => {
  const tookMs = []
  let startMs
  let beforeMs
  const step = (nowMs) => {
    startMs ??= nowMs
    if (beforeMs !== undefined) tookMs.push(nowMs - beforeMs)
    beforeMs = nowMs
    scrollBy(0, 30)
    if (nowMs - startMs < ${SCROLLED_MS}) requestAnimationFrame(step)
    else resolve(tookMs.sort((a, b) => a - b)[Math.floor(tookMs.length * 0.95)])
  }
  requestAnimationFrame(step)
})`

/** Nothing where there is no Chromium. */
async function measureFrames(): Promise<Figure[]> {
  const browser = await launchChromium()
  if (browser === undefined) {
    say('frames of the page: left out, there is no Chromium')
    return []
  }
  say(`frames of the page with ${SENSORS} sensors`)
  const test = await ChartPageTest.start(browser)
  for (let from = 0; from < SENSORS; from += EVENTS_A_SECOND) await send(test, from)
  const { page } = await test.openSignedIn('', PHONE)
  await page.getByText(/of 9,992 online/).waitFor({ timeout: 30_000 })
  const devtools = await page.context().newCDPSession(page)
  await devtools.send('Emulation.setCPUThrottlingRate', { rate: SLOWER })
  const cards = await measureForm(test, page, 'cards')
  await page.getByRole('button', { name: 'Table' }).tap()
  await page.getByRole('table').waitFor()
  const table = await measureForm(test, page, 'table')
  await browser.close()
  await test.stop()
  return [cards, table]
}

async function measureForm(test: ChartPageTest, page: Page, form: string): Promise<Figure> {
  const atRest: number[] = []
  const busy: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    atRest.push(await scroll(page))
    const events = new AbortController()
    const sending = sendEvents(test, events.signal)
    await sleep(2_000)
    busy.push(await scroll(page))
    events.abort()
    await sending
  }
  const [ours, yardstick] = [median(busy), median(atRest)]
  return {
    name: `${form}: p95 of a frame, ${EVENTS_A_SECOND} events/s on a slow phone; beside none`,
    ours: `${ours.toFixed(1)} ms`,
    yardstick: `${yardstick.toFixed(1)} ms`,
    ratio: (ours / yardstick).toFixed(2),
  }
}

async function scroll(page: Page): Promise<number> {
  await page.evaluate('scrollTo(0, 0)')
  return page.evaluate(SCROLL)
}

function send(test: ChartPageTest, from: number): Promise<unknown> {
  const length = Math.min(EVENTS_A_SECOND, SENSORS - from)
  const measurements = Array.from({ length }, (_, at) => ({
    sn: `House.${(from + at) % 40}.s${from + at}`,
    temp: Math.round(Math.random() * 300) / 10,
  }))
  return test.call('POST', 'measurements/batch', { measurements })
}

async function sendEvents(test: ChartPageTest, signal: AbortSignal): Promise<void> {
  for (let from = 0; !signal.aborted; from = (from + EVENTS_A_SECOND) % SENSORS) {
    await Promise.all([send(test, from), sleep(1_000)])
  }
}

printTable(await measureFrames())
