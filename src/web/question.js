// Asks a question next to the button pressed, before something that cannot be undone.

import { button, element } from './element.js'

/**
 * Moves the focus into a part that has just opened, and brings all of it into view.
 *
 * @param {HTMLElement} opened
 * @param {HTMLElement} to
 */
export function lead(opened, to) {
  to.focus()
  opened.scrollIntoView({ block: 'nearest' })
}

/**
 * Asks, and moves the focus there; afterwards the caller moves it on, or it returns.
 *
 * @param {HTMLElement} place gets the question as its last child, replacing an earlier one
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
