// Histories as a table, one page at a time, for people who cannot see the chart or want the
// numbers; and all of it as CSV, named like the API's.

import { button, element, setText } from './element.js'
import { TIME_ZONE, count, degrees, groupedTime } from './format.js'
import { UNIT_SHOWN } from './locale.js'

/**
 * @import { Sensor } from './api.js'
 * @import { History } from './history.js'
 * @typedef {{
 *   readonly heads: readonly string[], readonly length: number,
 *   readonly row: (at: number) => Row,
 * }} Rows oldest first
 * @typedef {readonly [group: string, time: string, ...numbers: string[]]} Row a group is a day of
 *   moments, or a month of days
 */

const ROWS_AT_ONCE = 500

/** Keeps its page when it is shown again: new data must not turn the page. */
export class HistoryTable {
  /** @type {readonly Sensor[]} */
  #sensors = []
  /** @type {readonly History[]} */
  #histories = []
  /** @type {Rows} */
  #rows = { heads: [], length: 0, row: () => ['', ''] }
  #first = 0
  #place = element('span')
  #caption = element('caption')
  #heads = element('tr')
  #table = element('table', {}, this.#caption, element('thead', {}, this.#heads))
  #newer = button({}, () => this.#turnTo(this.#first - ROWS_AT_ONCE), 'Newer')
  #older = button({}, () => this.#turnTo(this.#first + ROWS_AT_ONCE), 'Older')
  #save = button(
    {},
    () => saveAs(`${this.#name}.csv`, csvOf(this.#sensors, this.#histories)),
    'Download CSV',
  )
  /** @type {readonly HTMLElement[]} */
  parts = [
    element(
      'div',
      { class: 'table-head' },
      element('div', { class: 'pages' }, this.#newer, this.#older, this.#place),
      this.#save,
    ),
    this.#table,
  ]

  /**
   * @param {readonly Sensor[]} sensors
   * @param {readonly History[]} histories of these sensors
   */
  show(sensors, histories) {
    this.#sensors = sensors
    this.#histories = histories
    const [history] = histories
    this.#rows =
      history !== undefined && histories.length === 1
        ? rowsOf(history)
        : rowsOfAll(sensors, histories)
    // A compensation that is only tried out is not exported.
    this.#save.disabled = histories.some(
      ({ compensation }, at) => compensation !== sensors[at]?.compensation,
    )
    const unit = sensors.length > 1 ? ` in °${UNIT_SHOWN}` : ''
    setText(this.#caption, `${this.#name}${unit}, newest first, times in ${TIME_ZONE}`)
    this.#heads.replaceChildren(
      ...this.#rows.heads.map((head) => element('th', { scope: 'col' }, head)),
    )
    this.#turnTo(this.#first < this.#rows.length ? this.#first : 0)
  }

  get #name() {
    return this.#sensors.length === 1 ? (this.#sensors[0]?.alias ?? '') : 'Comparison'
  }

  /** @param {number} first counted from the newest */
  #turnTo(first) {
    const { length, row } = this.#rows
    const end = Math.min(length, first + ROWS_AT_ONCE)
    this.#first = first
    this.#newer.hidden = length <= ROWS_AT_ONCE
    this.#older.hidden = length <= ROWS_AT_ONCE
    this.#newer.disabled = false
    this.#older.disabled = false
    // A disabled button loses the focus.
    if (end === length && document.activeElement === this.#older) this.#newer.focus()
    if (first === 0 && document.activeElement === this.#newer) this.#older.focus()
    this.#newer.disabled = first === 0
    this.#older.disabled = end === length
    setText(
      this.#place,
      length === 0 ? 'No rows' : `${count(first + 1)} to ${count(end)} of ${count(length)}`,
    )
    showGroups(
      this.#table,
      Array.from({ length: end - first }, (_, at) => row(length - 1 - first - at)),
    )
  }
}

/**
 * Leaves existing rows alone: they may be selected, and are many.
 *
 * @param {HTMLTableElement} table
 * @param {readonly Row[]} rows
 */
function showGroups(table, rows) {
  const groups = Map.groupBy(rows, ([group]) => group)
  const known = new Map([...table.tBodies].map((body) => [body.rows[0]?.textContent, body]))
  for (const [group, body] of known) if (!groups.has(group ?? '')) body.remove()
  let last = table.tHead
  for (const [group, itsRows] of groups) {
    const body = known.get(group) ?? element('tbody', {}, groupHead(group, itsRows[0]?.length))
    if (last?.nextElementSibling !== body) last?.after(body)
    showRows(body, itsRows)
    last = body
  }
}

/** @param {string} group @param {number} [length] of its rows */
function groupHead(group, length = 2) {
  const colspan = String(length - 1)
  const text = element('span', {}, group)
  return element('tr', {}, element('th', { scope: 'rowgroup', colspan }, text))
}

/** @param {HTMLTableSectionElement} body whose first row stays @param {readonly Row[]} rows */
function showRows(body, rows) {
  const texts = new Set(rows.map(rowText))
  const [head, ...before] = body.rows
  for (const row of before) if (!texts.has(row.textContent)) row.remove()
  let next = head?.nextElementSibling ?? null
  for (const row of rows) {
    if (next?.textContent === rowText(row)) next = next.nextElementSibling
    else body.insertBefore(rowElement(row), next)
  }
  while (body.rows.length > rows.length + 1) body.deleteRow(-1)
}

/** @param {Row} row */
function rowText([group, time, ...numbers]) {
  return `${group}, ${time}${numbers.join('')}`
}

/** @param {Row} row */
function rowElement([group, time, ...numbers]) {
  // Screen readers may reach a row from anywhere.
  const unseen = element('span', { class: 'hidden-text' }, `${group}, `)
  const cells = numbers.map((number) => element('td', {}, number))
  return element('tr', {}, element('th', { scope: 'row' }, unseen, time), ...cells)
}

/** @param {History} history @returns {Rows} */
function rowsOf({ startsMs, bucketMs, means, mins, maxs, counts }) {
  const isRaw = bucketMs === 0
  const columns = isRaw ? [means] : [means, mins, maxs]
  const heads = (isRaw ? ['Value'] : ['Mean', 'Lowest', 'Highest']).map(
    (head) => `${head}\n°${UNIT_SHOWN}`,
  )
  return {
    heads: ['Time', ...heads, ...(isRaw ? [] : ['Count'])],
    length: startsMs.length,
    row: (at) => {
      const time = groupedTime(startsMs[at] ?? NaN, bucketMs)
      const numbers = columns.map((column) => degrees(column[at] ?? NaN))
      return [...time, ...numbers, ...(isRaw ? [] : [count(counts[at] ?? 0)])]
    },
  }
}

/**
 * The means of several sensors in columns.
 *
 * @param {readonly Sensor[]} sensors
 * @param {readonly History[]} histories
 * @returns {Rows}
 */
function rowsOfAll(sensors, histories) {
  const bucketMs = histories[0]?.bucketMs ?? 0
  const times = [...new Set(histories.flatMap(({ startsMs }) => startsMs))].sort((a, b) => a - b)
  const places = histories.map(
    ({ startsMs }) => new Map(startsMs.map((startMs, at) => [startMs, at])),
  )
  return {
    heads: ['Time', ...sensors.map(({ alias }) => alias)],
    length: times.length,
    row: (at) => {
      const startMs = times[at] ?? NaN
      const numbers = histories.map(({ means }, line) => {
        const place = places[line]?.get(startMs)
        return place === undefined ? '' : degrees(means[place] ?? NaN)
      })
      return [...groupedTime(startMs, bucketMs), ...numbers]
    },
  }
}

/**
 * In UTC and degrees Celsius, as in the API and for import.
 *
 * @param {readonly Sensor[]} sensors
 * @param {readonly History[]} histories
 */
function csvOf(sensors, histories) {
  const isBucketed = (histories[0]?.bucketMs ?? 0) > 0
  const heads = [
    'sensor_id',
    'sn',
    'timestamp',
    'temp',
    ...(isBucketed ? ['min', 'max', 'count'] : []),
  ]
  const lines = histories.flatMap(({ startsMs, means, mins, maxs, counts }, line) => {
    const { id = 0, sn = '' } = sensors[line] ?? {}
    return startsMs.map((startMs, at) => {
      const more = isBucketed ? [mins[at], maxs[at], counts[at]] : []
      return [id, sn, new Date(startMs).toISOString(), means[at], ...more].join()
    })
  })
  return [heads.join(), ...lines, ''].join('\r\n')
}

/** @param {string} name @param {string} text */
function saveAs(name, text) {
  const href = URL.createObjectURL(new Blob([text], { type: 'text/csv' }))
  element('a', { href, download: name }).click()
  URL.revokeObjectURL(href)
}
