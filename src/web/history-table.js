// The history as a table: for people who cannot see the chart, or want the numbers.

import { element } from './element.js'
import { count, pointTime, temp } from './format.js'

/** @import { History } from './history.js' */

/** A longer table helps nobody; the API's CSV has all rows. */
const ROWS_MAX = 1_500

/**
 * @param {string} name of the sensor
 * @param {History} history
 */
export function historyTable(name, history) {
  const { startsMs, bucketMs, means, mins, maxs, counts } = history
  const isRaw = bucketMs === 0
  const columns = isRaw ? ['Time', 'Value'] : ['Time', 'Mean', 'Lowest', 'Highest', 'Measurements']
  const heads = columns.map((column) => element('th', { scope: 'col' }, column))
  const firstShown = Math.max(0, startsMs.length - ROWS_MAX)
  const rows = startsMs.slice(firstShown).map((startMs, shown) => {
    const at = firstShown + shown
    const numbers = isRaw ? [means[at]] : [means[at], mins[at], maxs[at]]
    const cells = numbers.map((celsius) => element('td', {}, temp(celsius ?? NaN)))
    if (!isRaw) cells.push(element('td', {}, count(counts[at] ?? 0)))
    return element(
      'tr',
      {},
      element('th', { scope: 'row' }, pointTime(startMs, bucketMs)),
      ...cells,
    )
  })
  return element(
    'table',
    {},
    element('caption', {}, `${name}, newest first`),
    element('thead', {}, element('tr', {}, ...heads)),
    element('tbody', {}, ...rows.toReversed()),
  )
}
