// How much of something shared each user has, in submissions and in measurements.

import type { UserId } from '../domain/sensor.ts'

export interface Amount {
  readonly submissions: number
  readonly measurements: number
}

const NOTHING: Amount = { submissions: 0, measurements: 0 }

export class UserShares {
  readonly #max: Amount
  readonly #shares = new Map<UserId, Amount>()

  /** @param max a user may have; one submission is always taken */
  constructor(max: Amount) {
    this.#max = max
  }

  /** Whether a user may have that many measurements more, as one submission. */
  hasRoomFor(userId: UserId, measurements: number): boolean {
    const share = this.#shares.get(userId)
    if (share === undefined) return true
    return (
      share.submissions < this.#max.submissions &&
      share.measurements + measurements <= this.#max.measurements
    )
  }

  add(userId: UserId, measurements: number): void {
    this.#change(userId, 1, measurements)
  }

  remove(userId: UserId, measurements: number): void {
    this.#change(userId, -1, -measurements)
  }

  #change(userId: UserId, submissions: number, measurements: number): void {
    const share = this.#shares.get(userId) ?? NOTHING
    const changed = {
      submissions: share.submissions + submissions,
      measurements: share.measurements + measurements,
    }
    if (changed.submissions === 0) this.#shares.delete(userId)
    else this.#shares.set(userId, changed)
  }
}
