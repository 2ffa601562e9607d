// Retries store each measurement once, whatever fails or arrives meanwhile, and end.

import { expect } from 'chai'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadConfig } from '../../src/config.ts'
import type { Config } from '../../src/config.ts'
import type { Core } from '../../src/core/open-core.ts'
import { openEngine } from '../../src/core/open-engine.ts'
import { HOUR_MS } from '../../src/domain/time.ts'
import { RefusedRetries } from '../../src/operations/refused-retries.ts'
import { retryRefused } from '../../src/operations/refused.ts'
import type { Refused } from '../../src/ports/refused.ts'
import { FakeClock } from '../support/clock.ts'
import { RecordingLog } from '../support/log.ts'

describe('retrying what was refused', () => {
  const clock = new FakeClock()
  const log = new RecordingLog()
  let dataDir: string
  let config: Config
  let core: Core
  let userId: number
  let entry: Refused

  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'thermolog-'))
    config = loadConfig({ DATA_DIR: dataDir })
    core = await openEngine(config, { clock, log, isForwarding: true })
    userId = (await core.controlWriter.createUser('a@example.org', 'A'))!.id
    const of = { userId, tokenId: 1, serialNumberPrefix: '', unitNs: '1000000', reason: 'why' }
    const receivedAtMs = clock.nowMs()
    entry = {
      ...of,
      kind: 'line',
      content: '',
      fields: null,
      receivedAtMs,
      aheadAtMs: null,
      count: 1,
    }
  })
  afterEach(async () => {
    await core.close()
    await rm(dataDir, { recursive: true })
  })

  const keep = (...entries: readonly Partial<Refused>[]) =>
    core.controlWriter.keepRefused(entries.map((one) => ({ ...entry, ...one })))
  const keepElement = (element: object, aheadAtMs: number | null = null) =>
    keep({ kind: 'element', content: JSON.stringify(element), unitNs: '1', aheadAtMs })
  const retry = () => retryRefused({ ...core, clock }, config, undefined)
  /** The clock was behind by an hour all the time, and is moved ahead. */
  const setAhead = async (using: Partial<ConstructorParameters<typeof RefusedRetries>[0]> = {}) => {
    clock.advanceMs(HOUR_MS)
    await retriesOf(using).noteMoved(HOUR_MS)
  }
  const retriesOf = (using: Partial<ConstructorParameters<typeof RefusedRetries>[0]> = {}) => {
    const pause = () => Promise.reject(new Error('nothing is to be waited for'))
    return new RefusedRetries({ ...core, clock, log, pause, ...using }, config)
  }
  const list = () => core.control.listRefused({ isOldestFirst: true, limit: 10 })
  const countMeasurements = async () => {
    const sensors = await core.control.listSensors(userId)
    return core.control.countMeasurements(sensors.map(({ id }) => id))
  }
  const submit = (tempCelsius: number, measuredAtMs: number | null) =>
    core.submissions.submit({
      userId,
      receivedAtMs: clock.nowMs(),
      measurements: [{ eventId: 'E', serialNumber: 'x', tempCelsius, measuredAtMs }],
    })

  it('happens by itself when the clock was set ahead, of what that explains', async () => {
    const { futureMsMax } = config
    const receivedAtMs = clock.nowMs()
    const aheadMs = [0, HOUR_MS, HOUR_MS + futureMsMax, HOUR_MS + futureMsMax + 1, 2 * HOUR_MS]
    const of = (at: number, ms: number) => {
      const aheadAtMs = receivedAtMs + ms
      return { content: `t temp=${at} ${aheadAtMs}`, aheadAtMs }
    }
    await keep(...aheadMs.map((ms, at) => of(at, ms)), { content: `t temp=5 ${receivedAtMs}` })
    expect(await retry()).to.deep.equal({ count: 2, refusedAgain: 4 })
    await setAhead()
    const kept = (await list()).map(({ content }) => content.slice(0, 8))
    expect(kept).to.deep.equal(['t temp=3', 't temp=4'])
  })

  it('happens by all moves together, of what was refused since the start', async () => {
    const receivedAtMs = clock.nowMs()
    const refuse = (name: string, aheadMs: number) => {
      const aheadAtMs = receivedAtMs + aheadMs
      return keep({ content: `${name} temp=1 ${aheadAtMs}`, aheadAtMs })
    }
    clock.advanceMs(3 * HOUR_MS)
    await refuse('before', HOUR_MS)
    const retries = retriesOf()
    await retries.start()
    await refuse('local', HOUR_MS)
    await retries.noteMoved(-HOUR_MS)
    await refuse('back', 2 * HOUR_MS)
    await retries.noteMoved(HOUR_MS)
    const names = async () => (await list()).map(({ content }) => content.split(' ')[0])
    expect(await names()).to.deep.equal(['before', 'local', 'back'])
    await retries.noteMoved(HOUR_MS)
    expect(await names()).to.deep.equal(['before'])
  })

  it('stores nothing twice after it was killed, and what has arrived since then', async () => {
    await keep({ content: 't temp=1,temp_1=2,temp_2=99999', fields: [0, 2] })
    const killed = {
      ...core.controlWriter,
      noteRefusedRetries: () => Promise.reject(new Error('killed')),
    }
    const attempt = retryRefused({ ...core, controlWriter: killed, clock }, config, undefined)
    expect(await attempt.catch(String)).to.equal('Error: killed')
    expect(await countMeasurements()).to.equal(1)
    expect(await retry()).to.deep.equal({ count: 0, refusedAgain: 1 })
    expect(await countMeasurements()).to.equal(1)
    const receivedAtMs = clock.nowMs() + 1
    await keep({ content: 't temp=1,temp_1=2,temp_2=99999', fields: [0, 2], receivedAtMs })
    expect((await list()).map(({ count }) => count)).to.deep.equal([2])
    for (let time = 0; time < 2; time++) await retry()
    expect(await countMeasurements()).to.equal(2)
  })

  it('takes a field for the same one when other fields are temperatures by now', async () => {
    await keep({ content: 't room=1,temp=2,temp_1=99999', fields: [1, 2] })
    for (const lineFields of [[], ['room']]) {
      const names = { lineFields, lineSerialTags: [] }
      await retryRefused({ ...core, clock }, names, undefined)
    }
    expect(await countMeasurements()).to.equal(1)
  })

  it('keeps a part that is no temperature any more', async () => {
    await keep({ content: 't room=1,temp=2', fields: [0] })
    expect(await retry()).to.deep.equal({ count: 0, refusedAgain: 1 })
    expect((await list())[0]).to.include({ reason: 'no temperature' })
    const names = { lineFields: ['room'], lineSerialTags: [] }
    expect((await retryRefused({ ...core, clock }, names, undefined)).count).to.equal(1)
    expect(await countMeasurements()).to.equal(1)
  })

  it('keeps what another event has taken the id of, and says so', async () => {
    const aheadAtMs = clock.nowMs() + HOUR_MS
    const timestamp = new Date(aheadAtMs).toISOString()
    await keepElement({ event_id: 'E', sn: 'x', temp: 1, timestamp }, aheadAtMs)
    await submit(2, null)
    await setAhead()
    const conflict = 'its event id was accepted before with other content, which is kept'
    expect((await list())[0]).to.include({ reason: conflict, aheadAtMs })
    expect(await retry()).to.deep.equal({ count: 0, refusedAgain: 1 })
    expect(await countMeasurements()).to.equal(1)
  })

  it('stores others when one cannot be decided, and that one a minute later', async () => {
    const aheadAtMs = clock.nowMs() + HOUR_MS
    const ahead = (content: string) => ({ content: `${content} ${aheadAtMs}`, aheadAtMs })
    const others = Array.from({ length: 250 }, (_, at) => `t temp=${at}`)
    await keep(...['damaged temp=1', ...others].map(ahead))
    let isDamaged = true
    const submissions: Pick<Core['submissions'], 'submit'> = {
      submit: async (submission) => {
        const isOfIt = submission.measurements.at(0)?.serialNumber.includes('damaged')
        if (isDamaged && isOfIt === true) throw new Error('damaged')
        return core.submissions.submit(submission)
      },
    }
    const pause = async (durationMs: number) => {
      expect(durationMs).to.equal(60_000)
      expect((await list()).map(({ content }) => content.slice(0, 7))).to.deep.equal(['damaged'])
      isDamaged = false
    }
    await setAhead({ submissions, pause })
    expect(await list()).to.deep.equal([])
    expect(await countMeasurements()).to.equal(251)
  })

  it('ends, whatever arrives meanwhile', async () => {
    await keep({ content: 'bad' })
    let arrived = 0
    const controlWriter = {
      ...core.controlWriter,
      noteRefusedRetries: async (
        ...args: Parameters<Core['controlWriter']['noteRefusedRetries']>
      ) => {
        if (++arrived > 5) throw new Error('it does not end')
        await keep({ content: `bad${arrived}` })
        return core.controlWriter.noteRefusedRetries(...args)
      },
    }
    const retried = await retryRefused({ ...core, controlWriter, clock }, config, undefined)
    expect(retried).to.deep.equal({ count: 0, refusedAgain: 1 })
  })

  it('gives a reason that is shorter than what was sent', async () => {
    await keepElement({ sn: '!'.repeat(1_000_000), temp: 1 })
    await retry()
    expect((await list())[0]?.reason)
      .to.match(/^sn "!{100}/)
      .and.have.lengthOf(200)
  })

  it('takes a repeat without a time for stored, whatever time was given to it', async () => {
    await keepElement({ event_id: 'E', sn: 'x', temp: 2 })
    clock.advanceMs(60_000)
    await submit(2, null)
    expect(await retry()).to.deep.equal({ count: 1, refusedAgain: 0 })
    expect(await countMeasurements()).to.equal(1)
  })
})
