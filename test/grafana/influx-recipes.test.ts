// Goal: whatever the guide offers to paste runs as it stands. Method: each block of it, asked of
// InfluxDB or of Thermolog as Grafana would, for a fleet in which two sensors have one alias.

import { InfluxDB } from '@influxdata/influxdb-client'
import { expect } from 'chai'
import { readFileSync } from 'node:fs'
import { FLEET, START_MS, STOP_MS, fillFleet, instant } from '../support/fleet.ts'
import { interpolate } from '../support/grafana.ts'
import { send } from '../support/http.ts'
import { newBucket, newToken, useInflux } from '../support/influx.ts'
import { ask } from '../support/influxql.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'
import { until } from '../support/until.ts'

const GUIDE = readFileSync(new URL('../../docs/grafana.md', import.meta.url), 'utf8')

type Row = Readonly<Record<string, unknown>>

function blocksOf(language: string): readonly string[] {
  return [...GUIDE.matchAll(new RegExp(`\`\`\`${language}\\n([^]*?)\`\`\``, 'g'))].map(
    ([, block = '']) => block,
  )
}

describe('the recipes of the Grafana guide', () => {
  const influx = useInflux()
  let service: TestService
  let token: string
  let influxBucket: string
  let readToken: string

  before(async () => {
    const bucket = await newBucket(influx())
    influxBucket = bucket.influxBucket
    readToken = await newToken(influx(), bucket, ['read'])
    service = await startService({
      INFLUX_URL: bucket.url,
      INFLUX_ORG: bucket.organization,
      INFLUX_BUCKET: bucket.influxBucket,
      INFLUX_TOKEN: await newToken(influx(), bucket, ['read', 'write']),
    })
    await fillFleet(service)
    token = await service.createToken('a@example.org')
    const body = { alias: FLEET.cellar.alias }
    await send(service.url, { method: 'PATCH', path: '/api/v1/sensors/2', token, body })
  })
  after(() => service?.stop())

  const flux = (query: string) => {
    const view = {
      start: instant(START_MS),
      stop: instant(STOP_MS),
      windowPeriod: '1h',
      influxBucket,
      variables: {},
    }
    return new InfluxDB({ url: influx().url, token: readToken })
      .getQueryApi(influx().organization)
      .collectRows<Row>(interpolate(query, view))
  }

  it('run in Flux, with every sensor in them', async () => {
    const [latest = '', silence = '', names = '', means = ''] = blocksOf('flux')
    const isThere = async () =>
      (await flux(names)).filter(({ alias }) => alias === FLEET.cellar.alias).length === 2 &&
      (await flux(latest)).length === 3
    await until('the measurements are in InfluxDB', isThere)
    expect(await flux(names)).to.have.lengthOf(4)
    const temps = (await flux(latest)).map(({ sensor_id: id, temp }) => [id, temp])
    expect(temps).to.have.deep.members([
      ['1', 11.5],
      ['2', 7],
      ['3', 30.25],
    ])
    const silences = (await flux(silence)).map((row) => [row['sensor_id'], row['silence']])
    expect(silences).to.have.deep.members([
      ['1', 600],
      ['2', 23 * 3_600 + 600],
      ['3', 3_600],
      ['4', STOP_MS / 1_000],
    ])
    const series = await flux(means)
    const ofName = (name: string) => series.filter((row) => row['name'] === name)
    expect(new Set(series.map(({ name }) => name)).size).to.equal(3)
    expect(ofName('Cellar (28FF641E93160434)')).to.have.lengthOf(24)
    expect(ofName('Cellar (28FF641E93160434)')[5]?.['_value'] ?? null).to.equal(null)
  })

  it('run in InfluxQL, with every sensor in them', async () => {
    const counts: number[] = []
    for (const block of blocksOf('influxql')) {
      const query = block
        .replaceAll('$timeFilter', `time >= ${START_MS}ms and time <= ${STOP_MS}ms`)
        .replaceAll('$__interval', '1h')
      const { error, series } = await ask(service.url, token, query)
      expect(error, query).to.equal(undefined)
      counts.push(series.length)
    }
    expect(counts).to.deep.equal([2, 2, 2, 2, 2])
  })
})
