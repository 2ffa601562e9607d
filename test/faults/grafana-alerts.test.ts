// Goal: people are told of each sensor in trouble and of an outage, and never that all is well
// before a value says so. Method: a real Grafana with the repository's rules and its own
// Alertmanager, each minute of the rules shorter; its messages are taken at a webhook, in order.

import { expect } from 'chai'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { startWorker } from '../../src/threads/start-threads.ts'
import { FaultProxy } from '../support/fault-proxy.ts'
import { GrafanaServer, hasGrafana } from '../support/grafana-server.ts'
import { send, sendBatch } from '../support/http.ts'
import { leaveOut } from '../support/left-out.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'
import { until } from '../support/until.ts'

const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000
/** Of 10 s, as short as Grafana allows: `for` is one, what lasts ten minutes two or three. */
const EVALUATIONS_MS_MAX = 90_000

const SHORTER: readonly (readonly [shipped: string | RegExp, short: string])[] = [
  ['isPaused: true', 'isPaused: false'],
  ['interval: 1m\n    rules', 'interval: 10s\n    rules'],
  [/ for: \d+m/g, ' for: 10s'],
  ['keepFiringFor: 10m', 'keepFiringFor: 20s'],
  ['missing_series_evals_to_resolve: 10', 'missing_series_evals_to_resolve: 3'],
]

const OUTAGE = 'DatasourceError: Grafana gets no measurements from Thermolog, or not in time'

interface Message {
  readonly alerts: readonly {
    readonly status: 'firing' | 'resolved'
    readonly labels: Readonly<Record<string, string>>
    readonly annotations: Readonly<Record<string, string>>
  }[]
}

describe('the alerts of a real Grafana', () => {
  /** Since the last look. */
  let told: string[] = []
  const webhook = createServer((request, response) => {
    take(request).then(
      () => response.end(),
      (error: Error) => response.destroy(error),
    )
  })
  let service: TestService
  let proxy: FaultProxy
  let grafana: GrafanaServer
  let token: string

  before(async function () {
    if (!hasGrafana()) leaveOut(this, 'grafana')
    service = await startService({}, startWorker)
    await service.operations.run('user create', { email: 'a@example.org' })
    await service.operations.run('sensor create', { user: 'a@example.org', sn: 'never' })
    token = await service.createToken('a@example.org')
    service.clock.set(new Date().toISOString())
    await measure({ fine: 20 })
    // Ahead of the registration, by the machine's clock.
    service.clock.advanceMs(HOUR_MS)
    await measure({ hot: 45, cold: -18, dying: 50, old: 48, fine: 20 })
    proxy = await FaultProxy.start(service.url)
    webhook.listen(0, '127.0.0.1')
    await once(webhook, 'listening')
    grafana = await GrafanaServer.start({
      url: proxy.url,
      token: await service.createToken('a@example.org', { scope: ['sensors:read'] }),
      change: (text) =>
        SHORTER.reduce((changed, [shipped, short]) => changed.replaceAll(shipped, short), text),
      webhook: `http://127.0.0.1:${(webhook.address() as AddressInfo).port}`,
    })
  })
  after(async () => {
    await grafana?.stop()
    await proxy?.close()
    webhook.closeAllConnections()
    webhook.close()
    await service?.stop()
  })

  it('tell of each sensor in trouble', async () => {
    await untilTold(5)
    expect(lookAtTold().toSorted()).to.deep.equal([
      'firing Sensor silent: never has been silent for 1h 0m 0s',
      'firing Sensor too cold: cold is at -18 °C',
      'firing Sensor too warm: dying is at 50 °C',
      'firing Sensor too warm: hot is at 45 °C',
      'firing Sensor too warm: old is at 48 °C',
    ])
  })

  it('say nothing of a restart, and once of an outage that it is one', async () => {
    proxy.useFor(8, { kind: 'cut' })
    await evaluated()
    proxy.use({ kind: 'cut' })
    await untilTold(1)
    expect(lookAtTold()).to.deep.equal([`firing ${OUTAGE}`])
    await grafana.restart()
    await untilActive(6)
    proxy.resume()
    await untilTold(1)
    await evaluated()
    expect(lookAtTold()).to.deep.equal([`resolved ${OUTAGE}`])
  })

  it('tell what a sensor is in now before they say that it is in nothing', async () => {
    service.clock.advanceMs(16 * MINUTE_MS)
    await measure({ hot: 45, cold: 5, old: 48, fine: 20 })
    const { id } = await sensorOf('old')
    const body = { alias: 'new' }
    await send(service.url, { method: 'PATCH', path: `/api/v1/sensors/${id}`, token, body })
    await untilTold(5)
    const messages = lookAtTold()
    expect(messages.filter((message) => / (old|new) /.test(message))).to.deep.equal([
      'firing Sensor too warm: new is at 48 °C',
      'resolved Sensor too warm: old is at 48 °C',
    ])
    expect(messages.filter((message) => / dying /.test(message))).to.deep.equal([
      'firing Sensor silent: dying has been silent for 16m 0s',
      'resolved Sensor too warm: dying is offline, its last value is 50 °C',
    ])
    expect(messages.filter((message) => / cold /.test(message))).to.deep.equal([
      'resolved Sensor too cold: cold is at 5 °C',
    ])
  })

  async function take(request: IncomingMessage): Promise<void> {
    const { alerts } = (await json(request)) as Message
    for (const { status, labels, annotations } of alerts) {
      told.push(`${status} ${labels['alertname']}: ${annotations['summary']}`)
    }
  }

  function measure(temps: Readonly<Record<string, number>>) {
    const timestamp = new Date(service.clock.nowMs()).toISOString()
    const readings = Object.entries(temps).map(([sn, temp]) => ({ sn, temp, timestamp }))
    return sendBatch(service.url, token, readings)
  }

  async function sensorOf(sn: string): Promise<{ id: number }> {
    const { body } = await send(service.url, { path: '/api/v1/sensors', token })
    return body.data.find((sensor: { sn: string }) => sensor.sn === sn)
  }

  /** Resolves when every rule has been evaluated once more. */
  async function evaluated(): Promise<void> {
    const times = async () => {
      const { body } = await grafana.ask('/api/prometheus/grafana/api/v1/rules')
      const { groups } = (body as { data: { groups: { rules: { lastEvaluation: string }[] }[] } })
        .data
      return groups.flatMap(({ rules }) => rules.map(({ lastEvaluation }) => lastEvaluation))
    }
    const before = await times()
    const isAfter = async () => (await times()).every((time, at) => time > (before[at] ?? ''))
    await until('every rule is evaluated', isAfter, EVALUATIONS_MS_MAX)
  }

  /** Resolves when the Alertmanager has so many, of which a new one is sent them again. */
  function untilActive(count: number): Promise<void> {
    const isSo = async () => {
      const { body } = await grafana.ask('/api/alertmanager/grafana/api/v2/alerts')
      return (body as readonly unknown[]).length === count
    }
    return until(`${count} alerts are active`, isSo, EVALUATIONS_MS_MAX)
  }

  function untilTold(count: number): Promise<void> {
    return until(`${count} messages`, () => told.length >= count, EVALUATIONS_MS_MAX)
  }

  function lookAtTold(): readonly string[] {
    const messages = told
    told = []
    return messages
  }
})
