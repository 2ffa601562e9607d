// A command is one row: from it come what can be typed, its help, what crosses the socket, how it
// is checked and what is shown. Whoever carries a command out reads what was typed, so texts are
// what crosses the socket.

import { usage } from '../operations/failure.ts'
import type { OperationError } from '../operations/failure.ts'

/** What was typed for an argument: a text, several, or `true` where its name is all there is. */
export type Typed = string | readonly string[] | true

export interface Argument<Value> {
  /** `--email <address>`, `--all`, `<id>`, `[id...]`. */
  readonly form: string
  readonly help: string
  readonly isRequired: boolean
  /** Whether it may be typed more than once. */
  readonly isList: boolean
  /** @param typed `undefined`: nothing @throws OperationError */
  read(typed: Typed | undefined): Value
}

export type Arguments = Readonly<Record<string, Argument<unknown>>>

/** What was typed for a command, by argument. */
export type Given<Of extends Arguments = Arguments> = { readonly [Name in keyof Of]?: Typed }

/** What it means. */
export type Values<Of extends Arguments> = {
  readonly [Name in keyof Of]: Of[Name] extends Argument<infer Value> ? Value : never
}

/** @template Context what it works on */
export interface Command<
  Context,
  Path extends string = string,
  Of extends Arguments = Arguments,
  Result = unknown,
> {
  /** What is typed after `thermolog`, such as `user create`. */
  readonly path: Path
  readonly help: string
  /** What else help says, after the options. */
  readonly details?: string
  readonly example: string
  /** The help of `--json`; without it there is none. */
  readonly json?: string
  /** By name; an option's is its long form in camel case. */
  readonly arguments: Of
  /** @throws OperationError where values do not go together */
  check?(values: Values<Of>): void
  /** Whether it may start a new DATA_DIR. */
  readonly mayStart?: boolean
  /** What it would delete for ever, `undefined` for nothing; without `--yes` a person is asked. */
  deletes?(context: Context, values: Values<Of>): Promise<string | undefined>
  /**
   * The result of an operator's command is plain JSON.
   *
   * @param isJson whether standard output gets JSON
   * @throws OperationError
   */
  run(context: Context, values: Values<Of>, isJson?: boolean): Promise<Result>
  present?(result: Result, values: Values<Of>): Shown
}

/** What a command shows of its result. */
export interface Shown {
  /** With `--json`, instead of `lines`. */
  readonly json?: unknown
  /** On standard output, one after another. */
  readonly lines?: readonly (string | Table)[]
  /** A sign-in link, behind the lines: with what a person may want to know about it. */
  readonly link?: string
  /** On standard error, but not beside JSON. */
  readonly remarks?: readonly string[]
  /** On standard error, also beside JSON. */
  readonly notes?: readonly string[]
  /** Why it has failed nevertheless. */
  readonly failure?: OperationError
}

export interface Table {
  /** Members in the order of the columns; all rows have the same. */
  readonly rows: readonly Readonly<Record<string, string | number | null>>[]
  readonly whenEmpty: string
}

/** @throws OperationError about the first argument that is not as it should be */
export function readGiven<Of extends Arguments>(
  row: Pick<Command<never, string, Of>, 'path' | 'arguments' | 'check'>,
  given: Given<Of>,
): Values<Of> {
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(row.arguments, name))
  if (unknown !== undefined) throw usage(`${row.path} has no argument ${JSON.stringify(unknown)}`)
  const read = Object.entries(row.arguments).map(([name, argument]) => {
    return [name, argument.read(given[name])]
  })
  const values = Object.fromEntries(read) as Values<Of>
  row.check?.(values)
  return values
}

/** An argument that has to be there. @param read what one text means; throws OperationError */
export function required<Value>(
  form: string,
  help: string,
  read: (text: string) => Value,
): Argument<Value> {
  const readTyped = (typed: Typed | undefined) => {
    if (typed === undefined) throw usage(`${form} is missing`)
    return read(oneText(form, typed))
  }
  return { form, help, isRequired: true, isList: false, read: readTyped }
}

/** An option with a text. */
export function optional<Value>(
  form: string,
  help: string,
  read: (text: string) => Value,
): Argument<Value | undefined> {
  const readTyped = (typed: Typed | undefined) =>
    typed === undefined ? undefined : read(oneText(form, typed))
  return { form, help, isRequired: false, isList: false, read: readTyped }
}

/** What may be typed several times. @returns `undefined` where it is not typed at all */
export function several<Value>(
  form: string,
  help: string,
  read: (texts: readonly string[]) => Value,
): Argument<Value | undefined> {
  const readTyped = (typed: Typed | undefined) => {
    if (typed === undefined) return undefined
    const texts = [typed].flat()
    if (texts.length === 0) throw usage(`${form} is missing`)
    return read(texts.map((text) => oneText(form, text)))
  }
  return { form, help, isRequired: false, isList: true, read: readTyped }
}

/** An option without a text. */
export function flag(form: string, help: string): Argument<boolean> {
  return { form, help, isRequired: false, isList: false, read: (typed) => typed === true }
}

function oneText(form: string, typed: Typed): string {
  if (typeof typed === 'string') return typed
  throw usage(`${form} is a text`)
}
