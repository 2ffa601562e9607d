// Searching what is in ascending order.

/** How many of the items have a value of at most `wanted`: the index after the last of them. */
export function countUpTo<Item>(
  ascending: readonly Item[],
  wanted: number,
  valueOf: (item: Item) => number,
): number {
  let low = 0
  let high = ascending.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (valueOf(ascending[middle]!) <= wanted) low = middle + 1
    else high = middle
  }
  return low
}

/** The index of the last number that is at most `wanted`; −1 if there is none. */
export function lastAtOrBefore(ascending: readonly number[], wanted: number): number {
  return countUpTo(ascending, wanted, (number) => number) - 1
}
