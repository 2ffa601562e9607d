import { expect } from 'chai'
import { StorePace } from '../../src/ingest/store-pace.ts'
import { TimerClock } from '../support/timers.ts'

const MUCH = 20_000

describe('the pace of commits beside a store in the same process', () => {
  let clock: TimerClock
  let timesWentOn: number
  let pace: StorePace

  beforeEach(() => {
    clock = new TimerClock()
    timesWentOn = 0
    pace = new StorePace(clock, () => timesWentOn++)
  })
  afterEach(() => clock.stop())

  it('waits for a store that has much to catch up with, until it has taken some', () => {
    expect(pace.mustWait(MUCH)).to.equal(true)
    expect(timesWentOn).to.equal(0)
    pace.noteReadable()
    expect(timesWentOn).to.equal(1)
    expect(pace.mustWait(100)).to.equal(false)
  })

  it('waits again when the store has got on and is behind still', () => {
    pace.mustWait(MUCH)
    clock.advanceMs(200)
    pace.noteReadable()
    clock.advanceMs(100)
    expect(pace.mustWait(MUCH)).to.equal(true)
  })

  it('goes on by itself past a store that does not get on, until it does', () => {
    pace.mustWait(MUCH)
    clock.advanceMs(249)
    expect(pace.mustWait(MUCH)).to.equal(true)
    expect(timesWentOn).to.equal(0)
    clock.advanceMs(2)
    expect(timesWentOn).to.equal(1)
    expect(pace.mustWait(MUCH)).to.equal(false)
    pace.noteReadable()
    expect(pace.mustWait(MUCH)).to.equal(true)
  })

  it('does not wait for a store that is far behind', () => {
    expect(pace.mustWait(1_000_000)).to.equal(false)
  })
})
