// Goal: 10,000 sensors can be scrolled through on a phone while 500 of them send each second.
// Method: Chromium with a processor slowed down to a sixth; the frames it shows while a list that
// is receiving events is scrolled. Both cores of a small machine are busy: run it alone.

import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { useChromium } from '../support/chromium.ts'
import { ChartPageTest, PHONE } from '../web/chart-page.ts'

const SENSORS = 9_990
const EVENTS_A_SECOND = 500
const SLOWER = 6
const SECONDS = 10
const FRAMES_A_SECOND_MIN = 50

describe('10,000 sensors on a phone', () => {
  const browser = useChromium()

  it(`are scrolled through at ${FRAMES_A_SECOND_MIN} frames a second`, async () => {
    const test = await ChartPageTest.start(browser())
    const send = (from: number) => {
      const length = Math.min(EVENTS_A_SECOND, SENSORS - from)
      const sensors = Array.from({ length }, (_, at) => `House ${(from + at) % 40} s${from + at}`)
      const measurements = sensors.map((name) => ({
        sn: name.replaceAll(' ', '.'),
        temp: Math.round(Math.random() * 300) / 10,
      }))
      return test.call('POST', 'measurements/batch', { measurements })
    }
    for (let from = 0; from < SENSORS; from += EVENTS_A_SECOND) await send(from)
    const { page, context } = await test.openSignedIn('', PHONE)
    await page.getByText(/of 9,992 online/).waitFor({ timeout: 30_000 })
    const events = new AbortController()
    const sending = sendEvents(send, events.signal)
    const devtools = await context.newCDPSession(page)
    await devtools.send('Emulation.setCPUThrottlingRate', { rate: SLOWER })
    await sleep(2_000)
    const gapsMs = await page.evaluate(scrollFor, SECONDS * 1_000)
    events.abort()
    await sending
    const frames = gapsMs.length / SECONDS
    const worst = gapsMs.toSorted((one, other) => other - one).slice(0, 5)
    // oxlint-disable-next-line eslint/no-console
    console.log(
      `${frames.toFixed(1)} frames a second, longest ${worst.map(Math.round).join(' ')} ms`,
    )
    await context.close()
    await test.stop()
    expect(frames).to.be.greaterThan(FRAMES_A_SECOND_MIN)
  })
})

async function sendEvents(send: (from: number) => Promise<void>, signal: AbortSignal) {
  for (let from = 0; !signal.aborted; from = (from + EVENTS_A_SECOND) % SENSORS) {
    await Promise.all([send(from), sleep(1_000)])
  }
}

/** In the page: scrolls at every frame. @returns milliseconds between frames */
function scrollFor(durationMs: number): Promise<number[]> {
  return new Promise((resolve) => {
    const gapsMs: number[] = []
    let startMs: number | undefined
    let beforeMs = 0
    const step = (nowMs: number) => {
      if (startMs !== undefined) gapsMs.push(nowMs - beforeMs)
      startMs ??= nowMs
      beforeMs = nowMs
      scrollBy(0, 30)
      if (nowMs - startMs < durationMs) requestAnimationFrame(step)
      else resolve(gapsMs)
    }
    requestAnimationFrame(step)
  })
}
