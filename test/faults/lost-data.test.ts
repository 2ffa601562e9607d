// Goal: files that lack what was acknowledged, or were not left by the same service, are refused at
// start with what is lost and what to do; without a backup the service goes on from what can be
// read, and takes again what is sent again, once. Method: the real service, killed; its files are
// damaged, removed, or put back as they were before.

import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { expect } from 'chai'
import { openForReading, restartLog } from '../../src/sqlite/database.ts'
import { runCommand, serve, servingHere } from '../support/command.ts'
import { createFleetToken } from '../support/fleet-token.ts'
import { send, sendBatch } from '../support/http.ts'
import { until } from '../support/until.ts'
import { expectClean, verify } from '../support/verify.ts'

const START_MS = Date.UTC(2026, 0, 1)
const BATCHES = 6
const PER_BATCH = 20
const DAY = 'from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00Z&bucket=day'

const batch = (number: number) =>
  Array.from({ length: PER_BATCH }, (_, at) => ({
    event_id: `${number}/${at}`,
    sn: `s-${at % 2}`,
    temp: number + at / 100,
    timestamp: new Date(START_MS + (number * PER_BATCH + at) * 1_000).toISOString(),
  }))

/** Measurements, each of a sensor of its own. */
const manySensors = () =>
  Array.from({ length: 500 }, (_, at) => ({
    event_id: `many/${at}`,
    sn: `many-${at}`,
    temp: 1,
    timestamp: new Date(START_MS).toISOString(),
  }))

describe('a DATA_DIR that lacks what was acknowledged', () => {
  let folder: string
  let token: string
  /** As it was after half of the batches, stopped; and at the end, killed, and stopped. */
  const earlier = () => join(folder, 'earlier')
  const killed = () => join(folder, 'killed')
  const stopped = () => join(folder, 'stopped')
  let storeId: string
  let copies = 0

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'thermolog-lost-'))
    token = await createFleetToken(killed(), 'ana@example.org')
    await sendBatches(0, BATCHES / 2)
    await copy(killed(), earlier())
    await sendBatches(BATCHES / 2, BATCHES, 'SIGKILL')
    await copy(killed(), stopped())
    await servingHere(stopped(), {}, async (url) => {
      storeId = (await send(url, { path: '/api/v1/me', token })).body.data.store.id
    })
  })
  after(() => rm(folder, { recursive: true }))

  async function sendBatches(
    from: number,
    to: number,
    signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM',
  ): Promise<void> {
    const service = await serve(killed())
    for (let number = from; number < to; number++) {
      expect((await sendBatch(service.url, token, batch(number))).status).to.equal(201)
      await until('it is stored, and its row is settled', async () => {
        const { body } = await send(service.url, { path: '/readyz' })
        return body.backlog.entries === 0
      })
    }
    await service.stop(signal)
  }

  async function copy(from: string, to: string): Promise<void> {
    const filter = (path: string) => !path.endsWith('.sock')
    await cp(from, to, { recursive: true, filter })
  }

  async function copyOf(from: string): Promise<string> {
    const dataDir = join(folder, `copy-${++copies}`)
    await copy(from, dataDir)
    return dataDir
  }

  async function flip(file: string, at: (bytes: Buffer) => number): Promise<void> {
    const bytes = await readFile(file)
    const place = at(bytes)
    bytes[place] = (bytes[place] ?? 0) ^ 4
    await writeFile(file, bytes)
  }

  const inLastFrame = (log: Buffer) => log.length - 100
  /** In the last frame with the salts of the log's head: it may have been begun anew. */
  const endOfLog = (log: Buffer) => {
    const frameBytes = 24 + log.readUInt32BE(8)
    let at = 32
    const isOfLog = () => log.compare(log, 16, 24, at + 8, at + 16) === 0
    while (at + frameBytes <= log.length && isOfLog()) at += frameBytes
    return at - 100
  }
  /** Into the file, as when it has become long. */
  function moveLog(file: string): void {
    const reader = openForReading(file)
    reader.prepare('SELECT count(*) FROM users').get()
    restartLog(file)
    reader.close()
  }

  /** As a power cut does that has not written the first frame of the last commit. */
  async function tearLastCommit(file: string): Promise<void> {
    const reader = openForReading(file)
    reader.prepare('SELECT count(*) FROM users').get()
    const [looked] = reader.pragma('wal_checkpoint(NOOP)') as [{ log: number }]
    reader.close()
    await flip(`${file}-wal`, (log) => {
      const frameBytes = 24 + log.readUInt32BE(8)
      let frame = looked.log - 1
      while (frame > 0 && log.readUInt32BE(32 + (frame - 1) * frameBytes + 4) === 0) frame--
      return 32 + frame * frameBytes + 100
    })
  }
  const inMiddle = (log: Buffer) => Math.floor(log.length / 2)
  const inHead = () => 20
  const removeAll = (dataDir: string, name: string) =>
    Promise.all(['', '-wal', '-shm'].map((end) => rm(join(dataDir, name + end), { force: true })))

  for (const { what, of, change, where, problem } of [
    {
      what: 'a bit of the last commit of control.db is flipped in its log',
      of: killed,
      change: (dataDir: string) => flip(join(dataDir, 'control.db-wal'), inLastFrame),
      where: 'control.db-wal',
      problem: /^it can be read up to frame \d+, but \d+ frames of it were on disk$/,
    },
    {
      what: 'a bit of the head of its log is flipped',
      of: killed,
      change: (dataDir: string) => flip(join(dataDir, 'control.db-wal'), inHead),
      where: 'control.db-wal',
      problem: /^it can be read up to frame 0, but \d+ frames of it were on disk$/,
    },
    {
      what: 'its log is gone',
      of: killed,
      change: (dataDir: string) => rm(join(dataDir, 'control.db-wal')),
      where: 'control.db-wal',
      problem: /^it is missing, and \d+ frames of it were on disk$/,
    },
    {
      what: 'its log is one from before, and nothing was measured since',
      of: killed,
      change: async (dataDir: string) => {
        const log = join(dataDir, 'control.db-wal')
        const earlierLog = await readFile(log)
        await createFleetToken(dataDir, 'ben@example.org')
        const service = await serve(dataDir)
        await runCommand(dataDir, ['user', 'delete', 'ben@example.org', '--yes'])
        await service.stop('SIGKILL')
        await writeFile(log, earlierLog)
      },
      where: 'control.db-wal',
      problem: /^it is an earlier log, or another file's, and \d+ frames of it were on disk$/,
    },
    {
      what: 'a bit of its last commit is flipped, and somebody read it while the service stopped',
      of: killed,
      change: async (dataDir: string) => {
        const service = await serve(dataDir)
        const reader = openForReading(dataDir, 'control.db')
        reader.exec('BEGIN')
        reader.prepare('SELECT count(*) FROM users').get()
        await service.stop()
        reader.close()
        await flip(join(dataDir, 'control.db-wal'), endOfLog)
      },
      where: 'control.db-wal',
      problem: /^it can be read up to frame \d+, but \d+ frames of it were on disk$/,
    },
    {
      what: 'a bit in the middle of its log is flipped, and a power cut took the witness',
      of: killed,
      change: async (dataDir: string) => {
        await rm(join(dataDir, 'witness'))
        await flip(join(dataDir, 'control.db-wal'), inMiddle)
      },
      where: 'control.db-wal',
      problem: /^it can be read up to frame \d+, and then is damaged, with \d+ commits behind it$/,
    },
    {
      what: 'a bit of the head of its log is flipped, and a power cut took the witness',
      of: killed,
      change: async (dataDir: string) => {
        await rm(join(dataDir, 'witness'))
        await flip(join(dataDir, 'control.db-wal'), inHead)
      },
      where: 'control.db-wal',
      problem: /^its head is damaged/,
    },
    {
      what: 'a bit of what is stored for good is flipped in the log of measurements.db',
      of: killed,
      change: (dataDir: string) => flip(join(dataDir, 'measurements.db-wal'), inLastFrame),
      where: 'measurements.db-wal',
      problem: /^it can be read up to frame \d+, but \d+ frames of it were on disk$/,
    },
    {
      what: 'measurements.db is as it was before',
      of: stopped,
      change: (dataDir: string) =>
        cp(join(earlier(), 'measurements.db'), join(dataDir, 'measurements.db')),
      where: 'measurements.db',
      problem: /^it lacks the journal's rows [2-9]\d* to \d+, which were stored there$/,
    },
    {
      what: 'control.db is as it was before',
      of: stopped,
      change: (dataDir: string) => cp(join(earlier(), 'control.db'), join(dataDir, 'control.db')),
      where: 'measurements.db',
      problem: /^it has rows up to \d+, but the journal's last one is \d+$/,
    },
  ]) {
    it(`is refused, and named by verify, when ${what}`, async () => {
      const dataDir = await copyOf(of())
      await change(dataDir)
      const { findings } = await verify(dataDir)
      const found = findings.find((finding) => finding.where === where)
      expect(found?.problem).to.match(problem)
      const { exitCode, stderr } = await runCommand(dataDir, ['serve'], { PORT: '0' })
      // As it can be typed in a checkout.
      const remedy = found?.remedy?.replace('`thermolog ', '`bin/thermolog ')
      expect(stderr).to.equal(`thermolog: ${where}: ${found?.problem}. ${remedy}\n`)
      expect(exitCode).to.equal(1)
    })
  }

  it('is refused when measurements.db is gone', async () => {
    const dataDir = await copyOf(stopped())
    await removeAll(dataDir, 'measurements.db')
    const { exitCode, stderr } = await runCommand(dataDir, ['serve'], { PORT: '0' })
    expect(stderr).to.match(/^thermolog: measurements\.db: it lacks the journal's rows 1 to \d+/)
    expect(exitCode).to.equal(1)
  })

  it('goes on from what can be read, and takes the rest again, once', async () => {
    const dataDir = await copyOf(killed())
    await flip(join(dataDir, 'control.db-wal'), inMiddle)
    const declared = await runCommand(dataDir, ['database', 'restored'])
    expect(declared.exitCode, declared.stderr).to.equal(0)
    const surplus = (await verify(dataDir)).findings.filter(({ check }) => check === 'counts')
    expect(surplus).not.to.deep.equal([])
    for (const { remedy } of surplus) expect(remedy).to.match(/^Delete none of them/)
    await servingHere(dataDir, {}, async (url) => {
      const { store } = (await send(url, { path: '/api/v1/me', token })).body.data
      expect(store.id).not.to.equal(storeId)
      let created = 0
      for (let number = 0; number < BATCHES; number++) {
        const sent = await sendBatch(url, token, batch(number))
        created += sent.body.data.created
        expect(sent.body.data.created + sent.body.data.duplicates).to.equal(PER_BATCH)
      }
      expect(created).to.be.within(1, (BATCHES / 2) * PER_BATCH)
      for (const sensor of (await send(url, { path: '/api/v1/sensors', token })).body.data) {
        const path = `/api/v1/sensors/${sensor.id}/measurements?${DAY}`
        const { complete, points } = (await send(url, { path, token })).body.data
        expect(complete).to.equal(true)
        expect(points[0].count).to.equal((BATCHES * PER_BATCH) / 2)
      }
    })
    expect(await expectClean(dataDir)).to.equal(BATCHES * PER_BATCH)
  })

  it('sets aside what would take the place of a lost measurement that is stored', async () => {
    const dataDir = await copyOf(killed())
    await flip(join(dataDir, 'control.db-wal'), inMiddle)
    expect((await runCommand(dataDir, ['database', 'restored'])).exitCode).to.equal(0)
    const [last] = batch(BATCHES - 1)
    const other = { ...last, event_id: 'other', temp: 99 }
    await servingHere(dataDir, {}, async (url) => {
      expect((await sendBatch(url, token, [other])).body.data.created).to.equal(1)
      const [sensor] = (await send(url, { path: '/api/v1/sensors', token })).body.data
      const path = `/api/v1/sensors/${sensor.id}/measurements?${DAY}`
      expect((await send(url, { path, token })).body.data.complete).to.equal(false)
    })
    const { stdout } = await runCommand(dataDir, ['journal', 'list'])
    expect(stdout).to.contain('another measurement is stored at its time and tie-break')
  })

  it('names the file when early pages of its log lie over later ones of the file', async () => {
    const dataDir = await copyOf(stopped())
    const service = await serve(dataDir)
    const { url } = service
    const [sensor] = (await send(url, { path: '/api/v1/sensors', token })).body.data
    const path = `/api/v1/sensors/${sensor.id}`
    for (let compensation = 1; compensation <= 6; compensation++) {
      await send(url, { method: 'PATCH', path, token, body: { compensation } })
    }
    expect((await sendBatch(url, token, manySensors())).status).to.equal(201)
    await service.stop('SIGKILL')
    moveLog(join(dataDir, 'control.db'))
    await flip(join(dataDir, 'control.db-wal'), (log) => 32 + 6 * (24 + log.readUInt32BE(8)) - 100)
    for (const command of [['serve'], ['database', 'restored']]) {
      const { exitCode, stderr } = await runCommand(dataDir, command, { PORT: '0' })
      expect(stderr).to.match(/^thermolog: control\.db is damaged\. Stop the service/)
      expect(exitCode).to.equal(1)
    }
  })

  it('goes on when somebody deletes the witness', async () => {
    const dataDir = await copyOf(stopped())
    await servingHere(dataDir, {}, async (url) => {
      await rm(join(dataDir, 'witness'))
      for (let number = 0; number < 2; number++) {
        // Longer than a sync of the witness waits for.
        await setTimeout(1_200)
        expect((await sendBatch(url, token, batch(BATCHES + number))).status).to.equal(201)
      }
    })
    await expectClean(dataDir)
  })

  it('is not refused when one power cut after another has torn a commit', async () => {
    const dataDir = await copyOf(stopped())
    const badLines = Array.from({ length: 200 }, (_, at) => `bad ${at} ${'x'.repeat(200)}`)
    const keepLines = (url: string) =>
      send(url, { method: 'POST', path: '/api/v2/write', token, body: badLines.join('\n') })
    const makeToken = () =>
      runCommand(dataDir, ['token', 'create', '--user', 'ana@example.org', '--name', 'other'])
    // The second is shorter, and so would leave the end of the first behind it.
    for (const lastCommit of [keepLines, makeToken]) {
      const service = await serve(dataDir)
      await makeToken()
      await lastCommit(service.url)
      await service.stop('SIGKILL')
      await rm(join(dataDir, 'witness'))
      await tearLastCommit(join(dataDir, 'control.db'))
    }
    await servingHere(dataDir, {}, async (url) => {
      expect((await sendBatch(url, token, batch(0))).status).to.equal(200)
    })
  })

  it('is not declared whole when the other files lack something as well', async () => {
    const dataDir = await copyOf(killed())
    await flip(join(dataDir, 'control.db-wal'), inMiddle)
    await flip(join(dataDir, 'measurements.db-wal'), inLastFrame)
    const { exitCode, stderr } = await runCommand(dataDir, ['database', 'restored'])
    expect(stderr).to.match(/^thermolog: measurements\.db-wal: it can be read up to frame/)
    expect(exitCode).to.equal(1)
  })
})
