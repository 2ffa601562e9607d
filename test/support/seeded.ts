// Choices of a story that are the same for the same seed.

export class Seeded {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** @returns a whole number from 0 to below `count` */
  below(count: number): number {
    // Mulberry32: neighbouring seeds have nothing in common.
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * count)
  }

  /** Whether something happens that does so once in so many times. */
  isOneIn(count: number): boolean {
    return this.below(count) === 0
  }

  /** @throws Error when there is nothing to choose from */
  one<Item>(items: readonly Item[]): Item {
    if (items.length === 0) throw new Error('there is nothing to choose from')
    return items[this.below(items.length)] as Item
  }

  shuffled<Item>(items: readonly Item[]): Item[] {
    const places = items.map((item) => ({ item, place: this.below(2 ** 32) }))
    return places.toSorted((a, b) => a.place - b.place).map(({ item }) => item)
  }
}
