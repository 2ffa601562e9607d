// Goal: each alert rule fires for the sensors that it is about and for no other, in a fleet of any
// size. Method: 1,001 sensors, and the rules' queries and expressions as Grafana computes them.

import { expect } from 'chai'
import { firingOf, readAlertRules } from '../support/alert-rules.ts'
import { HOUR_MS, MINUTE_MS } from '../support/fleet.ts'
import { sendBatch } from '../support/http.ts'
import { ask } from '../support/influxql.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

const USER = 'a@example.org'
const SENSORS = 1_001

/** How long Grafana may hold back what belongs to a message already sent. */
const HELD_MINUTES = 5

/** An hour after what a command registers now. */
const NOW_MS = Date.now() + HOUR_MS
const rules = readAlertRules()
const at = (ms: number) => new Date(ms).toISOString()
const minutesOf = (duration = '') => Number(/^(\d+)m$/.exec(duration)?.[1])

describe('the alert rules for Grafana', () => {
  let service: TestService
  before(async () => {
    service = await startService()
  })
  after(() => service?.stop())

  /** Of each rule, by its title. */
  async function firing(token: string): Promise<Readonly<Record<string, readonly unknown[]>>> {
    const range = `time >= ${NOW_MS - 15 * MINUTE_MS}ms and time <= ${NOW_MS}ms`
    const asked = (statement: string) =>
      ask(service.url, token, statement.replace('$timeFilter', range))
    const found: Record<string, readonly unknown[]> = {}
    for (const rule of rules) found[rule.title] = await firingOf(rule, asked)
    return found
  }

  it('are off', () => {
    expect(rules.map(({ title, isPaused }) => [title, isPaused])).to.deep.equal([
      ['Sensor too warm', true],
      ['Sensor too cold', true],
      ['Sensor silent', true],
      ['Thermolog cannot be asked', true],
    ])
  })

  it('tell of silence, and of a sensor under its new name, before an alert ends', () => {
    const silent = rules.find(({ title }) => title === 'Sensor silent')
    const silentMinutes = minutesOf(silent?.for)
    for (const rule of rules.filter(({ execErrState }) => execErrState === 'KeepLast')) {
      expect(rule.missing_series_evals_to_resolve, rule.title).to.be.above(minutesOf(rule.for) + 1)
      if (rule === silent) continue
      expect(minutesOf(rule.keepFiringFor), rule.title).to.be.above(silentMinutes + HELD_MINUTES)
    }
  })

  it('fire for the one of many sensors that is too warm, too cold or silent', async () => {
    const token = await service.createToken(USER)
    const submit = (atMs: number, sensors: readonly (readonly [sn: string, temp: number])[]) =>
      sendBatch(
        service.url,
        token,
        sensors.map(([sn, temp]) => ({ sn, temp, timestamp: at(atMs) })),
      )
    service.clock.set(at(NOW_MS - HOUR_MS))
    await service.operations.run('sensor create', { user: USER, sn: 'never-sent' })
    await submit(NOW_MS - HOUR_MS, [
      ['died-cold', -18],
      ['died-warm', 45],
      ['silent', 20],
    ])
    service.clock.set(at(NOW_MS))
    const usual = Array.from({ length: SENSORS - 6 }, (_, index) => [`s-${index}`, 20] as const)
    await submit(NOW_MS - MINUTE_MS, usual.slice(0, 500))
    await submit(NOW_MS - MINUTE_MS, usual.slice(500))
    // By name after all others.
    await submit(NOW_MS - MINUTE_MS, [
      ['warm', 45],
      ['very-cold', -18],
    ])
    expect(await firing(token)).to.deep.equal({
      'Sensor too warm': ['warm'],
      'Sensor too cold': ['very-cold'],
      'Sensor silent': ['died-cold', 'died-warm', 'never-sent', 'silent'],
      'Thermolog cannot be asked': [],
    })
  })

  it('fire for nothing where there is nothing', async () => {
    const none = Object.fromEntries(rules.map(({ title }) => [title, []]))
    expect(await firing(await service.createToken('nobody@example.org'))).to.deep.equal(none)
  })
})
