import { setTimeout } from 'node:timers/promises'
import { expect } from 'chai'
import { StorePace } from '../../src/ingest/store-pace.ts'
import { FakeClock } from '../support/clock.ts'

const MUCH = 20_000

describe('the pace of commits beside a store in the same process', () => {
  let wentOn: { times: number }
  let pace: StorePace

  beforeEach(() => {
    // One for each test: the timer of the one before may be running still.
    const counted = { times: 0 }
    wentOn = counted
    pace = new StorePace(new FakeClock(), () => counted.times++)
  })

  it('waits for a store that has much to catch up with, until it has taken some', () => {
    expect(pace.mustWait(MUCH)).to.equal(true)
    expect(wentOn.times).to.equal(0)
    pace.noteReadable()
    expect(wentOn.times).to.equal(1)
    expect(pace.mustWait(100)).to.equal(false)
  })

  it('waits again when the store has got on and is behind still', async () => {
    pace.mustWait(MUCH)
    await setTimeout(200)
    pace.noteReadable()
    await setTimeout(100)
    expect(pace.mustWait(MUCH)).to.equal(true)
  })

  it('goes on by itself past a store that does not get on, until it does', async () => {
    pace.mustWait(MUCH)
    await setTimeout(300)
    expect(wentOn.times).to.equal(1)
    expect(pace.mustWait(MUCH)).to.equal(false)
    pace.noteReadable()
    expect(pace.mustWait(MUCH)).to.equal(true)
  })

  it('does not wait for a store that is far behind', () => {
    expect(pace.mustWait(1_000_000)).to.equal(false)
  })
})
