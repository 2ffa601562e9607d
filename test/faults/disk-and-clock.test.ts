// Goal: a full disk, a log with a torn tail and a clock that jumps lose nothing and double
// nothing. Method: a real small file system; bytes put behind the last frames of the logs of a
// killed service; a clock between the service and the system that the test sets.

import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { appendFile, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { useDiskFaults } from '../support/disk-faults.ts'
import { FaultyService } from '../support/faulty-service.ts'
import { leaveOut } from '../support/left-out.ts'
import { byLength } from '../support/length.ts'
import { expectClean } from '../support/verify.ts'

const DAY_MS = 86_400_000
const HISTORY = 'from=2025-11-01T00:00:00Z&to=2026-02-01T00:00:00Z&bucket=day'
const FILL_MAX = 2_000_000
const FRAME_HEADER_BYTES = 24
const LOG_HEADER_BYTES = 32

describe('a service on a full disk', () => {
  let folder: string
  before(async function () {
    folder = await mkdtemp(join(tmpdir(), 'thermolog-full-'))
    if (!mount('size=24m')) leaveOut(this, 'the right to mount')
  })
  after(async () => {
    spawnSync('umount', [folder])
    await rm(folder, { recursive: true })
  })

  const mount = (options: string) => {
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder])
    return mounted.status === 0
  }

  it('refuses, keeps what it acknowledged, and goes on when there is room', async () => {
    const service = new FaultyService(folder, {})
    await service.start()
    await service.prepare()
    expect(await service.fill(FILL_MAX)).to.equal(503)
    const { acknowledged } = service
    expect(acknowledged).to.be.greaterThan(1_000)
    for (let start = 1; start <= 3; start++) {
      const { status, body } = await service.send({ path: '/api/v1/sensors' })
      expect(status).to.equal(200)
      const path = `/api/v1/sensors/${body.data[0].id}/measurements?${HISTORY}`
      const { points } = (await service.send({ path })).body.data
      expect(points.length, `start ${start}`).to.be.greaterThan(0)
      await service.stop('SIGKILL')
      expect(await service.start(), `start ${start}`).to.equal(true)
    }
    await service.stop('SIGKILL')
    expect(mount('remount,size=64m')).to.equal(true)
    await service.startHere()
    await service.runRound()
    await service.check()
    await service.stop()
    expect(await expectClean(service.dataDir)).to.be.at.least(acknowledged)
  })
})

describe('a service whose logs have a torn tail', () => {
  let folder: string
  let killed: FaultyService
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'thermolog-tail-'))
    killed = new FaultyService(folder, {})
    await killed.start()
    await killed.prepare()
    await killed.runRound()
    await killed.stop('SIGKILL')
  })
  after(() => rm(folder, { recursive: true }))

  /** What may be behind the last frame that was synced. */
  const tails: Readonly<Record<string, (log: Buffer) => Buffer>> = {
    'bytes of anything': () => Buffer.from(Array.from({ length: 5_000 }, (_, at) => at % 251)),
    zeros: () => Buffer.alloc(10_000),
    'half a frame': (log) => lastFrame(log).subarray(0, 2_000),
    'a frame whose page is torn': (log) => {
      const frame = Buffer.from(lastFrame(log))
      frame.fill(0x55, frame.length / 2)
      return frame
    },
    'a frame that was there before': (log) => lastFrame(log),
  }
  for (const [name, tailOf] of Object.entries(tails)) {
    it(`starts as if there were not ${name}`, async () => {
      const service = await killed.copyTo(join(folder, name))
      for (const file of ['control.db-wal', 'ledger.db-wal', 'measurements.db-wal']) {
        const path = join(service.dataDir, file)
        if (existsSync(path)) await appendFile(path, tailOf(await readFile(path)))
      }
      await service.checkHere()
    })
  }
})

function lastFrame(log: Buffer): Buffer {
  if (log.length < LOG_HEADER_BYTES) return Buffer.alloc(0)
  const frameBytes = log.readUInt32BE(8) + FRAME_HEADER_BYTES
  const frames = Math.floor((log.length - LOG_HEADER_BYTES) / frameBytes)
  const at = LOG_HEADER_BYTES + (frames - 1) * frameBytes
  return frames === 0 ? Buffer.alloc(0) : log.subarray(at, at + frameBytes)
}

describe('a service whose clock jumps', () => {
  const faults = useDiskFaults()
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'thermolog-clock-'))
    await mkdir(folder, { recursive: true })
  })
  afterEach(() => rm(folder, { recursive: true }))

  it('loses nothing and doubles nothing, and knows the time all the while', async () => {
    const service = new FaultyService(folder, faults().environment)
    await service.start()
    await service.prepare()
    const post = async (at: number) => {
      const body = { event_id: `now/${at}`, sn: 'now', temp: at % 50 }
      const answer = await service.send({ method: 'POST', path: '/api/v1/measurements', body })
      return { status: answer.status, timestamp: answer.body.data?.timestamp as string }
    }
    const told: string[] = []
    const startedMs = Date.now()
    for (let at = 0; at < byLength(50, 2_000); at++) {
      const aheadMs = (((at * 7) % 3) - 1) * 400 * DAY_MS
      faults().setClockAhead(aheadMs)
      const { status } = await post(at)
      expect(status).to.equal(aheadMs === 0 ? 201 : 503)
      faults().setClockAhead(0)
      told.push((await post(at)).timestamp)
    }
    await service.runRound()
    await service.stop('SIGKILL')
    await service.start()
    for (const [at, timestamp] of told.entries()) {
      expect(await post(at)).to.deep.equal({ status: 200, timestamp })
    }
    await service.check()
    for (const timestamp of told) {
      expect(Date.parse(timestamp)).to.be.within(startedMs, Date.now())
    }
    await service.stop()
    await expectClean(service.dataDir)
  })

  it('refuses measurements before the day it was made, and takes them after', async () => {
    const service = new FaultyService(folder, faults().environment)
    await service.start()
    await service.prepare()
    const post = () => {
      const body = { event_id: 'early', sn: 'now', temp: 4 }
      return service.send({ method: 'POST', path: '/api/v1/measurements', body })
    }
    const nowMs = performance.timeOrigin + performance.now()
    faults().setClockAhead(Math.round(Date.UTC(2020, 0, 1) - nowMs))
    const refused = await post()
    expect(refused.status).to.equal(503)
    expect(refused.body.code).to.equal('clock_unset')
    faults().setClockAhead(0)
    expect((await post()).status).to.equal(201)
    await service.runRound()
    await service.check()
    await service.stop()
  })
})
