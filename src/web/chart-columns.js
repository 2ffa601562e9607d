// Histories as the columns that uPlot draws, in the displayed unit: of one history, mean, lowest
// and highest; of several, their means at all their times.

import { gapsOf } from './gaps.js'
import { brokenAtGaps } from './history.js'
import { inUnit } from './locale.js'

/**
 * @import { AlignedData } from 'uplot'
 * @import { History } from './history.js'
 * @typedef {{
 *   readonly history: History, readonly gaps: readonly boolean[],
 *   readonly columns: readonly number[], readonly alone: readonly number[],
 * }} Drawn `columns` of the history's points; `alone` have a gap on both sides
 * @typedef {(number | null | undefined)[]} Column `undefined`: a time of another line
 */

/**
 * @param {readonly History[]} histories
 * @returns {{ data: AlignedData, drawn: Drawn[] }}
 */
export function chartColumns(histories) {
  const tables = histories.map(brokenAtGaps)
  const [timesMs, placesOf] = merged(tables.map(([ownMs]) => ownMs))
  const drawn = histories.map((history, line) => {
    const means = tables[line]?.[1] ?? []
    const places = placesOf[line] ?? []
    const is = (/** @type {number} */ at) => (means[at] ?? null) !== null
    const points = means.flatMap((_, at) => (is(at) ? [at] : []))
    const alone = points.filter((at) => !is(at - 1) && !is(at + 1))
    const columnOf = (/** @type {number} */ at) => places[at] ?? 0
    const [columns, lonely] = [points.map(columnOf), alone.map(columnOf)]
    return { history, gaps: gapsOf(history), columns, alone: lonely }
  })
  const values = tables.flatMap(([, means, lows, highs], line) => {
    const isBand = tables.length === 1 && (histories[0]?.bucketMs ?? 0) > 0
    const own = isBand ? [means, lows, highs] : [means]
    return own.map((column) => placed(column, placesOf[line] ?? [], timesMs.length))
  })
  return { data: [timesMs, ...values], drawn }
}

/**
 * All times in order, and where each table's times are among them. A single table stays unchanged:
 * several measurements may have the same time.
 *
 * @param {readonly number[][]} tables
 * @returns {[number[], number[][]]}
 */
function merged(tables) {
  const [only] = tables
  if (only !== undefined && tables.length === 1) return [only, [only.map((_, at) => at)]]
  const timesMs = [...new Set(tables.flat())].sort((one, other) => one - other)
  const places = new Map(timesMs.map((timeMs, at) => [timeMs, at]))
  return [timesMs, tables.map((ownMs) => ownMs.map((timeMs) => places.get(timeMs) ?? 0))]
}

/**
 * @param {readonly (number | null)[]} values
 * @param {readonly number[]} places
 * @param {number} length
 * @returns {Column}
 */
function placed(values, places, length) {
  /** @type {Column} */
  const column = Array.from({ length })
  for (const [at, celsius] of values.entries()) {
    const place = places[at] ?? at
    if (celsius !== null) column[place] = inUnit(celsius)
    // A gap covers all times of other lines within it.
    else column.fill(null, (places[at - 1] ?? place - 1) + 1, places[at + 1] ?? place + 1)
  }
  return column
}
