// Goal: what InfluxDB takes for a point is the same point here. Method: lines of all forms go to a
// real influxd, each to a measurement of its own time, and what it stored is held against ours.

import { expect } from 'chai'
import * as fc from 'fast-check'
import { PointReader } from '../../src/line-protocol/point.ts'
import { SeriesMemory } from '../../src/line-protocol/series.ts'
import { newBucket, useInflux } from '../support/influx.ts'

const LINES_PER_RUN = 1_000
const FIRST_TIME = 1_795_380_000_000_000_000n

/** What is escaped in a measurement, in keys and tags, and what must not come last. */
const name = fc
  .string({ unit: fc.constantFrom(...'ab°客,= "\'.:-_#1'), minLength: 1, maxLength: 6 })
  .filter((text) => !/^[_#]|^time$/.test(text))
const escaped = name.map((text) => text.replaceAll(/[,= ]/g, '\\$&'))
const measurement = name.map((text) => text.replaceAll(/[, ]/g, '\\$&'))
const value = fc.oneof(
  fc.double({ min: -1e6, max: 1e6, noNaN: true }).map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  fc.constantFrom('1.', '-0', '1e3', '-1.5E-2', '007', '0.10'),
)
const others = fc.oneof(
  fc.constantFrom(',b=t', ',b=FALSE', ',n=-5i', ',u=7u'),
  fc
    .string({ unit: fc.constantFrom(...'ab, ="\\\n#') })
    .map((text) => `,s="${text.replaceAll(/["\\]/g, '\\$&')}"`),
  fc.constant(''),
)
const lines = fc.record({
  measurement,
  tags: fc.uniqueArray(fc.tuple(escaped, escaped), { selector: ([key]) => key, maxLength: 3 }),
  value,
  others,
})

describe('lines of line protocol', function () {
  this.timeout(60_000)
  const influx = useInflux()

  it('are the points that InfluxDB takes them for', async () => {
    const { url, influxBucket, organization, influxToken } = await newBucket(influx())
    const written = fc.sample(lines, LINES_PER_RUN).map((line, at) => {
      const tags = line.tags.map(([key, tag]) => `,${key}=${tag}`).join('')
      const time = FIRST_TIME + BigInt(at) * 1_000_000_000n
      return `${line.measurement}${tags} temp=${line.value}${line.others} ${time}`
    })
    const target = new URLSearchParams({ org: organization, bucket: influxBucket })
    const headers = { authorization: `Token ${influxToken}` }
    const write = await fetch(`${url}/api/v2/write?${target.toString()}`, {
      method: 'POST',
      headers,
      body: written.join('\n'),
    })
    expect(write.status, await write.text()).to.equal(204)
    const query = `from(bucket: "${influxBucket}") |> range(start: 2026-01-01T00:00:00Z,
      stop: 2030-01-01T00:00:00Z) |> filter(fn: (r) => r._field == "temp")
      |> group() |> keep(columns: ["_time", "_measurement", "_value"])
      |> sort(columns: ["_time"])`
    const answer = await fetch(`${url}/api/v2/query?org=${organization}`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/vnd.flux', accept: 'application/csv' },
      body: query,
    })
    const stored = parseCsv(await answer.text())
    const series = new SeriesMemory({ fields: new Set(), serialTags: [], serialNumberPrefix: '' })
    const ours = written.map((line) => {
      const point = new PointReader(Buffer.from(line).toString('latin1'), series).read(0)
      const field = point.fields.find(({ key }) => key === 'temp')
      const measured = Buffer.from(point.series.measurement, 'latin1').toString()
      const ms = Number(BigInt(point.time ?? '0') / 1_000_000n)
      return [new Date(ms).toISOString().replace('.000Z', 'Z'), measured, Number(field?.value) + 0]
    })
    expect(stored).to.deep.equal(ours)
  })
})

/** Rows of an annotated CSV as time, measurement and value. */
function parseCsv(text: string): unknown[][] {
  const rows = text.split('\r\n').filter((row) => row !== '' && !row.startsWith('#'))
  const [head = '', ...body] = rows
  const columns = head.split(',')
  const at = ['_time', '_measurement', '_value'].map((column) => columns.indexOf(column))
  return body.map((row) => {
    const cells = Array.from(row.matchAll(/("(?:[^"]|"")*"|[^,]*)(?:,|$)/g), ([, cell = '']) =>
      cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell,
    )
    const [time, measured, celsius] = at.map((column) => cells[column])
    return [time, measured, Number(celsius) + 0]
  })
}
