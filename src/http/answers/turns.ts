// Turns at long work: a burst of it would otherwise keep everyone waiting until all of it is done.
// New connections above all: each round of the event loop accepts one.

/** Resolves when everyone else has had a turn. */
export type LetOthers = () => Promise<void>

/** One per round of the event loop. */
export class Turns {
  readonly #waiting: (() => void)[] = []

  next(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#waiting.push(resolve) === 1) setImmediate(() => this.#take())
    })
  }

  #take(): void {
    this.#waiting.shift()?.()
    if (this.#waiting.length > 0) setImmediate(() => this.#take())
  }
}
