// A queue shared by users: turns give no user more of the service for having more queued, and
// shares limit how much each may have queued.

export class UserTurns<Item> {
  /** Users in the order of their turns, each with at least one item, oldest first. */
  readonly #lines = new Map<number, Item[]>()

  has(userId: number): boolean {
    return this.#lines.has(userId)
  }

  add(userId: number, item: Item): void {
    const line = this.#lines.get(userId)
    if (line === undefined) this.#lines.set(userId, [item])
    else line.push(item)
  }

  /**
   * Offers the oldest item of each user in turn, round after round, until none is taken. A user
   * whose item was taken goes to the end.
   *
   * @param take returns whether it takes the item
   */
  offer(take: (item: Item, userId: number) => boolean): void {
    for (let isTaken = true; isTaken;) {
      isTaken = false
      // A copy: a user who goes to the end has had their turn in this round.
      for (const [userId, line] of Array.from(this.#lines)) {
        const [item] = line
        if (item === undefined || !take(item, userId)) continue
        isTaken = true
        line.shift()
        this.#lines.delete(userId)
        if (line.length > 0) this.#lines.set(userId, line)
      }
    }
  }
}

export interface Amount {
  readonly submissions: number
  readonly measurements: number
}

/** Changed in place, because this runs for each submission. */
interface Share {
  submissions: number
  measurements: number
}

export class UserShares {
  readonly #max: Amount
  readonly #shares = new Map<number, Share>()

  /** @param max what each user may have; a user with nothing may always add one submission */
  constructor(max: Amount) {
    this.#max = max
  }

  /** Whether a user may add that many measurements as one submission. */
  hasRoomFor(userId: number, measurements: number): boolean {
    const share = this.#shares.get(userId)
    if (share === undefined) return true
    return (
      share.submissions < this.#max.submissions &&
      share.measurements + measurements <= this.#max.measurements
    )
  }

  add(userId: number, measurements: number): void {
    const share = this.#shares.get(userId)
    if (share === undefined) {
      this.#shares.set(userId, { submissions: 1, measurements })
      return
    }
    share.submissions++
    share.measurements += measurements
  }

  /** Removes what was added. */
  remove(userId: number, measurements: number): void {
    const share = this.#shares.get(userId)
    if (share === undefined) return
    share.submissions--
    share.measurements -= measurements
    if (share.submissions === 0) this.#shares.delete(userId)
  }
}
