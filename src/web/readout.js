// The time and the numbers above a sensor's chart: at the cursor, or else for the whole period.

import { element, setText } from './element.js'
import {
  TIME_ZONE,
  count,
  period as periodText,
  pointTime,
  shortPointTime,
  temp,
} from './format.js'
import { summaryOf } from './history.js'

/**
 * @import { Cursor } from './chart.js'
 * @import { History } from './history.js'
 * @import { Period } from './period.js'
 * @typedef {readonly [name: string, value: string, when?: string]} Entry
 */

/** Means closer together than this count as one. */
const SAME_CELSIUS = 0.1
/** @type {readonly Entry[]} */
const UNKNOWN = [
  ['Mean', '–'],
  ['Lowest', '–'],
  ['Highest', '–'],
  ['Count', '–'],
]

export class Readout {
  #time = element('span')
  #numbers = element('dl', { class: 'readout' })
  root = element(
    'div',
    { class: 'reading' },
    element('p', { class: 'range' }, this.#time, element('span', { class: 'zone' }, TIME_ZONE)),
    this.#numbers,
  )

  /** The whole text, for screen readers. */
  get text() {
    return `${this.#time.textContent} ${this.#numbers.innerText}`.replaceAll('\n', ' ')
  }

  /** @param {Period} period @param {readonly History[] | undefined} histories one, or none */
  showPeriod({ fromMs, toMs }, histories) {
    setText(this.#time, periodText(fromMs, toMs))
    this.#show(histories?.flatMap(ofPeriod) ?? UNKNOWN)
  }

  /** @param {Cursor} cursor @param {readonly History[]} histories of one sensor */
  showCursor({ atMs, points: [point] }, [history]) {
    if (history === undefined) return
    const startMs = point === undefined ? undefined : history.startsMs[point]
    setText(this.#time, pointTime(startMs ?? atMs, startMs === undefined ? 0 : history.bucketMs))
    this.#show(point === undefined ? [['No data', '–']] : ofPoint(history, point))
  }

  /** @param {readonly Entry[]} entries */
  #show(entries) {
    const items = entries.map(([name, value, when]) => {
      const time = when === undefined ? undefined : element('dd', { class: 'when' }, when)
      return element('div', {}, element('dt', {}, name), element('dd', {}, value), time)
    })
    this.#numbers.replaceChildren(...items)
  }
}

/** @param {History} history @returns {readonly Entry[]} */
function ofPeriod(history) {
  const summary = summaryOf(history)
  if (summary === undefined) return []
  const { mean, meanOfAll, lowest, lowestAt, highest, highestAt, total } = summary
  const isSame = Math.abs(mean - meanOfAll) < SAME_CELSIUS
  const when = (/** @type {number} */ at) =>
    shortPointTime(history.startsMs[at] ?? NaN, history.bucketMs)
  return [
    isSame
      ? ['Mean', temp(mean)]
      : ['Mean over time', temp(mean), `of readings ${temp(meanOfAll)}`],
    ['Lowest', temp(lowest), when(lowestAt)],
    ['Highest', temp(highest), when(highestAt)],
    ['Count', count(total)],
  ]
}

/** @param {History} history @param {number} index @returns {readonly Entry[]} */
function ofPoint({ bucketMs, means, mins, maxs, counts }, index) {
  const mean = temp(means[index] ?? NaN)
  if (bucketMs === 0) return [['Value', mean]]
  return [
    ['Mean', mean],
    ['Lowest', temp(mins[index] ?? NaN)],
    ['Highest', temp(maxs[index] ?? NaN)],
    ['Count', count(counts[index] ?? 0)],
  ]
}
