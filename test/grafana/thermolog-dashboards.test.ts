// Goal: the dashboards and alert rules that ask Thermolog itself show the same on every store, and
// the numbers of the API. Method: each query as Grafana sends it, its variables filled in and its
// range on no edge of a window, held against the API's own answers.

import { expect } from 'chai'
import { firingOf, readAlertRules } from '../support/alert-rules.ts'
import {
  FLEET,
  HOUR_MS,
  MINUTE_MS,
  START_MS,
  STOP_MS,
  fillFleet,
  instant,
} from '../support/fleet.ts'
import { choicesOf, readDashboards, THERMOLOG_UIDS } from '../support/grafana.ts'
import type { Panel } from '../support/grafana.ts'
import { send } from '../support/http.ts'
import { ask, askRows } from '../support/influxql.ts'
import type { Row } from '../support/influxql.ts'
import type { TestService } from '../support/service.ts'
import { onEachStore } from '../support/stores.ts'
import { until } from '../support/until.ts'

const FROM_MS = START_MS + 12 * MINUTE_MS + 345
const TO_MS = STOP_MS - 7 * MINUTE_MS - 89
const DAY_MS = 24 * HOUR_MS
const INTERVAL = '1h'

/** A compensation by which the sensor that is silent is the warmest. */
const DIED_WARM = 60
const CHOSEN = ['1', '2']
const CELSIUS = '1 + 0'
const FAHRENHEIT = '1.8 + 32'

const dashboards = readDashboards().filter(({ uid }) => THERMOLOG_UIDS.includes(uid))

function asSent(query: string, { fromMs = FROM_MS, unit = CELSIUS } = {}): string {
  const variables: Readonly<Record<string, string>> = {
    sensor: '1',
    sensors: CHOSEN.join('|'),
    unit,
  }
  const text = query
    .replaceAll('$timeFilter', `time >= ${fromMs}ms and time <= ${TO_MS}ms`)
    .replaceAll('$__interval', INTERVAL)
    .replaceAll(/\$\{(\w+)(?::\w+)?\}/g, (whole, name: string) => variables[name] ?? whole)
  expect(text, 'what nothing replaces').not.to.match(/\$(?!\/)/)
  return text
}

/** To millionths, which is what the API gives. */
function rounded(row: Row, names: ReadonlySet<string>, change = (value: number) => value): Row {
  const entries = Object.entries(row).map(([name, value]) => {
    const isChanged = names.has(name) && typeof value === 'number'
    return [name, isChanged ? Number(change(value).toFixed(6)) : value]
  })
  return Object.fromEntries(entries)
}

describe('the Grafana dashboards of Thermolog', () => {
  it('are three', () => {
    expect(dashboards.map(({ uid }) => uid)).to.have.members(THERMOLOG_UIDS)
  })

  onEachStore((start) => {
    let service: TestService
    let token: string
    let sensors: readonly { id: number; online: boolean; latest: { temp: number } | null }[]
    let hours: readonly Row[]
    let raw: readonly Row[]

    before(async () => {
      service = await start()
      await fillFleet(service)
      await send(service.url, {
        method: 'PATCH',
        path: `/api/v1/sensors/${FLEET.attic.sensor_id}`,
        token: await service.createToken('a@example.org'),
        body: { compensation: DIED_WARM },
      })
      token = await service.createToken('a@example.org', { scope: ['sensors:read'] })
      await service.operations.run('sensor create', { user: 'a@example.org', sn: 'unborn' })
      const get = async (path: string) =>
        (await send(service.url, { path: `/api/v1/${path}`, token })).body.data
      const range = `from=${instant(FROM_MS)}&to=${instant(TO_MS)}`
      sensors = await get('sensors')
      hours = (await get(`sensors/1/measurements?${range}&bucket=hour&fill=null`)).points
      raw = (await get(`sensors/1/measurements?${range}&bucket=raw`)).points
    })
    after(() => service?.stop())

    const rowsOf = (q: string) => askRows(service.url, token, q)
    const panelOf = (dashboard: string, title: string): Panel => {
      const panels = dashboards.find((one) => one.title === dashboard)?.panels ?? []
      const panel = panels.find((one) => one.title.replace(' (${unit:text})', '') === title)
      if (panel === undefined) throw new Error(`${dashboard} has no panel ${title}`)
      return panel
    }
    const queryOf = (dashboard: string, title: string): string =>
      panelOf(dashboard, title).targets[0]?.query ?? ''
    const panel = async (dashboard: string, title: string): Promise<readonly Row[]> => {
      const rows = await rowsOf(asSent(queryOf(dashboard, title)))
      const { transformations = [] } = panelOf(dashboard, title)
      const filters = transformations.flatMap(({ options }) => options.filters ?? [])
      return rows
        .filter((row) =>
          filters.every(({ fieldName, config }) => row[fieldName] === config.options.value),
        )
        .map(({ time: _time, ...rest }) => rest)
    }
    const column = (rows: readonly Row[], name: string) => rows.map((row) => row[name])

    it('answer every panel and every variable', async () => {
      for (const { panels, templating } of dashboards) {
        for (const { title, targets } of panels) {
          for (const { query } of targets) {
            expect(await rowsOf(asSent(query)), title).not.to.have.lengthOf(0)
          }
        }
        for (const { type, query, regex = '' } of templating.list) {
          if (type !== 'query') continue
          const text = typeof query === 'string' ? query : query.query
          const pattern = new RegExp(regex.slice(1, -1))
          const values = column(await rowsOf(text), 'value')
          expect(
            values.map((value) => pattern.exec(String(value))?.groups?.['value']),
          ).to.have.members(['1', '2', String(sensors.at(-1)?.id)])
        }
      }
    })

    it('show every temperature in °F too, and nothing else', async () => {
      for (const { panels, templating } of dashboards) {
        const units = templating.list.filter(({ name }) => name === 'unit')
        expect(units.map(choicesOf)).to.deep.equal([{ '°C': CELSIUS, '°F': FAHRENHEIT }])
        for (const { query } of panels.flatMap(({ targets }) => targets)) {
          const inCelsius = await rowsOf(asSent(query))
          const inFahrenheit = await rowsOf(asSent(query, { unit: FAHRENHEIT }))
          const temps = new Set(
            [...query.matchAll(/(?:(min|mean|max)\()?"temp"/g)].map(([, name = 'temp']) => name),
          )
          expect(
            inFahrenheit.map((row) => rounded(row, temps)),
            query,
          ).to.deep.equal(
            inCelsius.map((row) => rounded(row, temps, (celsius) => celsius * 1.8 + 32)),
          )
        }
      }
    })

    it('show the fleet as the API does', async () => {
      const online = sensors.filter((sensor) => sensor.online)
      const latest = online.flatMap((sensor) => sensor.latest?.temp ?? [])
      expect(await panel('Fleet', 'Sensors')).to.deep.equal([{ count: sensors.length }])
      expect(await panel('Fleet', 'Online')).to.deep.equal([{ sum: online.length }])
      expect(column(await panel('Fleet', 'Warmest now'), 'temp')).to.deep.equal(latest)
      const shown = column(await panel('Fleet', 'Latest values'), 'temp')
      expect(shown).to.have.members(sensors.map((sensor) => sensor.latest?.temp ?? null))
      const compared = await panel('Fleet', 'Sensors compared')
      const cellar = compared.filter(({ name }) => name === FLEET.cellar.alias)
      expect(column(cellar, 'mean')).to.deep.equal(column(hours, 'temp'))
      expect(await panel('Fleet', 'Drawn')).to.deep.equal([{ count: CHOSEN.length }])
      const listed = column(await panel('Fleet', 'Chosen sensors, warmest first'), 'sensor_id')
      expect([...new Set(listed)]).to.have.members(CHOSEN)
    })

    it('show a sensor as its history does, gaps included', async () => {
      const temperature = await panel('Sensor', 'Temperature')
      expect(column(temperature, 'mean')).to.deep.equal(column(hours, 'temp'))
      expect(column(temperature, 'min')).to.deep.equal(column(hours, 'min'))
      expect(column(temperature, 'max')).to.deep.equal(column(hours, 'max'))
      expect(column(temperature, 'mean')).to.include(null)
      const counts = column(await panel('Sensor', 'Measurements per window'), 'count')
      expect(counts).to.deep.equal(column(hours, 'count'))
      const values = await panel('Sensor', 'Single values')
      expect(column(values, 'temp')).to.deep.equal(column(raw, 'temp').toReversed())
      expect(await panel('Sensor', 'Measurements')).to.deep.equal([{ count: raw.length }])
    })

    it('show which sensors are silent', async () => {
      const silences = await panel('Data health', 'Silence of each sensor')
      const bySensor = Object.fromEntries(silences.map((row) => [row['sensor_id'], row['silence']]))
      expect(bySensor).to.include({ '1': 600, '2': 23 * 3_600 + 600 })
      expect(silences).to.have.lengthOf(sensors.length)
    })

    it('show whether all can be read', async () => {
      await until('the measurements are in the store', async () => {
        const [row] = await panel('Data health', 'Not readable yet')
        return row?.['sum'] === 0
      })
    })

    it('fire for each sensor that is silent, and for no other', async () => {
      const firing: Record<string, readonly unknown[]> = {}
      for (const rule of readAlertRules()) {
        const asked = (q: string) => ask(service.url, token, asSent(q, { fromMs: TO_MS - HOUR_MS }))
        firing[rule.title] = await firingOf(rule, asked)
      }
      expect(firing).to.deep.equal({
        'Sensor too warm': [],
        'Sensor too cold': [],
        'Sensor silent': [FLEET.attic.alias],
        'Thermolog cannot be asked': [],
      })
    })

    it('show the single values of any week, and say that more is too much', async () => {
      const query = queryOf('Sensor', 'Single values')
      service.clock.set(instant(STOP_MS + 20 * DAY_MS))
      expect(column(await rowsOf(asSent(query)), 'temp')).to.have.lengthOf(raw.length)
      const { error } = await ask(service.url, token, asSent(query, { fromMs: TO_MS - 8 * DAY_MS }))
      expect(error).to.match(/at most 7 days/)
    })
  })
})
