// Goal: Grafana itself takes the provisioning, answers every panel from Thermolog and evaluates the
// alert rules. Method: its server, with the repository's files, beside a service of the test.

import { expect } from 'chai'
import { GrafanaServer, hasGrafana } from '../support/grafana-server.ts'
import { readDashboards, THERMOLOG_UIDS } from '../support/grafana.ts'
import { sendBatch } from '../support/http.ts'
import { leaveOut } from '../support/left-out.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'
import { until } from '../support/until.ts'

const RANGES = { hour: 1, day: 24, week: 168, month: 720, year: 8_760 }
const HOUR_MS = 3_600_000
const FIRED_MS_MAX = 120_000
const USUAL_SENSORS = 995
const SENSOR_RULES = ['Sensor too warm', 'Sensor too cold', 'Sensor silent']
const VARIABLES: Readonly<Record<string, string>> = {
  sensor: '2',
  sensors: '[0-9]+',
  unit: '1.8 + 32',
}

interface Frame {
  readonly schema: { readonly fields: readonly { readonly labels?: Record<string, string> }[] }
  readonly data: { readonly values: readonly (readonly unknown[])[] }
}

interface Rule {
  readonly name: string
  readonly state: string
  readonly health: string
  readonly alerts?: readonly {
    readonly state: string
    readonly labels: Record<string, string>
  }[]
}

const dashboards = readDashboards().filter(({ uid }) => THERMOLOG_UIDS.includes(uid))

describe('a real Grafana', () => {
  let service: TestService
  let grafana: GrafanaServer

  before(async function () {
    if (!hasGrafana()) leaveOut(this, 'grafana')
    service = await startService()
    const token = await service.createToken('a@example.org')
    const nowMs = Date.now()
    const at = (ms: number) => new Date(ms).toISOString()
    await service.operations.run('sensor create', { user: 'a@example.org', sn: 'never-sent' })
    // Ahead of the registration, for one to be silent and the others not.
    service.clock.set(at(nowMs + HOUR_MS))
    const times = [...Array(60).keys(), -60].map((minute) => at(nowMs - minute * 60_000))
    for (const [sn, temp] of [['hot', 40] as const, ['cold', -5] as const, ['fine', 20] as const]) {
      const readings = times.map((timestamp) => ({ sn, temp, timestamp }))
      await sendBatch(service.url, token, readings)
    }
    const reading = (sn: string, temp: number, atMs: number) => ({ sn, temp, timestamp: at(atMs) })
    const usual = Array.from({ length: USUAL_SENSORS }, (_, index) =>
      reading(`s-${index}`, 20, nowMs + HOUR_MS),
    )
    await sendBatch(service.url, token, usual.slice(0, 500))
    await sendBatch(service.url, token, usual.slice(500))
    await sendBatch(service.url, token, [
      reading('died-warm', 40, nowMs),
      reading('silent', 20, nowMs),
    ])
    grafana = await GrafanaServer.start({
      url: service.url,
      token: await service.createToken('a@example.org', { scope: ['sensors:read'] }),
      change: (text) =>
        text
          .replaceAll('isPaused: true', 'isPaused: false')
          .replaceAll(/ for: \d+m/g, ' for: 0s')
          .replaceAll('interval: 1m\n    rules', 'interval: 10s\n    rules'),
    })
  })
  after(async () => {
    await grafana?.stop()
    await service?.stop()
  })

  it('takes the provisioning without an error', () => {
    expect(grafana.errors).to.deep.equal([])
  })

  it('finds the data source healthy', async () => {
    const { status, body } = await grafana.ask('/api/datasources/uid/thermolog/health')
    expect([status, body]).to.deep.equal([
      200,
      { message: 'datasource is working. 2 measurements found', status: 'OK' },
    ])
  })

  it('is told of a wrong token', async () => {
    const { body } = await grafana.ask('/api/datasources', {
      name: 'wrong',
      type: 'influxdb',
      access: 'proxy',
      url: service.url,
      jsonData: {
        version: 'InfluxQL',
        dbName: 'x',
        httpMode: 'POST',
        httpHeaderName1: 'Authorization',
      },
      secureJsonData: { httpHeaderValue1: 'Bearer thd_live_wrong' },
    })
    const { uid } = (body as { datasource: { uid: string } }).datasource
    const health = await grafana.ask(`/api/datasources/uid/${uid}/health`)
    expect(health.status).to.equal(400)
    expect(JSON.stringify(health.body)).to.contain('invalid token')
  })

  for (const [name, hours] of Object.entries(RANGES)) {
    it(`shows every panel of a ${name}`, async () => {
      const to = Date.now() - 321
      const from = to - hours * HOUR_MS
      for (const { title, panels } of dashboards) {
        for (const panel of panels) {
          const queries = panel.targets.map((target) => ({
            ...target,
            datasource: { type: 'influxdb', uid: 'thermolog' },
            query: target.query.replaceAll(
              /\$\{(\w+)(?::\w+)?\}/g,
              (_, key: string) => VARIABLES[key] ?? '',
            ),
            intervalMs: Math.max(60_000, Math.ceil((to - from) / 500)),
            maxDataPoints: 500,
          }))
          const { status, body } = await grafana.ask('/api/ds/query', {
            queries,
            from: String(from),
            to: String(to),
          })
          const place = `${title}: ${panel.title}: ${JSON.stringify(body).slice(0, 300)}`
          // Single values are of a week at most.
          const isTooLong = panel.title === 'Single values' && hours > RANGES.week
          expect(status, place).to.equal(isTooLong ? 400 : 200)
          if (isTooLong) continue
          const { results } = body as { results: Record<string, { frames: Frame[] }> }
          const [first] = results['A']?.frames ?? []
          expect(first?.data.values[0]?.length, place).to.be.greaterThan(0)
        }
      }
    })
  }

  it('fires for each sensor too warm, too cold or silent', async () => {
    const rules = await rulesWhen('every sensor rule fires', (all) =>
      SENSOR_RULES.every((name) => isFiring(all, name)),
    )
    const found = Object.fromEntries(rules.map((rule) => [rule.name, namesIn(rule, 'Alerting')]))
    expect(found).to.deep.equal({
      'Sensor too warm': ['hot'],
      'Sensor too cold': ['cold'],
      'Sensor silent': ['died-warm', 'never-sent', 'silent'],
      'Thermolog cannot be asked': [],
    })
    expect(rules.map(({ health }) => health)).to.deep.equal(['ok', 'ok', 'ok', 'ok'])
  })

  function namesIn({ alerts = [] }: Rule, state: string): readonly string[] {
    const those = alerts.filter((alert) => alert.state.startsWith(state))
    return those.map(({ labels }) => labels['name'] ?? '').toSorted()
  }

  function isFiring(rules: readonly Rule[], name: string): boolean {
    return rules.some((rule) => rule.name === name && rule.state === 'firing')
  }

  async function rulesWhen(
    what: string,
    isSo: (rules: readonly Rule[]) => boolean,
  ): Promise<readonly Rule[]> {
    let rules: readonly Rule[] = []
    const look = async () => {
      const { body } = await grafana.ask('/api/prometheus/grafana/api/v1/rules')
      const { groups } = (body as { data: { groups: { rules: Rule[] }[] } }).data
      rules = groups.flatMap((group) => group.rules)
      return isSo(rules)
    }
    await until(what, look, FIRED_MS_MAX)
    return rules
  }
})
