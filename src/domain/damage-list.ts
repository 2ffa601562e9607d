// Stored data that turned out to be damaged when something needed them.

/** No more than this are named, each once. */
const PROBLEMS_MAX = 10

export class DamageList {
  readonly #problems = new Set<string>()

  get problems(): readonly string[] {
    return [...this.#problems]
  }

  /** @returns whether the problem is new and on the list now */
  note(problem: string): boolean {
    if (this.#problems.size >= PROBLEMS_MAX || this.#problems.has(problem)) return false
    this.#problems.add(problem)
    return true
  }
}
