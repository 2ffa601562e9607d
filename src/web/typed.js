// What somebody has typed into a form and not sent: leaving the view or the page asks before it is
// lost.

import { ask } from './question.js'
import { holdUnsaved } from './unsaved.js'

/**
 * Holds a form until `dropUnsaved`.
 *
 * @param {HTMLElement} form
 * @param {{ isChanged: () => boolean, onClosed: () => void }} how `onClosed` removes the form from
 *   the document
 */
export function holdTyped(form, { isChanged, onClosed }) {
  const closing = new AbortController()
  let isGivenUp = false
  const isSafe = () => isGivenUp || !form.isConnected || !isChanged()
  const warn = (/** @type {Event} */ event) => {
    if (!isSafe()) event.preventDefault()
  }
  globalThis.addEventListener('beforeunload', warn, { signal: closing.signal })
  holdUnsaved({
    mayClose: (goOn) => {
      if (isSafe()) return true
      const leave = () => {
        isGivenUp = true
        goOn()
      }
      ask(form, 'Leave without saving what you typed?', [['Leave', leave]])
      return false
    },
    close: () => {
      closing.abort()
      onClosed()
    },
  })
}
