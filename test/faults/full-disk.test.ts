// Goal: a service that has to start on a full disk comes up, is read, and says what it lacks; it
// takes measurements as soon as there is room, and has lost none. Method: a real small file system,
// filled to its last byte; `kill -9` and a start several times over.

import { spawnSync } from 'node:child_process'
import { appendFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { runCommand } from '../support/command.ts'
import { FaultyService } from '../support/faulty-service.ts'
import { leaveOut } from '../support/left-out.ts'
import { until } from '../support/until.ts'
import { expectClean } from '../support/verify.ts'

const STARTS = 3
const BATCH = 500
const STORED_BATCHES = 20
/** More than the pages of a file of this size, or of its log, can take that are free inside it. */
const FULL_BATCHES_MAX = 1_000
const FULL_CHANGES_MAX = 2_000
const FULL_USERS_MAX = 10
const START_MS = Date.UTC(2026, 0, 1)
const LACKS_ROOM = /^The volume of DATA_DIR has 0\.\d MiB free( and needs \d\.\d MiB|, and a write)/
const DAYS = 'from=2025-12-01T00:00:00Z&to=2026-02-01T00:00:00Z&bucket=day'

const isReady = async (service: FaultyService) =>
  (await service.send({ path: '/readyz' })).status === 200

describe('a service that starts on a full disk', () => {
  let folder: string
  let service: FaultyService
  const batches: Parameters<FaultyService['submit']>[0][] = []

  before(async function () {
    folder = await mkdtemp(join(tmpdir(), 'thermolog-full-'))
    const options = ['-t', 'tmpfs', '-o', 'size=32m', 'tmpfs', folder]
    if (spawnSync('mount', options).status !== 0) {
      leaveOut(this, 'the right to mount')
    }
    service = new FaultyService(folder, {})
    await service.start()
    await service.prepare()
    for (let batch = 0; batch < STORED_BATCHES; batch++) expect(await submitNext()).to.equal(201)
  })
  after(async () => {
    if (service?.isRunning) await service.stop('SIGKILL')
    spawnSync('umount', [folder])
    await rm(folder, { recursive: true })
  })

  /** A batch that was never sent before. */
  function submitNext(): Promise<number> {
    const first = batches.length * BATCH
    const events = Array.from({ length: BATCH }, (_, at) => {
      const timestamp = new Date(START_MS + (first + at) * 1_000).toISOString()
      return { event_id: `full/${first + at}`, sn: 'full', temp: (at % 64) / 4, timestamp }
    })
    const batch = { events, isAcknowledged: false }
    batches.push(batch)
    return service.submit(batch)
  }

  /** By another program on the same volume. */
  const elsewhere = () => join(folder, 'elsewhere')

  async function fillToTheLastByte(): Promise<void> {
    for (let bytes = 2 ** 20; bytes >= 1;) {
      try {
        await appendFile(elsewhere(), Buffer.alloc(bytes))
      } catch (error) {
        expect((error as NodeJS.ErrnoException).code).to.equal('ENOSPC')
        bytes >>= 1
      }
    }
  }

  async function expectFull(): Promise<void> {
    const ready = await service.send({ path: '/readyz' })
    expect(ready.status, ready.text).to.equal(503)
    expect(ready.body).to.include({ code: 'storage_full' })
    expect(ready.body.detail).to.match(LACKS_ROOM)
    expect(await submitNext()).to.equal(503)
  }

  async function fillUntilRefused(): Promise<void> {
    await fillToTheLastByte()
    for (let sent = 0; (await submitNext()) !== 503; sent++) {
      expect(sent).to.be.lessThan(FULL_BATCHES_MAX)
    }
    // What is free is looked up once a second.
    await until('it says what it lacks', async () => {
      const { body } = await service.send({ path: '/readyz' })
      return LACKS_ROOM.test(String(body.detail))
    })
    await expectFull()
  }

  const userCreate = (name = 'late') => {
    const args = ['user', 'create', '--email', `${name}@example.org`]
    return runCommand(service.dataDir, args, { MIN_FREE_DISK: '0B' })
  }

  it('says that it is full when a write has found no room, whatever MIN_FREE_DISK is', async () => {
    await fillUntilRefused()
  })

  it('comes up as often as it has to, is read, and refuses what it cannot keep', async () => {
    for (let start = 1; start <= STARTS; start++) {
      await service.stop('SIGKILL')
      await fillToTheLastByte()
      expect(await service.start(), `start ${start}`).to.equal(true)
      const sensors = await service.send({ path: '/api/v1/sensors' })
      expect(sensors.status).to.equal(200)
      const path = `/api/v1/sensors/${sensors.body.data[0].id}/measurements?${DAYS}`
      expect((await service.send({ path })).status).to.equal(200)
      // The start has given up the space of the logs.
      await fillUntilRefused()
    }
  })

  /** The log of what was committed has room until it is written to its end once more. */
  async function fillItsLog(): Promise<void> {
    const { body } = await service.send({ path: '/api/v1/sensors' })
    const path = `/api/v1/sensors/${body.data[0].id}`
    const change = async (at: number) =>
      (await service.send({ method: 'PATCH', path, body: { alias: `full ${at}` } })).status
    for (let at = 0; (await change(at)) !== 503; at++) expect(at).to.be.lessThan(FULL_CHANGES_MAX)
    // Smaller than a change of a sensor.
    for (let at = 0; (await userCreate(`full-${at}`)).exitCode === 0; at++) {
      expect(at).to.be.lessThan(FULL_USERS_MAX)
    }
  }

  it('has commands say which volume lacks what, beside it and alone', async () => {
    for (const isServing of [true, false]) {
      if (!isServing) await service.stop()
      await fillToTheLastByte()
      if (isServing) await fillItsLog()
      const { exitCode, stderr } = await userCreate()
      expect(stderr).to.match(/^thermolog: The volume of DATA_DIR has 0\.\d MiB free/m)
      expect(stderr).to.include(`Free space on the volume of ${service.dataDir}, or enlarge it.`)
      expect(exitCode).to.equal(1)
    }
  })

  it('takes measurements when there is room, and has kept what it acknowledged', async () => {
    await service.startHere()
    await expectFull()
    await rm(elsewhere())
    await until('it is ready', () => isReady(service))
    expect((await userCreate()).exitCode).to.equal(0)
    for (const batch of batches) {
      const status = batch.isAcknowledged ? 200 : 201
      expect(await service.submit(batch)).to.equal(status)
    }
    const { acknowledged } = service
    await service.runRound()
    await service.check()
    await service.stop()
    expect(await expectClean(service.dataDir)).to.be.at.least(acknowledged)
  })
})

describe('a service whose logs have filled the disk', () => {
  let folder: string
  let service: FaultyService
  const mount = (options: string) =>
    spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder]).status

  before(async function () {
    folder = await mkdtemp(join(tmpdir(), 'thermolog-logs-'))
    if (mount('size=60m') !== 0) leaveOut(this, 'the right to mount')
    service = new FaultyService(folder, {})
    await service.start()
    await service.prepare()
  })
  after(async () => {
    if (service?.isRunning) await service.stop('SIGKILL')
    spawnSync('umount', [folder])
    await rm(folder, { recursive: true })
  })

  /** Of a hundred sensors, so that most pages of the store are in its log alone. */
  function submitFleet(batch: number): Promise<number> {
    const events = Array.from({ length: BATCH }, (_, at) => {
      const timestamp = new Date(START_MS - (batch * BATCH + at) * 1_000).toISOString()
      return { event_id: `fleet/${batch * BATCH + at}`, sn: `s${at % 100}`, temp: 1, timestamp }
    })
    return service.submit({ events, isAcknowledged: false })
  }

  it('starts and is read before there is room for them, and then loses nothing', async () => {
    let stored = 0
    while ((await submitFleet(stored)) === 201) stored++
    expect(stored).to.be.within(STORED_BATCHES, 20 * FULL_BATCHES_MAX)
    for (let start = 1; start <= STARTS; start++) {
      await service.stop('SIGKILL')
      expect(await service.start(), `start ${start}`).to.equal(true)
      const sensors = await service.send({ path: '/api/v1/sensors' })
      const path = `/api/v1/sensors/${sensors.body.data[0].id}/measurements?${DAYS}`
      expect((await service.send({ path })).status).to.equal(200)
    }
    expect(mount('remount,size=400m')).to.equal(0)
    // What is free is looked up once a second.
    await until('it is ready', () => isReady(service))
    await service.runRound()
    await service.check()
    await service.stop()
    expect(await expectClean(service.dataDir)).to.be.at.least(stored * BATCH)
  })
})
