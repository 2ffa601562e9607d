// The time and the numbers above the chart: for the point under the cursor, else for the whole
// period.

import { element, setText } from './element.js'
import { count, period as periodText, pointTime, temp } from './format.js'
import { summaryOf } from './history.js'

/**
 * @import { History } from './history.js'
 * @import { Period } from './period.js'
 */

/** Means that are closer together than this are one. */
const SAME_CELSIUS = 0.05

export class Readout {
  #time = element('p', { class: 'range' })
  #numbers = element('dl', { class: 'readout' })
  root = element('div', { class: 'reading' }, this.#time, this.#numbers)

  /** All of it, for those who listen. */
  get text() {
    return `${this.#time.textContent} ${this.#numbers.innerText}`.replaceAll('\n', ' ')
  }

  /** @param {Period} period @param {History | undefined} history the numbers stay without one */
  showPeriod({ fromMs, toMs }, history) {
    setText(this.#time, periodText(fromMs, toMs))
    if (history !== undefined) this.#show(ofPeriod(history))
  }

  /** @param {History} history @param {number} index */
  showPoint(history, index) {
    setText(this.#time, pointTime(history.startsMs[index] ?? NaN, history.bucketMs))
    this.#show(ofPoint(history, index))
  }

  /** @param {[string, string][]} entries */
  #show(entries) {
    const items = entries.map(([name, value]) => {
      return element('div', {}, element('dt', {}, name), element('dd', {}, value))
    })
    this.#numbers.replaceChildren(...items)
  }
}

/** @param {History} history @returns {[string, string][]} */
function ofPeriod(history) {
  const summary = summaryOf(history)
  if (summary === undefined) return []
  const { mean, meanOfAll } = summary
  const isSame = Math.abs(mean - meanOfAll) < SAME_CELSIUS
  /** @type {[string, string][]} */
  const means = isSame
    ? [['Mean', temp(mean)]]
    : [
        ['Mean over time', temp(mean)],
        ['Of measurements', temp(meanOfAll)],
      ]
  return [
    ...means,
    ['Lowest', temp(summary.lowest)],
    ['Highest', temp(summary.highest)],
    ['Count', count(summary.total)],
  ]
}

/** @param {History} history @param {number} index @returns {[string, string][]} */
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
