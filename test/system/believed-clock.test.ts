// What the wall clock says is believed while it keeps step with the machine's uptime.

import { expect } from 'chai'
import fc from 'fast-check'
import { DAY_MS, MINUTE_MS, SECOND_MS } from '../../src/domain/time.ts'
import type { MachineClock } from '../../src/ports/system.ts'
import { BelievedClock } from '../../src/system/believed-clock.ts'
import { RecordingLog } from '../support/log.ts'

const START_MS = Date.parse('2026-11-20T10:15:00Z')
const UPTIME_MS = 12_345_678

describe('BelievedClock', () => {
  let uptimeMs = UPTIME_MS
  let suspendedMs = 0
  let aheadMs = 0
  let log = new RecordingLog()
  const machine: MachineClock = {
    nowMs: () => START_MS + uptimeMs - UPTIME_MS + aheadMs,
    uptimeMs: () => uptimeMs,
    monotonicMs: () => uptimeMs - suspendedMs + 0.25,
  }
  let clock = new BelievedClock(machine, log)
  let moves: number[] = []

  /** The time by which the clock was right at the start. */
  const trueMs = () => START_MS + uptimeMs - UPTIME_MS

  const start = (startedAheadMs = 0) => {
    uptimeMs = UPTIME_MS
    suspendedMs = 0
    aheadMs = startedAheadMs
    log = new RecordingLog()
    clock = new BelievedClock(machine, log)
    moves = []
    clock.onMoved((byMs) => moves.push(byMs))
  }
  /** Seconds pass, each with a look. */
  const pass = (seconds: number) => {
    for (let at = 0; at < seconds; at++) {
      uptimeMs += SECOND_MS
      clock.look()
    }
  }
  const suspend = (ms: number) => {
    uptimeMs += ms
    suspendedMs += ms
  }
  beforeEach(() => start())

  it('goes on as before while the wall clock is 400 days ahead, for two seconds', () => {
    pass(10)
    aheadMs = 400 * DAY_MS
    expect(clock.nowMs()).to.equal(trueMs())
    expect(clock.doubt?.detail).to.contain('moved ahead by 400 days')
    pass(2)
    expect(clock.nowMs()).to.equal(trueMs())
    aheadMs = 0
    expect(clock.nowMs()).to.equal(trueMs())
    expect(clock.doubt).to.equal(undefined)
    expect(moves).to.deep.equal([])
  })

  it('notices a move that ends between two looks, if the time is asked for meanwhile', () => {
    pass(1)
    aheadMs = -3_650 * DAY_MS
    expect(clock.nowMs()).to.equal(trueMs())
    aheadMs = 0
    clock.look()
    expect(clock.doubt).to.equal(undefined)
  })

  it('believes what has stood still for a minute, and says that it was set ahead', () => {
    start(-3 * DAY_MS)
    pass(40)
    aheadMs = 0
    clock.look()
    pass(59)
    expect(clock.doubt).not.to.equal(undefined)
    expect(clock.nowMs()).to.equal(trueMs() - 3 * DAY_MS)
    pass(1)
    expect(clock.doubt).to.equal(undefined)
    expect(clock.nowMs()).to.equal(trueMs())
    expect(moves).to.deep.equal([3 * DAY_MS])
    expect(log.events.map(({ level }) => level)).to.deep.equal(['error', 'warn'])
  })

  it('waits for each further move anew', () => {
    aheadMs = -DAY_MS
    clock.look()
    pass(50)
    aheadMs = -2 * DAY_MS
    clock.look()
    pass(50)
    expect(clock.doubt?.detail).to.contain('moved back by 2 days')
    pass(10)
    expect(clock.doubt).to.equal(undefined)
    expect(clock.nowMs()).to.equal(trueMs() - 2 * DAY_MS)
    expect(moves).to.deep.equal([-2 * DAY_MS])
  })

  it('believes a clock after eight hours of suspension, and one that is slewed', () => {
    pass(1)
    suspend(8 * 60 * MINUTE_MS)
    expect(clock.doubt).to.equal(undefined)
    expect(clock.nowMs()).to.equal(trueMs())
    // Half a second each second, for an hour; a smeared leap second is less.
    for (let at = 0; at < 3_600; at++) {
      aheadMs += 500
      pass(1)
      expect(clock.doubt).to.equal(undefined)
    }
    expect(clock.nowMs()).to.equal(machine.nowMs())
    expect(log.events).to.deep.equal([])
  })

  it('in all that may happen is right, or doubts, and at most for a minute after a move', () => {
    const second = fc.record({
      moveMs: fc.oneof(
        { weight: 20, arbitrary: fc.constant(0) },
        fc.integer({ min: -3 * MINUTE_MS, max: 3 * MINUTE_MS }),
        fc.integer({ min: -500 * DAY_MS, max: 500 * DAY_MS }),
        fc.constantFrom('back' as const),
      ),
      suspendMs: fc.oneof({ weight: 9, arbitrary: fc.constant(0) }, fc.nat(DAY_MS)),
      isAsked: fc.boolean(),
    })
    fc.assert(
      fc.property(fc.array(second, { maxLength: 200 }), (seconds) => {
        start()
        let quietMs = 0
        let sinceFarMs = Infinity
        for (const { moveMs, suspendMs, isAsked } of seconds) {
          const beforeMs = clock.nowMs()
          const beforeUptimeMs = uptimeMs
          const movedMs = moveMs === 'back' ? -aheadMs : moveMs
          aheadMs += movedMs
          const passesMs = suspendMs + SECOND_MS
          quietMs = movedMs === 0 ? quietMs + passesMs : 0
          sinceFarMs = Math.abs(movedMs) <= 10 * MINUTE_MS ? sinceFarMs + passesMs : 0
          suspend(suspendMs)
          uptimeMs += SECOND_MS
          if (isAsked) clock.nowMs()
          clock.look()
          const isDoubted = clock.doubt !== undefined
          if (quietMs > MINUTE_MS + SECOND_MS) expect(isDoubted).to.equal(false)
          if (!isDoubted) expect(clock.nowMs()).to.equal(machine.nowMs())
          const passedMs = clock.nowMs() - beforeMs - (uptimeMs - beforeUptimeMs)
          // It moves only a little, or where it has stood still.
          if (sinceFarMs < MINUTE_MS) expect(Math.abs(passedMs)).to.be.at.most(10 * MINUTE_MS)
        }
      }),
    )
  })

  it('doubts a start more than a day before the newest receipt, until it has passed that', () => {
    clock.compareWithReceipt(START_MS + DAY_MS)
    expect(clock.doubt).to.equal(undefined)
    const newestMs = START_MS + DAY_MS + 1
    clock.compareWithReceipt(newestMs)
    expect(clock.doubt?.detail).to.contain(
      'but a measurement was received at 2026-11-21T10:15:00.001Z',
    )
    expect(clock.doubt?.hint).to.contain('thermolog clock accept')
    aheadMs = 2 * DAY_MS
    clock.look()
    pass(60)
    expect(clock.doubt).to.equal(undefined)
    expect(clock.nowMs()).to.equal(machine.nowMs())
  })

  it('believes what an operator has accepted, at once', () => {
    clock.compareWithReceipt(START_MS + 400 * DAY_MS)
    clock.accept()
    expect(clock.doubt).to.equal(undefined)
    aheadMs = 3 * DAY_MS
    clock.look()
    clock.accept()
    expect(clock.doubt).to.equal(undefined)
    expect(clock.nowMs()).to.equal(machine.nowMs())
  })

  it('knows which times were read before it was moved', () => {
    start(-2 * DAY_MS)
    const before = clock.nowMs()
    expect(clock.isOfNow(before)).to.equal(true)
    aheadMs = 0
    clock.look()
    pass(90)
    const after = clock.nowMs()
    expect([before, after].map((atMs) => clock.isOfNow(atMs))).to.deep.equal([false, true])
    aheadMs = -40 * DAY_MS
    clock.look()
    pass(90)
    expect(clock.isOfNow(after)).to.equal(false)
  })

  it('believes a start after the newest receipt, and says so beyond 30 days', () => {
    clock.compareWithReceipt(0)
    clock.compareWithReceipt(START_MS - 30 * DAY_MS)
    expect(clock.warning).to.equal(undefined)
    clock.compareWithReceipt(START_MS - 31 * DAY_MS)
    expect(clock.doubt).to.equal(undefined)
    expect(clock.warning).to.contain('31 days after the newest measurement was received')
    clock.accept()
    expect(clock.warning).to.equal(undefined)
  })
})
