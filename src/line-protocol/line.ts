// A line of a body of line protocol.

const RETURN = 13

/** A part of a body's text. */
export class Line {
  /** The first line is 1. */
  readonly number: number
  readonly #body: string
  readonly #start: number
  readonly #end: number

  constructor(number: number, body: string, start: number, end: number) {
    this.number = number
    this.#body = body
    this.#start = start
    this.#end = end > start && body.charCodeAt(end - 1) === RETURN ? end - 1 : end
  }

  /** Its bytes, one character each; a slice of the body's text. */
  get text(): string {
    return this.#body.slice(this.#start, this.#end)
  }

  get length(): number {
    return this.#end - this.#start
  }
}
