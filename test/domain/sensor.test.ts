import { expect } from 'chai'
import {
  becomesLatest,
  compensate,
  isOnline,
  onlineTimes,
  roundCelsius,
  serialNumberKey,
} from '../../src/domain/sensor.ts'
import type { Sensor } from '../../src/domain/sensor.ts'
import { someSensor } from '../support/some-sensor.ts'

const NOW_MS = 1_800_000_000_000
const LIMIT_MS = 900_000
const AHEAD_MS = 300_000

function sensor(lastSeenAtMs: number | null, measuredAtMs: number | null): Sensor {
  const latest = measuredAtMs === null ? null : { measuredAtMs, rawCelsius: 1 }
  return someSensor({ lastSeenAtMs, latest })
}

describe('compensate', () => {
  it('shows stored values exactly without compensation', () => {
    expect(compensate(0.1 + 0.2, 0)).to.equal(0.1 + 0.2)
  })

  it('rounds the sum to six decimals', () => {
    expect(compensate(11.75, -0.4)).to.equal(11.35)
    expect(compensate(0.1, 0.2)).to.equal(0.3)
  })
})

describe('roundCelsius', () => {
  it('has no negative zero', () => expect(Object.is(roundCelsius(-1e-9), 0)).to.equal(true))
  it('leaves numbers without a sixth decimal alone', () => {
    expect(roundCelsius(1e15 + 0.5)).to.equal(1e15 + 0.5)
  })
})

describe('serialNumberKey', () => {
  it('is the same for spellings of one sensor', () => {
    const spellings = ['28FF641E93160434', '28:ff:64:1e:93:16:04:34', '28-FF_64.1E93160434']
    expect(new Set(spellings.map(serialNumberKey)).size).to.equal(1)
    expect(serialNumberKey('Cellar-1')).to.equal(serialNumberKey('CELLAR-1'))
  })

  it('differs where the rest is not eight or more hexadecimal digits', () => {
    expect(serialNumberKey('a-1')).to.not.equal(serialNumberKey('a1'))
    expect(serialNumberKey('AA:BB:CC')).to.not.equal(serialNumberKey('AABBCC'))
    expect(serialNumberKey('AA:BB:CC:DD')).to.equal(serialNumberKey('AABBCCDD'))
  })
})

describe('isOnline', () => {
  const now = onlineTimes(NOW_MS, { offlineAfterMs: LIMIT_MS, futureMsMax: AHEAD_MS })
  const isOnlineNow = (one: Sensor) => isOnline(one, now)

  it('is true for a sensor heard from, and having measured, within the limit', () => {
    expect(isOnlineNow(sensor(NOW_MS - LIMIT_MS, NOW_MS - LIMIT_MS))).to.equal(true)
  })

  it('is false after a backfill of old data', () => {
    expect(isOnlineNow(sensor(NOW_MS, NOW_MS - LIMIT_MS - 1))).to.equal(false)
  })

  it('is false for a sensor that has gone silent, and before the first measurement', () => {
    expect(isOnlineNow(sensor(NOW_MS - LIMIT_MS - 1, NOW_MS))).to.equal(false)
    expect(isOnlineNow(sensor(null, null))).to.equal(false)
  })

  it('is false for one whose latest time is further ahead than is accepted', () => {
    expect(isOnlineNow(sensor(NOW_MS, NOW_MS + AHEAD_MS))).to.equal(true)
    expect(isOnlineNow(sensor(NOW_MS, NOW_MS + AHEAD_MS + 1))).to.equal(false)
  })
})

describe('becomesLatest', () => {
  it('is true for what is not earlier, or follows what is further ahead than is accepted', () => {
    expect(becomesLatest(NOW_MS, NOW_MS, NOW_MS)).to.equal(true)
    expect(becomesLatest(NOW_MS - 1, NOW_MS, NOW_MS)).to.equal(false)
    expect(becomesLatest(NOW_MS - LIMIT_MS, NOW_MS + 1, NOW_MS)).to.equal(true)
  })
})
