// What InfluxDB takes for a point is the same point here: lines of all forms go to a real influxd,
// each with a time of its own, and what it stored is held against what our reader takes them for.

import { expect } from 'chai'
import * as fc from 'fast-check'
import { PointReader } from '../../src/line-protocol/point.ts'
import { SeriesMemory } from '../../src/line-protocol/series.ts'
import { newBucket } from './influx.ts'
import type { TestInflux } from './influxd.ts'

/** Lines of a bucket: queries slow down with the series of a bucket. */
const LINES_PER_TURN = 2_000
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

/** Rows as time, measurement and value. */
type Row = readonly [time: string, measurement: string, value: number]

/** Writes random valid lines; the same lines for the same seed. */
export async function expectAgreement(
  influx: TestInflux,
  { lineCount, seed }: { readonly lineCount: number; readonly seed: number },
): Promise<void> {
  for (let first = 0; first < lineCount; first += LINES_PER_TURN) {
    const target = await newBucket(influx)
    const count = Math.min(LINES_PER_TURN, lineCount - first)
    const written = fc.sample(lines, { numRuns: count, seed: seed + first }).map((line, at) => {
      const tags = line.tags.map(([key, tag]) => `,${key}=${tag}`).join('')
      return `${line.measurement}${tags} temp=${line.value}${line.others} ${timeOf(first + at)}`
    })
    await write(target, written)
    const stored = await read(target, timeOf(first), timeOf(first + count))
    expect(stored, `seed ${seed + first}`).to.deep.equal(written.map(pointOf))
  }
}

type Target = Awaited<ReturnType<typeof newBucket>>

function timeOf(at: number): bigint {
  return FIRST_TIME + BigInt(at) * 1_000_000_000n
}

function pointOf(line: string): Row {
  const series = new SeriesMemory({ fields: new Set(), serialTags: [], serialNumberPrefix: '' })
  const point = new PointReader(Buffer.from(line).toString('latin1'), series).read(0)
  const field = point.fields.find(({ key }) => key === 'temp')
  const measured = Buffer.from(point.series.measurement, 'latin1').toString()
  const ms = Number(BigInt(point.time ?? '0') / 1_000_000n)
  return [new Date(ms).toISOString().replace('.000Z', 'Z'), measured, Number(field?.value) + 0]
}

async function write(target: Target, written: readonly string[]): Promise<void> {
  const { url, organization, influxBucket, influxToken } = target
  const query = new URLSearchParams({ org: organization, bucket: influxBucket })
  const answer = await fetch(`${url}/api/v2/write?${query.toString()}`, {
    method: 'POST',
    headers: { authorization: `Token ${influxToken}` },
    body: written.join('\n'),
  })
  expect(answer.status, await answer.text()).to.equal(204)
}

async function read(target: Target, start: bigint, stop: bigint): Promise<Row[]> {
  const { url, organization, influxBucket, influxToken } = target
  const answer = await fetch(`${url}/api/v2/query?org=${organization}`, {
    method: 'POST',
    headers: {
      authorization: `Token ${influxToken}`,
      'content-type': 'application/vnd.flux',
      accept: 'application/csv',
    },
    body: `from(bucket: "${influxBucket}")
      |> range(start: time(v: ${start}), stop: time(v: ${stop}))
      |> filter(fn: (r) => r._field == "temp")
      |> group() |> keep(columns: ["_time", "_measurement", "_value"])
      |> sort(columns: ["_time"])`,
  })
  return parseCsv(await answer.text())
}

/** Rows of an annotated CSV. */
function parseCsv(text: string): Row[] {
  const rows = text.split('\r\n').filter((row) => row !== '' && !row.startsWith('#'))
  const [head = '', ...body] = rows
  const columns = head.split(',')
  const at = ['_time', '_measurement', '_value'].map((column) => columns.indexOf(column))
  return body.map((row) => {
    const cells = Array.from(row.matchAll(/("(?:[^"]|"")*"|[^,]*)(?:,|$)/g), ([, cell = '']) =>
      cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell,
    )
    const [time, measured, celsius] = at.map((column) => cells[column])
    return [time ?? '', measured ?? '', Number(celsius) + 0]
  })
}
