// Choices side by side: one of several, or any of them.

import { element } from './element.js'

/**
 * @param {string} legend
 * @param {{ name: string, type: 'radio' | 'checkbox' }} input
 * @param {readonly { value: string, text: string, isChosen: boolean }[]} offered
 */
export function choices(legend, { name, type }, offered) {
  const labels = offered.map(({ value, text, isChosen }) => {
    const input = element('input', { type, name, value, checked: isChosen })
    return element('label', {}, input, element('span', {}, text))
  })
  const row = element('div', { class: 'choices-row' }, ...labels)
  return element('fieldset', { class: 'choose' }, element('legend', {}, legend), row)
}

/**
 * @param {HTMLElement} from
 * @param {string} name
 * @returns {string[]} the chosen values
 */
export function chosenValues(from, name) {
  const inputs = /** @type {NodeListOf<HTMLInputElement>} */ (
    from.querySelectorAll(`input[name="${name}"]:checked`)
  )
  return [...inputs].map(({ value }) => value)
}

/**
 * A list to choose one from.
 *
 * @param {string} label
 * @param {readonly (readonly [string, string])[]} options value and text
 */
export function selection(label, options) {
  const select = element('select')
  select.append(...options.map(([value, text]) => element('option', { value }, text)))
  return { root: element('label', { class: 'field' }, label, select), select }
}

/**
 * A text field.
 *
 * @param {string} label
 * @param {import('./element.js').Attributes} attributes
 * @param {string} [hint]
 */
export function field(label, attributes, hint) {
  const input = element('input', { autocomplete: 'off', ...attributes })
  const said = hint === undefined ? undefined : element('span', { class: 'muted' }, hint)
  return { root: element('label', { class: 'field' }, label, input, said), input }
}
