// When the measurement store, another process, restarted: each time it may have lost what it took
// shortly before.

export class StoreLives {
  #last: string | undefined
  #isInDoubt = false

  /**
   * Whether the store may have lost something since the last look: it lives again, or no longer
   * tells.
   */
  isAnother(life: string | undefined): boolean {
    if (life === undefined) {
      const isNews = !this.#isInDoubt
      this.#isInDoubt = true
      return isNews
    }
    // Also after a doubt: what was written again meanwhile may have gone into the end of the last.
    const isNews = life !== this.#last
    this.#last = life
    this.#isInDoubt = false
    return isNews
  }
}
