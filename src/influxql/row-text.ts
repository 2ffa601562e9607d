// The JSON of a row that begins with a time, which is written in the unit of `epoch`, without it as
// RFC 3339.

import { StatementError } from './scanner.ts'

/** A value of a row; text only in statements that show names. */
export type Value = number | string | boolean | null

export type Row = readonly Value[]

/** The JSON of a row whose first value is a time in milliseconds. */
export type RowText = (row: Row) => string

/** Larger units take whole ones, as InfluxDB does: -1 ms is second 0. */
const inUnits = (ms: number) => withTime((atMs) => String(Math.trunc(atMs / ms)))
const inParts = (ofMs: bigint) => withTime((atMs) => String(BigInt(atMs) * ofMs))

const BY_EPOCH: ReadonlyMap<string, RowText> = new Map([
  ['ns', inParts(1_000_000n)],
  ['u', inParts(1_000n)],
  ['µ', inParts(1_000n)],
  ['ms', (row: Row) => JSON.stringify(row)],
  ['s', inUnits(1_000)],
  ['m', inUnits(60_000)],
  ['h', inUnits(3_600_000)],
])

/** With as many digits of a second as there are. */
const RFC_3339 = withTime((atMs) => {
  return `"${new Date(atMs).toISOString().replace(/\.?0{1,3}Z$/, 'Z')}"`
})

/** @throws StatementError if there is no such unit */
export function rowTextOf(epoch: string | null): RowText {
  const text = epoch === null ? RFC_3339 : BY_EPOCH.get(epoch)
  if (text !== undefined) return text
  const units = [...BY_EPOCH.keys()].join(', ')
  throw new StatementError(`epoch takes ${units}; times without it are RFC 3339`)
}

function withTime(timeText: (atMs: number) => string): RowText {
  return ([atMs, ...values]) => {
    const text = JSON.stringify(values)
    return `[${timeText(Number(atMs))}${values.length > 0 ? ',' : ''}${text.slice(1)}`
  }
}
