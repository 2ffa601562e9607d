// Goal: an export has every acknowledged measurement once, as it was submitted, and an import of it
// elsewhere makes the same. Method: the real command on a data directory that the real service has
// filled, with either store; what comes out is held against what was sent.

import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { expect } from 'chai'
import fc from 'fast-check'
import { exportText } from '../../src/operations/export-measurements.ts'
import { runCommand, serveHere, startCommand } from '../support/command.ts'
import type { Environment } from '../support/command.ts'
import { expectedLines, sendReadings } from '../support/exported.ts'
import { createFleetToken } from '../support/fleet-token.ts'
import { newBucket, useInflux } from '../support/influx.ts'
import { newDatabase, usePostgres } from '../support/postgres.ts'
import { someSensor } from '../support/some-sensor.ts'

const USER = 'fleet@example.org'
const ORDER = ['export', '--user', USER]

/** Runs what every store must do, in suites that say how to make one. */
function exportsEverything(newSettings: () => Promise<Environment>): void {
  let folder: string
  let settings: Environment
  let text: string
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'thermolog-export-'))
    settings = await newSettings()
    const token = await createFleetToken(join(folder, 'data'), USER, settings)
    const service = await serveHere(join(folder, 'data'), settings)
    await sendReadings(service.url, token)
    // At once: what is acknowledged and not yet in the store must be in it.
    const exported = await run(ORDER)
    text = exported.stdout
    expect(exported.stderr).to.equal('')
    await service.stop()
  })
  after(async () => {
    if (folder !== undefined) await rm(folder, { recursive: true })
  })

  const run = (args: readonly string[], dataDir = 'data', more: Environment = {}) =>
    runCommand(join(folder, dataDir), args, { ...settings, ...more })

  it('has all that was acknowledged, beside the service', () => {
    const [header, ...lines] = text.split('\r\n')
    expect(header).to.equal('timestamp,sn,temp')
    expect(lines.pop()).to.equal('')
    expect(lines).to.deep.equal(expectedLines())
  })

  it('has the same when no service runs, also as NDJSON', async () => {
    expect((await run(ORDER)).stdout).to.equal(text)
    const { stdout } = await run([...ORDER, '--format', 'ndjson'])
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { timestamp: string; sn: string; temp: number })
    expect(lines.map(({ timestamp, sn, temp }) => `${timestamp},${sn},${temp}`)).to.deep.equal(
      expectedLines(),
    )
  })

  for (const format of ['csv', 'ndjson']) {
    it(`is the same after an import elsewhere, as ${format}`, async () => {
      const form = ['--format', format]
      const { stdout } = await run([...ORDER, ...form])
      const file = join(folder, `file-${format}`)
      await writeFile(file, stdout)
      const elsewhere = `elsewhere-${format}`
      const target = await newSettings()
      await createFleetToken(join(folder, elsewhere), USER, target)
      for (const created of [expectedLines().length, 0]) {
        const imported = await run(['import', file, '--user', USER], elsewhere, target)
        expect(imported.stdout).to.match(new RegExp(`read: ${created} created`))
      }
      expect((await run([...ORDER, ...form], elsewhere, target)).stdout).to.equal(stdout)
    })
  }

  it('has only the sensors and the period that were asked for', async () => {
    const period = ['--from', '2026-03-10T00:00:00.001Z', '--to', '2026-03-10T00:00:00.003Z']
    const { stdout } = await run([...ORDER, '--sensor', '2', ...period])
    const wanted = expectedLines().filter((line) =>
      /^2026-03-10T00:00:00\.00[12]Z,Other-2/.test(line),
    )
    expect(stdout).to.equal(['timestamp,sn,temp', ...wanted, ''].join('\r\n'))
  })

  it('adds nothing when it is imported where it came from', async () => {
    const file = join(folder, 'same')
    await writeFile(file, text)
    const order = ['import', file, '--user', USER]
    const count = expectedLines().length
    const nothing = new RegExp(`read: 0 created, ${count} duplicates`)
    expect((await run(order)).stdout).to.match(nothing)
    await writeFile(file, `${text}${expectedLines().slice(-2).join('\n')}\n`)
    expect((await run(order)).stdout).to.match(new RegExp(`read: 2 created, ${count} duplicates`))
    await writeFile(file, text)
    const kept = await run([...order, '--keep-equal'])
    expect(kept.stdout).to.match(new RegExp(`read: ${count} created, 0 duplicates`))
  })
}

describe('thermolog export', () => {
  describe('of the embedded store', () => {
    exportsEverything(async () => ({}))
  })

  describe('of InfluxDB', () => {
    const influx = useInflux()
    exportsEverything(async () => {
      const { url, organization, influxBucket, influxToken } = await newBucket(influx())
      return {
        INFLUX_URL: url,
        INFLUX_ORG: organization,
        INFLUX_BUCKET: influxBucket,
        INFLUX_TOKEN: influxToken,
      }
    })
  })

  describe('of PostgreSQL', () => {
    const postgres = usePostgres()
    exportsEverything(async () => ({ DATABASE_URL: (await newDatabase(postgres())).url }))
  })

  describe('as a command', () => {
    let dataDir: string
    before(async () => {
      dataDir = await mkdtemp(join(tmpdir(), 'thermolog-export-'))
      await createFleetToken(dataDir, USER)
    })
    after(() => rm(dataDir, { recursive: true }))

    const refused = [
      {
        name: 'a user who is not there',
        args: ['--user', 'no@example.org'],
        code: 1,
        says: /no us/,
      },
      {
        name: 'a sensor of nobody',
        args: ['--user', USER, '--sensor', '9'],
        code: 1,
        says: /or 9/,
      },
      {
        name: 'a sensor without id',
        args: ['--user', USER, '--sensor', 'x'],
        code: 2,
        says: /posi/,
      },
      {
        name: 'a time without zone',
        args: ['--user', USER, '--from', '2026'],
        code: 2,
        says: /^thermolog: --from "2026" is not a valid time\nExamples: 2026-11-20T10:15:00Z/,
      },
      {
        name: 'another form',
        args: ['--user', USER, '--format', 'xml'],
        code: 2,
        says: /csv, ndj/,
      },
      {
        name: 'a period that ends before it begins',
        args: ['--user', USER, '--from', '2026-01-02T00:00:00Z', '--to', '2026-01-01T00:00:00Z'],
        code: 2,
        says: /before/,
      },
    ]
    for (const { name, args, code, says } of refused) {
      it(`refuses ${name}`, async () => {
        const { exitCode, stdout, stderr } = await runCommand(dataDir, ['export', ...args])
        expect(stderr).to.match(says)
        expect(stdout).to.equal('')
        expect(exitCode).to.equal(code)
      })
    }

    it('takes a date for its first moment', async () => {
      const days = ['--from', '2026-01-02', '--to', '2026-01-01']
      const { stderr } = await runCommand(dataDir, [...ORDER, ...days])
      expect(stderr).to.match(/not 2026-01-02T00:00:00.000Z, 2026-01-01T00:00:00.000Z\n$/)
    })

    it('gives a header when there is nothing', async () => {
      const { exitCode, stdout } = await runCommand(dataDir, ORDER)
      expect(stdout).to.equal('timestamp,sn,temp\r\n')
      expect(exitCode).to.equal(0)
    })

    it('refuses settings that name another store than the one in use', async () => {
      const settings = {
        INFLUX_URL: 'http://127.0.0.1:9',
        INFLUX_ORG: 'o',
        INFLUX_BUCKET: 'b',
        INFLUX_TOKEN: 't',
      }
      const { exitCode, stderr } = await runCommand(dataDir, ORDER, settings)
      expect(stderr).to.match(/another store \(embedded\)/)
      expect(exitCode).to.equal(2)
    })

    it('goes through pipes, and ends without a word when its reader has enough', async () => {
      const lines = Array.from({ length: 50_000 }, (_, at) => {
        const timestamp = new Date(Date.UTC(2026, 0, 1) + at * 1_000).toISOString()
        return `${timestamp},piped,${at / 8}\n`
      })
      const rejects = join(dataDir, 'rejects')
      const order = ['import', '-', '--user', USER, '--rejects', rejects]
      const input = `timestamp,sn,temp\n${lines.join('')}`
      const imported = await runCommand(dataDir, order, {}, input)
      expect(imported.stdout).to.match(/^50,000 lines read: 50,000 created/)

      const exporting = startCommand(dataDir, ORDER, {})
      const closed = once(exporting, 'close')
      exporting.stderr.setEncoding('utf8')
      let said = ''
      exporting.stderr.on('data', (part: string) => (said += part))
      await once(exporting.stdout, 'data')
      exporting.stdout.destroy()
      expect(await closed).to.deep.equal([0, null])
      expect(said).to.equal('')
    })
  })

  it('writes every number so that it is read as the same again', async () => {
    const number = fc.double({ noNaN: true, noDefaultInfinity: true, min: -273.15, max: 10_000 })
    await fc.assert(
      fc.asyncProperty(fc.array(number, { minLength: 1 }), async (numbers) => {
        for (const format of ['csv', 'ndjson'] as const) {
          const read = await textOf(numbers, format)
          expect(read).to.deep.equal(numbers.map((value) => value + 0))
        }
      }),
    )
  })
})

/** The temperatures of an export of them, read as an import reads them. */
async function textOf(numbers: readonly number[], format: 'csv' | 'ndjson'): Promise<number[]> {
  const points = numbers.map((rawCelsius, at) => ({ measuredAtMs: at, rawCelsius }))
  const sensor = someSensor({ serialNumber: 'x' })
  const days = [{ dayMs: 0, measurements: numbers.length }]
  const order = { sensors: [{ sensor, days }], range: { startMs: 0, stopMs: 1e9 }, format }
  const reader = { readRaw: () => Readable.from([points]) }
  let text = ''
  for await (const part of exportText(reader, order, () => undefined)) text += part
  const lines = text.trim().split(/\r?\n/)
  return format === 'csv'
    ? lines.slice(1).map((line) => Number(line.split(',')[2]))
    : lines.map((line) => (JSON.parse(line) as { temp: number }).temp)
}
