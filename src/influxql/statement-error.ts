// The error for a statement we do not support.

/** A statement that is not taken: a sentence for the person who wrote it. */
export class StatementError extends Error {
  /** @param at where in the statement, from 0; `undefined`: as a whole */
  constructor(reason: string, at?: number) {
    super(at === undefined ? reason : `at character ${at + 1}: ${reason}`)
    this.name = 'StatementError'
  }
}
