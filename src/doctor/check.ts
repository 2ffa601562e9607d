// The results of `thermolog doctor`: one for each thing that it checks.

/** `warning`: it works, but an operator should know; `wrong`: it needs action. */
export type CheckState = 'wrong' | 'warning' | 'ok'

export interface CheckResult {
  /** What was checked, such as `fsync`. */
  readonly check: string
  readonly state: CheckState
  /** The finding, in a sentence for people. */
  readonly message: string
  /** What to do; never with `ok`. */
  readonly remedy?: string
}

/** The results of one check. */
export class Check {
  readonly #check: string

  constructor(check: string) {
    this.#check = check
  }

  ok(message: string): CheckResult {
    return { check: this.#check, state: 'ok', message }
  }

  warning(message: string, remedy: string): CheckResult {
    return { check: this.#check, state: 'warning', message, remedy }
  }

  wrong(message: string, remedy: string): CheckResult {
    return { check: this.#check, state: 'wrong', message, remedy }
  }
}

/** For data that cannot be read. */
export const VERIFY = 'see `thermolog verify`, and Troubleshooting in docs/operations.md'

/** The time limit for another program's response. */
export const ANSWER_MS_MAX = 5_000

export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error.name === 'TimeoutError') return 'no answer in time'
  // `fetch` puts the actual reason into the cause, which may have no message of its own.
  const { code, message } = (
    error instanceof TypeError ? (error.cause ?? error) : error
  ) as NodeJS.ErrnoException
  return message || code || error.message
}
