// Turns a port's flows into calls; each engine says how it runs a flow.

import type { Flow } from './flow.ts'

/** A port's flows, by the names of its calls. */
export type Flows = Readonly<Record<string, (...args: never[]) => Flow<unknown>>>

export type Calls<Of extends Flows> = {
  readonly [Name in keyof Of]: Of[Name] extends (...args: infer Args) => Flow<infer Result>
    ? (...args: Args) => Promise<Result>
    : never
}

export type CallsAtOnce<Of extends Flows> = {
  readonly [Name in keyof Of]: Of[Name] extends (...args: infer Args) => Flow<infer Result>
    ? (...args: Args) => Result
    : never
}

/** @param run starts a flow, again if its transaction has to be repeated */
export function callsOf<Of extends Flows>(
  flows: Of,
  run: <Result>(begin: () => Flow<Result>) => Promise<Result>,
): Calls<Of>
export function callsOf<Of extends Flows>(
  flows: Of,
  run: <Result>(begin: () => Flow<Result>) => Result,
): CallsAtOnce<Of>
export function callsOf(flows: Flows, run: (begin: () => Flow<unknown>) => unknown): object {
  const calls = Object.entries(flows).map(([name, flow]) => {
    return [name, (...args: never[]) => run(() => flow(...args))]
  })
  return Object.fromEntries(calls) as object
}
