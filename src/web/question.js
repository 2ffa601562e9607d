// A question beside what raised it, before something that cannot be undone.

import { button, element } from './element.js'

/**
 * Leads the focus into what has just opened, all of which is to be in sight.
 *
 * @param {HTMLElement} opened
 * @param {HTMLElement} to
 */
export function lead(opened, to) {
  to.focus()
  opened.scrollIntoView({ block: 'nearest' })
}

/**
 * Asks, and leads the focus there; afterwards the caller leads it on, or it goes back.
 *
 * @param {HTMLElement} place gets the question as its last child, in place of an earlier one
 * @param {string} text
 * @param {readonly (readonly [string, () => void])[]} answers
 */
export function ask(place, text, answers) {
  const raisedBy = document.activeElement
  place.querySelector('.question')?.remove()
  const words = element('p', { tabindex: '-1' }, text)
  const cancel = () => {
    question.remove()
    if (raisedBy instanceof HTMLElement) raisedBy.focus()
  }
  const choices = answers.map(([answer, onAnswer]) => {
    const choose = () => {
      question.remove()
      onAnswer()
    }
    return button({ class: 'danger' }, choose, answer)
  })
  const question = element(
    'div',
    { class: 'question', role: 'group', 'aria-label': 'Question' },
    words,
    element('div', { class: 'answers' }, ...choices, button({}, cancel, 'Cancel')),
  )
  question.addEventListener('keydown', ({ key }) => {
    if (key === 'Escape') cancel()
  })
  place.append(question)
  lead(question, words)
}
