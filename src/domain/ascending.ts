// Searching numbers in ascending order.

/** The index of the last that is at most `wanted`; −1 if there is none. */
export function lastAtOrBefore(ascending: readonly number[], wanted: number): number {
  let low = 0
  let high = ascending.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (ascending[middle]! <= wanted) low = middle + 1
    else high = middle
  }
  return low - 1
}
