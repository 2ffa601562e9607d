import { InfluxDB } from '@influxdata/influxdb-client'
import { expect } from 'chai'
import {
  FLEET,
  HOUR_MS,
  MINUTE_MS,
  NEWEST_MS,
  START_MS,
  STOP_MS,
  fillFleet,
  instant,
} from '../support/fleet.ts'
import { interpolate, OPERATIONS_UID, readDashboards, THERMOLOG_UIDS } from '../support/grafana.ts'
import type { Panel, Variable, View } from '../support/grafana.ts'
import { newBucket, newToken, useInflux } from '../support/influx.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'
import { until } from '../support/until.ts'

type Row = Readonly<Record<string, unknown>>
type Expected = (rows: readonly Row[]) => void

const dashboards = readDashboards().filter(
  ({ uid }) => uid !== OPERATIONS_UID && !THERMOLOG_UIDS.includes(uid),
)
const queriedVariables = dashboards.flatMap((dashboard) =>
  dashboard.templating.list
    .filter(({ type }) => type === 'query')
    .map((variable) => ({ dashboard, variable })),
)
const panels = dashboards.flatMap((dashboard) =>
  dashboard.panels.map((panel) => ({ dashboard, panel })),
)

/** The only row's only value. */
function single(value: number): Expected {
  return (rows) => {
    expect(rows.map((row) => Object.values(row))).to.deep.equal([[value]])
  }
}

function hasRows(...expected: readonly Row[]): Expected {
  return (rows) => {
    expect(rows).to.deep.equal(expected)
  }
}

const { cellar, attic, barn, silent } = FLEET
const CELLAR_AT_NIGHT = instant(START_MS + 5 * HOUR_MS)

/** What each panel shows of the fleet. */
const EXPECTED: Readonly<Record<string, Readonly<Record<string, Expected>>>> = {
  'Fleet overview (InfluxDB)': {
    Sensors: single(4),
    'Active sensors': single(2),
    Measurements: single(126 + 6 + 12),
    'Warmest now': single(30.25),
    'Coldest, average and warmest sensor': (rows) => {
      expect(rows).to.have.lengthOf(24)
      expect(rows[5]).to.deep.equal({
        _time: CELLAR_AT_NIGHT,
        coldest: null,
        average: null,
        warmest: null,
      })
      expect(rows[0]).to.deep.equal({
        _time: instant(START_MS),
        coldest: 7,
        average: (7 + 11.5) / 2,
        warmest: 11.5,
      })
      expect(rows.at(-1)).to.have.property('warmest', 30.25)
    },
    'Sensors compared': (rows) => {
      expect(rows).to.have.lengthOf(24)
      expect(rows[0]).to.deep.equal({
        _time: instant(START_MS),
        'Cellar (28FF641E93160434) #1': 11.5,
        'Barn (barn) #3': null,
      })
      expect(rows.at(-1)).to.include({ 'Barn (barn) #3': 30.25 })
    },
    Drawn: single(2),
    'Latest values': hasRows(
      {
        ...barn,
        measured: instant(STOP_MS - HOUR_MS),
        temp: 30.25,
        raw: 30,
        compensation: 0.25,
      },
      { ...cellar, measured: instant(NEWEST_MS), temp: 11.5, raw: 12, compensation: -0.5 },
      { ...attic, measured: instant(START_MS + 50 * MINUTE_MS), temp: 7, raw: 7, compensation: 0 },
      { ...silent, measured: null, temp: null, raw: null, compensation: 0 },
    ),
  },
  'One sensor (InfluxDB)': {
    Sensor: hasRows({ ...cellar, compensation: -0.5 }),
    'Latest temperature': single(11.5),
    Measurements: single(126),
    Temperature: (rows) => {
      expect(rows).to.have.lengthOf(24)
      expect(rows[0]).to.deep.equal({
        _time: instant(START_MS),
        min: 10.5,
        mean: 11.5,
        max: 12.5,
      })
      expect(rows[5]).to.deep.equal({ _time: CELLAR_AT_NIGHT, min: null, mean: null, max: null })
    },
    'Measurements per window': (rows) => {
      const counts = rows.map(({ measurements }) => measurements)
      const withGap = Array.from({ length: 24 }, (_, hour) => (hour > 4 && hour < 8 ? 0 : 6))
      expect(counts).to.deep.equal(withGap)
    },
    'Names and compensation over time': (rows) => {
      const names = rows.map(({ alias, compensation }) => ({ alias, compensation }))
      expect(names).to.deep.equal([
        { alias: 'Cellar', compensation: -0.5 },
        { alias: 'Basement "north"', compensation: 1 },
        { alias: cellar.sn, compensation: 0 },
      ])
      expect(rows.at(-1)).to.have.property('since', instant(START_MS))
    },
    'Longest pauses': (rows) => {
      expect(rows[0]).to.deep.equal({
        until: instant(START_MS + 8 * HOUR_MS),
        pause: 3 * 3_600 + 600,
      })
      expect(rows[1]).to.have.property('pause', 600)
    },
    'Raw values': (rows) => {
      expect(rows).to.have.lengthOf(126)
      expect(rows[0]).to.deep.equal({ time: NEWEST_MS, temp: 12 })
    },
  },
  'Data health (InfluxDB)': {
    'Silent sensors': single(2),
    Gaps: single(1),
    'Sensors with late data': single(1),
    'Measurements of all sensors': (rows) => {
      expect(rows).to.have.lengthOf(24)
      expect(rows[0]).to.deep.equal({ _time: instant(START_MS), measurements: 12 })
      expect(rows[5]).to.have.property('measurements', 0)
    },
    'Newest measurement of each sensor': hasRows(
      { ...silent, measured: null, behind: null },
      { ...attic, measured: instant(START_MS + 50 * MINUTE_MS), behind: 23 * 3_600 + 600 },
      { ...barn, measured: instant(STOP_MS - HOUR_MS), behind: 3_600 },
      { ...cellar, measured: instant(NEWEST_MS), behind: 600 },
    ),
    'Longest gaps': hasRows({
      ...cellar,
      from: instant(START_MS + 5 * HOUR_MS),
      until: instant(START_MS + 8 * HOUR_MS),
      gap: 3 * 3_600,
    }),
    'Late data': hasRows({
      ...barn,
      registered: instant(STOP_MS),
      first: instant(STOP_MS - 12 * HOUR_MS),
      late: 12 * 3_600,
    }),
  },
}

const VIEW = {
  start: instant(START_MS),
  stop: instant(STOP_MS),
  windowPeriod: '1h0m0s',
  variables: { sensor: '1', sensors: '1|3', silence: '1h', gap: '1h' },
}

describe('the Grafana dashboards', () => {
  const influx = useInflux()
  let service: TestService
  let influxBucket: string
  let emptyBucket: string
  let readToken: string
  let readEmptyToken: string
  before(async () => {
    const bucket = await newBucket(influx())
    const empty = await newBucket(influx())
    influxBucket = bucket.influxBucket
    emptyBucket = empty.influxBucket
    readToken = await newToken(influx(), bucket, ['read'])
    readEmptyToken = await newToken(influx(), empty, ['read'])
    service = await startService({
      INFLUX_URL: bucket.url,
      INFLUX_ORG: bucket.organization,
      INFLUX_BUCKET: bucket.influxBucket,
      INFLUX_TOKEN: await newToken(influx(), bucket, ['read', 'write']),
    })
    await fillFleet(service)
    await waitForForwarded()
  })
  after(() => service?.stop())

  const queryFlux = (query: string, token = readToken) =>
    new InfluxDB({ url: influx().url, token })
      .getQueryApi(influx().organization)
      .collectRows<Row>(query)

  async function waitForForwarded(): Promise<void> {
    const count = `from(bucket: "${influxBucket}") |> range(start: 0)
      |> filter(fn: (r) => r._field != "sn" and r._field != "alias")
      |> count() |> group() |> sum()`
    await until('the measurements are in InfluxDB', async () => {
      // The measurements, four registrations, three changes.
      return (await queryFlux(count))[0]?.['_value'] === 144 + 7
    })
  }

  async function queryInfluxql(query: string, bucket: string, token: string): Promise<Row[]> {
    const answer = await fetch(`${influx().url}/query`, {
      method: 'POST',
      headers: { authorization: `Token ${token}` },
      body: new URLSearchParams({ db: bucket, epoch: 'ms', q: query }),
    })
    const { results } = (await answer.json()) as {
      results: { error?: string; series?: { columns: string[]; values: unknown[][] }[] }[]
    }
    if (results[0]?.error !== undefined) throw new Error(results[0].error)
    return (results[0]?.series ?? []).flatMap(({ columns, values }) =>
      values.map((row) => Object.fromEntries(columns.map((column, at) => [column, row[at]]))),
    )
  }

  async function answerPanel(panel: Panel, view: View, token: string): Promise<Row[]> {
    const rows: Row[] = []
    for (const { datasource, query } of panel.targets) {
      const text = interpolate(query, view)
      const answer =
        datasource.uid === '${influxql}'
          ? await queryInfluxql(text, view.influxBucket, token)
          : await queryFlux(text, token)
      rows.push(...answer.map(withoutPlumbing))
    }
    return rows
  }

  for (const { dashboard, panel } of panels) {
    it(`answer "${panel.title}" of "${dashboard.title}"`, async () => {
      const rows = await answerPanel(panel, { ...VIEW, influxBucket }, readToken)
      const expected = EXPECTED[dashboard.title]?.[panel.title]
      expect(expected, 'what the panel is expected to show').not.to.equal(undefined)
      expected?.(rows)
    })
  }

  for (const { dashboard, variable } of queriedVariables) {
    it(`offer sensors by name as "${variable.name}" of "${dashboard.title}"`, async () => {
      const query = interpolate(queryOf(variable), { ...VIEW, influxBucket })
      const answers = (await queryFlux(query)).map(({ _value: value }) => String(value))
      const pattern = new RegExp((variable.regex ?? '').slice(1, -1))
      expect(answers.map((answer) => ({ ...pattern.exec(answer)?.groups }))).to.deep.equal([
        { text: 'Barn (barn)', value: '3' },
        { text: 'Cellar (28FF641E93160434)', value: '1' },
        { text: 'attic-2', value: '2' },
        { text: 'never-sent', value: '4' },
      ])
    })
  }

  it('show nothing, and no error, of an empty bucket', async () => {
    const view = { ...VIEW, influxBucket: emptyBucket }
    for (const { dashboard, panel } of panels) {
      const rows = await answerPanel(panel, view, readEmptyToken)
      expect(rows, `${dashboard.title}: ${panel.title}`).to.deep.equal([])
    }
    for (const { variable } of queriedVariables) {
      expect(await queryFlux(interpolate(queryOf(variable), view), readEmptyToken)).to.deep.equal(
        [],
      )
    }
  })

  it('draw the warmest and the coldest of many sensors', async () => {
    const many = await newBucket(influx())
    const temps = Array.from({ length: 118 }, () => 20)
    const lines = [...temps, 45, -18].flatMap((temp, index) => {
      const tags = `user_id=1,sensor_id=${index + 1}`
      const compensation = temp > 20 ? 1 : 0
      const info = `sn="s-${index + 1}",alias="s-${index + 1}",compensation=${compensation}`
      return [
        `temperature,${tags} temp=${temp} ${NEWEST_MS}`,
        `sensor_info,${tags} ${info} ${START_MS}`,
      ]
    })
    const query = new URLSearchParams({
      org: influx().organization,
      bucket: many.influxBucket,
      precision: 'ms',
    })
    const answer = await fetch(`${influx().url}/api/v2/write?${query.toString()}`, {
      method: 'POST',
      headers: { authorization: `Token ${influx().influxToken}` },
      body: lines.join('\n'),
    })
    expect(answer.status).to.equal(204)
    const variables = { ...VIEW.variables, sensors: '[0-9]+' }
    const view = { ...VIEW, variables, influxBucket: many.influxBucket }
    const show = async (title: string) => {
      const found = panels.find(({ panel }) => panel.title === title)
      if (found === undefined) throw new Error(`no panel ${title}`)
      return answerPanel(found.panel, view, influx().influxToken)
    }
    const { _time, ...newest } = (await show('Sensors compared')).at(-1) ?? {}
    expect(Object.keys(newest)).to.have.lengthOf(100)
    expect(newest).to.include({ 's-119 #119': 46, 's-120 #120': -18 })
    expect(await show('Drawn')).to.deep.equal([{ sensors: 120 }])
  })

  it('show sensors by name in a period without measurements', async () => {
    const [start, stop] = [instant(START_MS - 2 * HOUR_MS), instant(START_MS - HOUR_MS)]
    const rowsByTitle = new Map<string, Row[]>()
    for (const { panel } of panels) {
      rowsByTitle.set(
        panel.title,
        await answerPanel(panel, { ...VIEW, influxBucket, start, stop }, readToken),
      )
    }
    for (const title of ['Latest values', 'Newest measurement of each sensor']) {
      const rows = rowsByTitle.get(title) ?? []
      expect(rows.map(({ sensor_id: id }) => id)).to.have.members(['1', '2', '3', '4'])
      expect(rows.map(({ measured }) => measured)).to.deep.equal([null, null, null, null])
    }
    expect(rowsByTitle.get('Silent sensors')).to.deep.equal([{ silent: 4 }])
  })

  it('need a token that can read, and no more', async () => {
    const { organization: org, url } = influx()
    const query = new URLSearchParams({ org, bucket: influxBucket }).toString()
    const answer = await fetch(`${url}/api/v2/write?${query}`, {
      method: 'POST',
      headers: { authorization: `Token ${readToken}` },
      body: 'temperature,user_id=1,sensor_id=1 temp=0',
    })
    expect(answer.status).to.equal(403)
  })
})

function queryOf({ query }: Variable): string {
  return typeof query === 'string' ? query : query.query
}

function withoutPlumbing(row: Row): Row {
  const { result: _result, table: _table, ...rest } = row
  return Object.fromEntries(
    Object.entries(rest).map(([name, value]) => [name, value === undefined ? null : value]),
  )
}
