// Goal: a file is imported once, whole or with its bad lines named, however often and whether a
// service runs or not. Method: the real command on files; what is stored is read over HTTP.

import { expect } from 'chai'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openTagged } from '../../src/sqlite/database.ts'
import { runCommand, serveHere, servingHere, startCommand } from '../support/command.ts'
import type { ServiceHere } from '../support/command.ts'
import { createFleetToken } from '../support/fleet-token.ts'
import { sendBatch } from '../support/http.ts'
import { until } from '../support/until.ts'

const USER = 'ana@example.org'
const BUOY = fileURLToPath(new URL('../fixtures/buoy-sea-temperature.csv', import.meta.url))
const BUOY_READINGS = 19_226
const READINGS = BUOY_READINGS.toLocaleString('en-US')

describe('thermolog import', () => {
  let folder = ''
  let dataDir = ''
  let service: ServiceHere | undefined
  let token = ''

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'thermolog-'))
    dataDir = join(folder, 'data')
    token = await createFleetToken(dataDir, USER)
  })
  after(() => rm(folder, { recursive: true }))

  function run(...args: string[]) {
    return runCommand(dataDir, args)
  }

  async function importText(text: string, ...options: string[]) {
    const file = join(folder, 'file')
    await writeFile(file, text)
    const result = await run('import', file, '--user', USER, ...options)
    return { ...result, stderr: result.stderr.replaceAll(folder, '.') }
  }

  async function serialNumbers(): Promise<unknown[]> {
    const { stdout } = await run('sensor', 'list', '--user', USER, '--json')
    return (JSON.parse(stdout) as { sn: unknown }[]).map(({ sn }) => sn)
  }

  it('imports a file once, alone', async () => {
    const order = ['import', BUOY, '--user', USER, '--sn', 'buoy-1', '--json']
    const first = await run(...order)
    expect(first.stderr).to.equal('')
    const none = { conflicts: 0, rejected: 0 }
    const counts = { lines: BUOY_READINGS, created: BUOY_READINGS, duplicates: 0, ...none }
    expect(JSON.parse(first.stdout)).to.deep.equal(counts)
    const second = await run(...order)
    const again = { ...counts, created: 0, duplicates: BUOY_READINGS }
    expect(JSON.parse(second.stdout)).to.deep.equal(again)
  })

  it('says once why it waits for a service that stores nothing', async () => {
    await servingHere(dataDir, { MIN_FREE_DISK: '1000000GiB' }, async () => {
      const child = startCommand(dataDir, ['import', BUOY, '--user', USER, '--sn', 'buoy'], {})
      let said = ''
      child.stderr.on('data', (text: Buffer) => (said += text.toString()))
      await until('it says why', () => said.includes('trying again'))
      expect(said).to.match(/nothing is stored now, trying again: The volume of DATA_DIR has/)
      child.kill()
      await once(child, 'exit')
      expect(said.split('trying again')).to.have.lengthOf(2)
    })
  })

  it('says why it waits until equal lines can be told, and stores nothing meanwhile', async () => {
    const behind = join(folder, 'behind')
    const settings = {
      INFLUX_URL: 'http://127.0.0.1:9',
      INFLUX_ORG: 'o',
      INFLUX_BUCKET: 'b',
      INFLUX_TOKEN: 't',
    }
    const ofBehind = await createFleetToken(behind, USER, settings)
    await servingHere(behind, settings, async (url) => {
      const first = { sn: 'late', temp: 1, timestamp: '2020-01-01T00:00:00Z', event_id: 'e' }
      await sendBatch(url, ofBehind, [first])
      const file = join(folder, 'late')
      await writeFile(file, 'timestamp,sn,temp\n2020-01-01T00:00:00Z,late,1\n')
      const child = startCommand(behind, ['import', file, '--user', USER], settings)
      let said = ''
      child.stderr.on('data', (text: Buffer) => (said += text.toString()))
      await until('it says why', () => said.includes('trying again'))
      expect(said).to.match(/trying again: some acknowledged measurements of sensor late are not/)
      child.kill()
      await once(child, 'exit')
      const other = ['import', file, '--user', USER, '--keep-equal']
      const kept = await runCommand(behind, other, settings)
      expect(kept.stdout).to.match(/1 created, 0 duplicates/)
    })
  })

  it('ends when all of it is in the store and in the accounts', async () => {
    const alone = join(folder, 'alone')
    await createFleetToken(alone, USER)
    const imported = await runCommand(alone, ['import', BUOY, '--user', USER, '--sn', 'buoy-1'])
    expect(imported.exitCode, imported.stderr).to.equal(0)
    const verified = await runCommand(alone, ['verify'])
    expect(verified.stdout).not.to.include('settled')
    expect(verified.stderr).to.include(`checking the ledger: ${READINGS} events`)
    // As if it had been killed.
    const control = openTagged(join(alone, 'control.db'))
    control.exec('UPDATE journal_watermark SET forwarded_seq = 0')
    control.close()
    expect((await runCommand(alone, ['verify'])).stdout).to.include('1 sensor never settled: ')
  })

  describe('beside a running service', () => {
    before(async () => {
      service = await serveHere(dataDir)
    })
    after(async () => service?.stop())

    async function get<Data>(path: string): Promise<Data> {
      const headers = { authorization: `Bearer ${token}` }
      const response = await fetch(`${service?.url}/api/v1${path}`, { headers })
      return ((await response.json()) as { data: Data }).data
    }

    async function readings(sn: string): Promise<number> {
      const sensors = await get<{ id: number; sn: string }[]>('/sensors')
      const id = sensors.find((sensor) => sensor.sn === sn)?.id
      const period = 'from=2010-01-01T00:00:00Z&to=2026-01-01T00:00:00Z&bucket=day'
      type History = { complete: boolean; points: { count: number }[] }
      const history = await get<History>(`/sensors/${id}/measurements?${period}`)
      expect(history.complete).to.equal(true)
      return history.points.reduce((sum, { count }) => sum + count, 0)
    }

    it('imports the same file as duplicates, and all of it is there once', async () => {
      const { stdout } = await run('import', BUOY, '--user', USER, '--sn', 'BUOY-1')
      const counts = `${READINGS} lines read: 0 created, ${READINGS} duplicates`
      expect(stdout).to.equal(`${counts}, 0 conflicts, 0 rejected\n`)
      expect(await readings('buoy-1')).to.equal(BUOY_READINGS)
    })

    it('keeps equal readings of one file', async () => {
      const line = '2020-01-01T00:00:00Z,1.5,equal-1\n'
      const text = `timestamp,temp,sn\n${line.repeat(3)}`
      expect((await importText(text)).stdout).to.match(/^3 lines read: 3 created/)
      expect((await importText(text)).stdout).to.match(/^3 lines read: 0 created, 3 duplicates/)
      expect(await readings('equal-1')).to.equal(3)
    })

    it('names bad lines and stores nothing', async () => {
      const text = 'timestamp,temp,sn\n2020-01-01T00:00:00Z,1,bad-1\nnow,1,bad-1\n2020,,bad 1\n'
      const { exitCode, stdout, stderr } = await importText(text)
      expect(stderr).to.equal(
        [
          'thermolog: 2 lines bad, nothing was stored',
          '  line 3: timestamp "now" is not a valid time (example: 2026-11-20T10:15:00Z)',
          '  line 4: timestamp "2020" is not a valid time (example: 2026-11-20T10:15:00Z)',
          'Fix the file, or add --rejects FILE to store the rest.\n',
        ].join('\n'),
      )
      expect(stdout).to.equal('')
      expect(exitCode).to.equal(1)
      expect(await serialNumbers()).not.to.include('bad-1')
    })

    it('stores the rest and writes bad lines to a file that can be imported', async () => {
      const rejects = join(folder, 'rejects.csv')
      const good = '2020-01-01T00:00:00Z,1,rest-1\n'
      const text = `timestamp,temp,sn\n${good}"2020-01-01T00:00:00Z","hot",rest-1\n`
      const first = await importText(text, '--rejects', rejects)
      expect(first.stdout).to.match(/^2 lines read: 1 created, 0 duplicates, 0 conflicts, 1 rej/)
      expect(first.stderr).to.equal('  line 3: temp "hot" is not a number\n')
      expect(first.exitCode).to.equal(0)
      const kept = await readFile(rejects, 'utf8')
      expect(kept).to.equal(
        'timestamp,temp,sn,rejected_because\n' +
          '"2020-01-01T00:00:00Z","hot",rest-1,"temp ""hot"" is not a number"\n',
      )
      const second = await importText(kept.replace('hot', '2'))
      expect(second.stdout).to.match(/^1 line read: 1 created/)
      expect(await readings('rest-1')).to.equal(2)
    })

    it('never writes rejects over a file, and leaves none behind without any', async () => {
      const rejects = join(folder, 'taken')
      await writeFile(rejects, 'mine')
      const text = 'timestamp,temp,sn\n2020-01-01T00:00:00Z,1,taken-1\n'
      const refused = await importText(text, '--rejects', rejects)
      expect(refused.stderr).to.match(/cannot write rejects to \.\/taken: the file already exists/)
      expect(refused.exitCode).to.equal(1)
      expect(await readFile(rejects, 'utf8')).to.equal('mine')
      expect(await serialNumbers()).not.to.include('taken-1')
      const done = await importText(text, '--rejects', join(folder, 'none'))
      expect(done.exitCode).to.equal(0)
      expect(await readdir(folder)).not.to.include('none')
    })

    it('takes event ids of the file and names those that conflict', async () => {
      const object = { event_id: 'e-1', sn: 'ids-1', temp: 1, timestamp: '2020-01-01T00:00:00Z' }
      const lines = (...temps: number[]) =>
        temps.map((temp) => JSON.stringify({ ...object, temp })).join('\n')
      expect((await importText(lines(1, 1))).stdout).to.match(/: 1 created, 1 duplicate, 0 conf/)
      const { exitCode, stdout, stderr } = await importText(lines(1, 2))
      expect(stdout).to.match(/^2 lines read: 0 created, 1 duplicate, 1 conflict,/)
      expect(stderr).to.match(/line 2: event_id "e-1" was accepted before with other content/)
      expect(exitCode).to.equal(1)
      const rejects = join(folder, 'conflicts.ndjson')
      expect((await importText(lines(2), '--rejects', rejects)).exitCode).to.equal(0)
      expect(JSON.parse(await readFile(rejects, 'utf8'))).to.deep.include({
        temp: 2,
        rejected_because: 'event_id "e-1" was accepted before with other content',
      })
    })

    async function stored(sn: string) {
      const sensors = await get<{ id: number; sn: string }[]>('/sensors')
      const id = sensors.find((sensor) => sensor.sn === sn)?.id
      const period = 'from=2025-03-28T00:00:00Z&to=2025-04-02T00:00:00Z&bucket=raw'
      type History = { points: { timestamp: string; temp: number }[] }
      const { points } = await get<History>(`/sensors/${id}/measurements?${period}`)
      return points.map(({ timestamp, temp }) => `${timestamp} ${temp}`)
    }

    it('takes what a European spreadsheet writes', async () => {
      const text =
        'Zeit;Wert;Sensor\n2025-03-29 12:00:00;"21,5";euro-1\n2025-03-31 12:00;-0,25;euro-1\n'
      const columns = [
        '--column-timestamp',
        'Zeit',
        '--column-temp',
        'Wert',
        '--column-sn',
        'Sensor',
      ]
      const order = [...columns, '--timezone', 'Europe/Berlin']
      const { exitCode, stderr } = await importText(text, ...order)
      expect(stderr).to.equal('')
      expect(exitCode).to.equal(0)
      expect(await stored('euro-1')).to.deep.equal([
        '2025-03-29T11:00:00.000Z 21.5',
        '2025-03-31T10:00:00.000Z -0.25',
      ])
      expect((await importText(text, ...order)).stdout).to.match(/0 created, 2 duplicates/)
    })

    it('names local times that no clock showed, in a file that can be imported', async () => {
      const text = 'time;temp;sn\n2025-03-30 02:30;1,5;gap-1\n2025-03-30 03:30;2,5;gap-1\n'
      const order = ['--timezone', 'Europe/Berlin']
      const whole = await importText(text, ...order)
      const fault = 'timestamp "2025-03-30 02:30" does not exist in Europe/Berlin'
      expect(whole.stderr).to.include(`  line 2: ${fault}\n`)
      expect(whole.exitCode).to.equal(1)
      const rejects = join(folder, 'gap.csv')
      expect((await importText(text, ...order, '--rejects', rejects)).exitCode).to.equal(0)
      const kept = await readFile(rejects, 'utf8')
      const quoted = fault.replaceAll('"', '""')
      expect(kept).to.equal(
        `time;temp;sn;rejected_because\n2025-03-30 02:30;1,5;gap-1;"${quoted}"\n`,
      )
      expect((await importText(kept.replace(' 02:30', ' 01:30'), ...order)).exitCode).to.equal(0)
      expect(await stored('gap-1')).to.deep.equal([
        '2025-03-30T00:30:00.000Z 1.5',
        '2025-03-30T01:30:00.000Z 2.5',
      ])
    })

    it('takes Unix times and degrees Fahrenheit', async () => {
      const lines = [
        { timestamp: 1_743_300_000, temp: 32, sn: 'unix-1' },
        { timestamp: 1_743_300_000.25, temp: 212, sn: 'unix-1' },
      ]
      const text = lines.map((line) => JSON.stringify(line)).join('\n')
      expect((await importText(text, '--unit', 'F')).stdout).to.match(/2 created/)
      expect(await stored('unix-1')).to.deep.equal([
        '2025-03-30T02:00:00.000Z 0',
        '2025-03-30T02:00:00.250Z 100',
      ])
    })

    it('takes the unit that a name says, unless the operator says another', async () => {
      const rows = (header: string) => `time,${header},sn\n2025-03-30T00:00:00Z,68.0,hobo-1\n`
      const hobo = rows('"Temp, °F (LGR S/N: 1)"')
      expect((await importText(hobo, '--unit', 'F')).stdout).to.match(/1 created/)
      const mislabelled = ['--column-temp', 'Temp_F', '--unit', 'C']
      expect((await importText(rows('Temp_F'), ...mislabelled)).stdout).to.match(/1 created/)
      expect((await importText(rows('temp[unit="K"]'), '--unit', 'K')).stdout).to.match(/1 created/)
      expect(await stored('hobo-1')).to.deep.equal(
        [20, 68, -205.15].map((temp) => `2025-03-30T00:00:00.000Z ${temp}`),
      )
    })

    const wrongForms = [
      {
        text: 'time,temp,sn\n',
        options: ['--unit', 'R'],
        says: /--unit must be one of C, F, K, not "R"/,
      },
      {
        text: 'time,"Temp, (*F)",sn\n2020-01-01T00:00:00Z,68.0,hobo-1\n',
        options: ['--column-temp', 'Temp, (*F)'],
        says: /"Temp, \(\*F\)" is not in degrees Celsius\nAdd --unit F, or use --column-temp with/,
      },
      {
        text: '{"time":"2020-01-01T00:00:00Z","temp_f":68,"sn":"hobo-1"}\n',
        options: [],
        says: /"temp_f" is not in degrees Celsius\nAdd --unit F/,
      },
      {
        text: 'time,temp,sn\n',
        options: ['--timezone', 'Mars/Olympus'],
        says: /^thermolog: --timezone "Mars\/Olympus" is not a known time zone\nExamples: Europe/,
      },
      {
        text: 'time (UTC),temp,sn\n',
        options: ['--timezone', 'Europe/Berlin'],
        says: /the column "time \(UTC\)" is in UTC\nLeave out --timezone\.\n$/,
      },
    ]
    for (const { text, options, says } of wrongForms) {
      it(`refuses ${options.join(' ')} for ${text.trim()}`, async () => {
        const { exitCode, stderr } = await importText(text, ...options)
        expect(stderr).to.match(says)
        expect(exitCode).to.equal(2)
      })
    }

    const refused = [
      {
        name: 'a file that is not there',
        file: 'missing',
        code: 1,
        says: /there is no file missing/,
      },
      { name: 'a folder', file: '.', code: 2, says: /is not a regular file/ },
    ]
    for (const { name, file, code, says } of refused) {
      it(`refuses ${name}`, async () => {
        const { exitCode, stderr } = await run('import', file, '--user', USER)
        expect(stderr).to.match(says)
        expect(exitCode).to.equal(code)
      })
    }
  })
})
