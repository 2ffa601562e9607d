// Goal: any number of tabs is right at once, over connections of which a browser has six. Method: a
// real browser with seven tabs, each of which shows a chart; the tab that hears the events for all
// is hidden, stopped or killed.

import { expect } from 'chai'
import type { BrowserContext, Page, Request } from 'playwright-core'
import { useChartPage } from './chart-page.ts'

const TABS = 7

describe('seven tabs of the chart page', () => {
  const test = useChartPage()
  let context: BrowserContext
  let tabs: Page[] = []
  /** The tabs that hear the events of the service now, each by its newest request. */
  const hearing = new Map<Page, Request>()

  before(async () => {
    const opened = await test().openSignedIn('healthz', { serviceWorkers: 'block' })
    context = opened.context
    await context.addInitScript(() => {
      const { setTimeout: wait, clearTimeout: clear } = globalThis
      const silences = new Map<ReturnType<typeof wait>, () => void>()
      Object.assign(globalThis, {
        setTimeout: (then: () => void, afterMs = 0) => {
          const id = wait(then, afterMs)
          if (afterMs === 20_000) silences.set(id, then)
          return id
        },
        clearTimeout: (id: ReturnType<typeof wait>) => {
          silences.delete(id)
          clear(id)
        },
        hearNothing: () => {
          for (const [id, then] of silences) {
            clearTimeout(id)
            then()
          }
        },
      })
    })
    tabs = [opened.page]
    while (tabs.length < TABS) tabs.push(await context.newPage())
    for (const tab of tabs) {
      tab.on('request', (request) => {
        if (request.url().endsWith('/events')) hearing.set(tab, request)
      })
      tab.on('requestfailed', (request) => {
        if (hearing.get(tab) === request) hearing.delete(tab)
      })
    }
    await Promise.all(tabs.map((tab) => tab.goto(`${test().url}#/sensors/1/1h`)))
  })
  after(() => context?.close())

  async function allFollow(temp: number, which = tabs): Promise<void> {
    await Promise.all(which.map((tab) => tab.getByText('Live', { exact: true }).waitFor()))
    await test().call('POST', 'measurements', { sn: 'cellar', temp })
    const shown = `${(temp - 0.4).toFixed(2)} °C`
    const highest = (tab: Page) => tab.locator('.readout div', { hasText: 'Highest' })
    for (const tab of which) {
      await tab.locator('.value').getByText(shown).waitFor()
      await highest(tab).getByText(shown).waitFor()
    }
  }

  function holder(): Page {
    const [only, ...others] = hearing.keys()
    if (only === undefined) throw new Error('no tab hears the events')
    expect(others).to.have.length(0)
    return only
  }

  const setHidden = (tab: Page, isHidden: boolean) =>
    tab.evaluate((hidden) => {
      Object.defineProperty(document, 'hidden', { value: hidden, configurable: true })
      document.dispatchEvent(new Event('visibilitychange'))
    }, isHidden)

  it('follow their sensors over one response', async () => {
    await allFollow(40)
    holder()
  })

  it('go on when that which has it is hidden, and so does that when it is seen', async () => {
    const hidden = holder()
    await setHidden(hidden, true)
    await allFollow(
      41,
      tabs.filter((tab) => tab !== hidden),
    )
    expect(holder()).not.to.equal(hidden)
    expect(await hidden.locator('.value').innerText()).not.to.include('40.60')
    await setHidden(hidden, false)
    await hidden.locator('.value').getByText('40.60 °C').waitFor()
    await allFollow(42)
    holder()
  })

  it('have no response while all are hidden, not even one that is opened so', async () => {
    await Promise.all(tabs.map((tab) => setHidden(tab, true)))
    const opened = await context.newPage()
    const asked: string[] = []
    opened.on('request', (request) => asked.push(request.url()))
    await opened.addInitScript(() => {
      Object.defineProperty(document, 'hidden', { value: true, configurable: true })
    })
    await opened.goto(`${test().url}#/sensors/1/1h`)
    await opened.locator('.readout dd', { hasText: '°' }).first().waitFor()
    await opened.waitForTimeout(500)
    expect(asked.filter((url) => url.endsWith('/events'))).to.deep.equal([])
    expect([...hearing]).to.have.length(0)
    await opened.close()
    await Promise.all(tabs.map((tab) => setHidden(tab, false)))
    await allFollow(43)
    holder()
  })

  it('go on when that which has the response is stopped', async () => {
    const stopped = holder()
    const response = hearing.get(stopped)
    const devTools = await context.newCDPSession(stopped)
    await devTools.send('Debugger.enable')
    await devTools.send('Debugger.pause')
    hearing.delete(stopped)
    const others = tabs.filter((tab) => tab !== stopped)
    await hearNothing(others)
    await expectHearing(others)
    await allFollow(44, others)
    if (response !== undefined) hearing.set(stopped, response)
    await devTools.send('Debugger.disable')
    await allFollow(45)
  })

  it('go on when that which has the response is killed', async () => {
    await expectHearing(tabs)
    const killed = holder()
    const devTools = await context.newCDPSession(killed)
    void devTools.send('Page.crash').catch(() => undefined)
    await killed.waitForEvent('crash')
    hearing.delete(killed)
    tabs = tabs.filter((tab) => tab !== killed)
    await hearNothing(tabs)
    await expectHearing(tabs)
    await allFollow(46)
    holder()
  })

  /** As after 20 s. */
  async function hearNothing(among: readonly Page[]): Promise<void> {
    const act = () => (globalThis as unknown as { hearNothing(): void }).hearNothing()
    await Promise.all(among.map((tab) => tab.evaluate(act)))
  }

  /** Waits until one of some tabs alone hears the events. */
  async function expectHearing(among: readonly Page[]): Promise<void> {
    while (hearing.size !== 1 || !among.some((tab) => hearing.has(tab))) {
      await among[0]?.waitForTimeout(50)
    }
  }
})
