// How many long answers a user may have under way: further requests of that user wait, and nobody
// else does. So dashboards that ask for everything at once take a fixed share of the main thread
// and of memory.

interface Places {
  taken: number
  readonly waiting: (() => void)[]
}

export class UserPlaces {
  readonly #max: number
  readonly #users = new Map<number, Places>()

  constructor(max: number) {
    this.#max = max
  }

  /** Waits for a place. @returns gives it back */
  async take(userId: number): Promise<() => void> {
    const places = this.#users.get(userId) ?? { taken: 0, waiting: [] }
    this.#users.set(userId, places)
    if (places.taken < this.#max) places.taken++
    else await new Promise<void>((go) => places.waiting.push(go))
    return () => this.#giveBack(userId, places)
  }

  #giveBack(userId: number, places: Places): void {
    const next = places.waiting.shift()
    if (next !== undefined) return next()
    places.taken--
    if (places.taken === 0) this.#users.delete(userId)
  }
}
