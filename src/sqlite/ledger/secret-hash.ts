// Hashes for indexes whose keys a caller can choose. Whoever knows how keys are spread over slots
// can send events that all belong into one, and each of them then costs a walk over the others. So
// the hashes have a secret, drawn anew by every process.
//
// A key is taken as numbers, each times a secret one, added up in 32 bits. Of two keys that differ,
// the difference of the sums is then as random as the secret, and no choice of keys undoes that. (A
// secret added before or behind a known way of combining words would leave the keys that this way
// makes equal.) What it takes is numbers that do not differ in their highest bits alone, for those
// take in little of the secret: words that can be chosen freely are cut into halves. The words of
// an event's key can only be tried for: 2^28 times for each, and 18 bits are still random.
// Assumed is that nobody can see a collision: it costs nanoseconds, among commits of milliseconds.

import { randomFillSync } from 'node:crypto'

const [A = 0, B = 0, C = 0, D = 0, E = 0, F = 0, G = 0, H = 0] = randomFillSync(new Int32Array(8))

const LOW_HALF = 0xffff

/** Of two words of an event's key, 32 bits of which the high ones are the best. */
export function hashKeyWords(word: number, other: number): number {
  return (Math.imul(word, A) + Math.imul(other, B)) | 0
}

/** Of a sensor and a millisecond, 32 bits. */
export function hashTime(sensorId: number, measuredAtMs: number): number {
  // `| 0` keeps the low 32 bits of a double only below 2^53, which every instant is. What is above
  // them is no more than half a word.
  const low = measuredAtMs | 0
  const high = Math.floor(measuredAtMs / 0x1_0000_0000)
  const sum =
    C +
    Math.imul(sensorId & LOW_HALF, D) +
    Math.imul(sensorId >>> 16, E) +
    Math.imul(low & LOW_HALF, F) +
    Math.imul(low >>> 16, G) +
    Math.imul(high, H)
  // Times in step give sums in step. Mixed, which keeps different sums different, they do not fill
  // neighbouring slots.
  const mixed = Math.imul(sum ^ (sum >>> 15), 0x2c1b3c6d)
  return mixed ^ (mixed >>> 16)
}
