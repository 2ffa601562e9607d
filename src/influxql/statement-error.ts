// The error for a statement we do not support.

/** A statement that is unsupported; the message is for the person who wrote it. */
export class StatementError extends Error {
  /** @param at position in the statement, from 0; `undefined`: the whole statement */
  constructor(reason: string, at?: number) {
    super(at === undefined ? reason : `at character ${at + 1}: ${reason}`)
    this.name = 'StatementError'
  }
}
