// Stored data found to be damaged when something needed it.

/** At most this many damaged places are reported, each once. */
const PROBLEMS_MAX = 10

export class DamageList {
  readonly #problems = new Set<string>()

  get problems(): readonly string[] {
    return [...this.#problems]
  }

  /** @returns whether the problem was new and is now on the list */
  note(problem: string): boolean {
    if (this.#problems.size >= PROBLEMS_MAX || this.#problems.has(problem)) return false
    this.#problems.add(problem)
    return true
  }
}
