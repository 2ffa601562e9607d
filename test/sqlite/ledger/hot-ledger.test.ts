// Goal: nobody can choose times or event ids so that the newest events are found slowly, and where
// an index is crowded all the same, everything is still found and taken back exactly. Method: times
// and keys that have one slot by any hash without a secret, among them the one that was attacked;
// and, as only this process can compute them, such that have one slot by the secret hash.

import { randomFillSync } from 'node:crypto'
import { expect } from 'chai'
import { KEY_WORDS } from '../../../src/sqlite/event-key.ts'
import { LedgerEpoch } from '../../../src/sqlite/ledger/hot-ledger.ts'
import { hashKeyWords, hashTime } from '../../../src/sqlite/ledger/secret-hash.ts'

const EPOCH_EVENTS = 2 ** 17
/** One in a thousand: even luck has some. */
const CROWDED_MAX = EPOCH_EVENTS / 1_000

const WORD = 2 ** 32
const NO_KEY = new Uint32Array(KEY_WORDS)

interface Time {
  readonly sensorId: number
  readonly measuredAtMs: number
}

describe('LedgerEpoch', () => {
  describe('is not crowded by', () => {
    const everyTime: Readonly<Record<string, (at: number) => Time>> = {
      'times of many sensors that a known mix makes equal in all bits': (at) => {
        const sensorId = 1 + Math.floor(at / 124)
        return { sensorId, measuredAtMs: timeOf(knownSum(sensorId, high(at)), high(at)) }
      },
      'times of one sensor that a known mix puts into one slot': (at) => {
        // Equal in the low 18 bits of the mix, different in the others.
        const sum = unmix(Math.floor(at / 124) << 18)
        return { sensorId: 1, measuredAtMs: timeOf(sum ^ knownSum(1, high(at)), high(at)) }
      },
      'times that differ in the high bits of their words only': (at) => ({
        sensorId: 1 + ((at & 15) << 14),
        measuredAtMs: high(at >>> 11) * WORD + ((at >>> 4) & 127) * 2 ** 25,
      }),
      'times in step of neighbouring sensors': (at) => ({
        sensorId: 1 + (at % 1_000),
        measuredAtMs: 1_700_000_000_000 + Math.floor(at / 1_000) * 60_000,
      }),
    }
    for (const [name, timeAt] of Object.entries(everyTime)) {
      it(name, () => {
        const epoch = new LedgerEpoch(EPOCH_EVENTS)
        for (let at = 0; at < EPOCH_EVENTS; at++) addTime(epoch, timeAt(at))
        expect(epoch.crowded).to.be.at.most(CROWDED_MAX)
      })
    }

    it('keys that agree in many bits of their last words', () => {
      const epoch = new LedgerEpoch(EPOCH_EVENTS)
      const words = randomFillSync(new Uint32Array(EPOCH_EVENTS * KEY_WORDS))
      for (let at = 0; at < EPOCH_EVENTS; at++) {
        words[at * KEY_WORDS + 3] = (words[at * KEY_WORDS + 3] ?? 0) & ~(2 ** 18 - 1)
        addKey(epoch, words, at * KEY_WORDS)
      }
      expect(epoch.crowded).to.be.at.most(CROWDED_MAX)
    })
  })

  describe('in a crowded index', () => {
    const EVENTS = 256
    const HIGH_BITS = 9

    it('finds each time, and the one before it again when it is taken back', () => {
      const epoch = new LedgerEpoch(EVENTS)
      const times: Time[] = []
      for (let atMs = 1; times.length < EVENTS / 2; atMs++) {
        const isInSlot = hashTime(1, atMs) >>> (32 - HIGH_BITS) === 0
        if (isInSlot) times.push({ sensorId: 1, measuredAtMs: atMs })
      }
      for (const time of [...times, ...times]) addTime(epoch, time)
      const found = () => times.map((time) => epoch.findLastAt(1, time.measuredAtMs))
      expect(epoch.crowded).to.be.above(0)
      expect(found()).to.deep.equal(times.map((_, at) => EVENTS / 2 + at))
      epoch.truncate(EVENTS - 10)
      epoch.truncate(EVENTS / 2)
      expect(found()).to.deep.equal(times.map((_, at) => at))
      epoch.truncate(100)
      expect(found()).to.deep.equal(times.map((_, at) => (at < 100 ? at : -1)))
      for (const time of times.slice(100)) addTime(epoch, time)
      expect(found()).to.deep.equal(times.map((_, at) => at))
      epoch.truncate(0)
      expect(found().every((record) => record === -1)).to.equal(true)
    })

    it('finds each key, and none that was taken back or cleared away', () => {
      const epoch = new LedgerEpoch(EVENTS)
      const words = crowdedKeys(EVENTS, HIGH_BITS)
      const offsets = Array.from({ length: EVENTS }, (_, at) => at * KEY_WORDS)
      for (const offset of offsets) addKey(epoch, words, offset)
      const found = () => offsets.map((offset) => epoch.find(words, offset))
      expect(epoch.crowded).to.be.above(0)
      expect(found()).to.deep.equal(offsets.map((_, at) => at))
      epoch.truncate(150)
      expect(found()).to.deep.equal(offsets.map((_, at) => (at < 150 ? at : -1)))
      for (const offset of offsets.slice(150)) addKey(epoch, words, offset)
      expect(found()).to.deep.equal(offsets.map((_, at) => at))
      epoch.clear()
      expect(found().every((record) => record === -1)).to.equal(true)
      expect(epoch.crowded).to.equal(0)
    })
  })
})

function addTime(epoch: LedgerEpoch, time: Time): void {
  epoch.add({ userId: 1, tieBreakNs: 0, tempCelsius: 20, hasEventId: 0, ...time }, NO_KEY, 0)
}

/** Each at a time of its own, in step. */
function addKey(epoch: LedgerEpoch, words: Uint32Array, offset: number): void {
  const measuredAtMs = 1_700_000_000_000 + epoch.count * 1_000
  const place = { userId: 1, sensorId: 1, measuredAtMs, tieBreakNs: 0 }
  epoch.add({ ...place, tempCelsius: 20, hasEventId: 1 }, words, offset)
}

/** Keys that have one slot by the secret hash. */
function crowdedKeys(count: number, highBits: number): Uint32Array {
  const words = new Uint32Array(count * KEY_WORDS)
  const tried = new Uint32Array(KEY_WORDS)
  for (let found = 0; found < count;) {
    randomFillSync(tried)
    const hash = hashKeyWords(tried[2] ?? 0, tried[3] ?? 0)
    if (hash >>> (32 - highBits) === 0) words.set(tried, found++ * KEY_WORDS)
  }
  return words
}

/** The high words of the times from 2010 to 2026. */
function high(at: number): number {
  return 294 + (at % 124)
}

function timeOf(low: number, highWord: number): number {
  return highWord * WORD + (low >>> 0)
}

/** How sensor and high word were combined without a secret; a low word equal to it gives zero. */
function knownSum(sensorId: number, highWord: number): number {
  return Math.imul(sensorId, 0x9e3779b1) ^ Math.imul(highWord, 0x85ebca6b)
}

/** What was mixed into that; the constants are the inverses of those that it was mixed with. */
function unmix(mixed: number): number {
  let sum = mixed ^ (mixed >>> 16)
  sum = Math.imul(sum, 0x43021123)
  sum ^= (sum >>> 15) ^ (sum >>> 30)
  sum = Math.imul(sum, 0x1d69e2a5)
  return sum ^ (sum >>> 16)
}
