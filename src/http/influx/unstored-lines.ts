// The lines of a body that cannot be stored: the first of them for the answer, the others counted.

import type { Line } from '../../line-protocol/line.ts'
import type { UnstoredLine } from './line-answers.ts'

const NAMED_MAX = 20

export class UnstoredLines {
  readonly #known = new WeakSet<Line>()
  #first: UnstoredLine[] = []
  #count = 0

  get count(): number {
    return this.#count
  }

  /** At most 20, in their order in the body. */
  get first(): readonly UnstoredLine[] {
    return this.#first
  }

  /** Counts lines, each once, with the first reason. */
  add(unstored: readonly { readonly line: Line; readonly reason: string }[]): void {
    for (const { line, reason } of unstored) {
      if (this.#known.has(line)) continue
      this.#known.add(line)
      this.#count++
      const last = this.#first.at(-1)
      if (this.#first.length < NAMED_MAX || line.number < (last?.number ?? 0)) {
        const first = [...this.#first, { number: line.number, reason }]
        this.#first = first.toSorted((a, b) => a.number - b.number).slice(0, NAMED_MAX)
      }
    }
  }
}
