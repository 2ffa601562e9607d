/**
 * Exclusive prefix sum, in place: counts become start offsets. When each
 * has been put where its kind is next, that is where each ends.
 *
 * @returns how many there are in all
 */
export function toStarts(counts: Int32Array, length: number): number {
  let sum = 0
  for (let at = 0; at < length; at++) {
    const count = counts[at] ?? 0
    counts[at] = sum
    sum += count
  }
  return sum
}
