// What waits, by user: whoever has much waiting gets no more turns than others.

import type { UserId } from '../domain/sensor.ts'

export class UserTurns<Item> {
  /** Users in the order of their turns, each with at least one item, oldest first. */
  readonly #lines = new Map<UserId, Item[]>()

  has(userId: UserId): boolean {
    return this.#lines.has(userId)
  }

  add(userId: UserId, item: Item): void {
    const line = this.#lines.get(userId)
    if (line === undefined) this.#lines.set(userId, [item])
    else line.push(item)
  }

  /**
   * Offers the oldest item of each user in turn, one after the other, round after round, until
   * none is taken any more. A user of whom an item was taken goes to the end.
   *
   * @param take says whether it takes an item
   */
  offer(take: (item: Item, userId: UserId) => boolean): void {
    for (let isTaken = true; isTaken;) {
      isTaken = false
      // A copy: a user who goes to the end has had the turn of this round.
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
