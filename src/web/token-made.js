// A new token: its text, which nobody can show again, with lines to paste. The text is only in this
// part of the document, and goes with it.

import { commandBox } from './command-box.js'
import { SEND_ONLY } from './device-tokens.js'
import { button, element } from './element.js'
import { ask } from './question.js'
import {
  SENT_AGAIN,
  checkLines,
  curlLines,
  homeAssistantLines,
  isOwnMachine,
  telegrafLines,
} from './sender-lines.js'
import { dropUnsaved, holdUnsaved } from './unsaved.js'

/**
 * @import { MadeToken } from './device-tokens.js'
 * @typedef {{ readonly eventId: string, readonly sn: string }} Trial measurement that is sent first
 */

const ONLY_HERE =
  'These lines name an address that only this computer can reach. For another device, open this ' +
  'page at the address of this computer in the network first.'

export class TokenMade {
  #heading
  #parts
  #done = element(
    'div',
    { class: 'answers' },
    button({ class: 'primary' }, () => this.#finish(), 'Done'),
  )
  #closing = new AbortController()
  #isSaved = false
  #onClosed
  root

  /**
   * @param {MadeToken} made
   * @param {{ trial: Trial, note?: string, onClosed: () => void }} options `onClosed` removes it
   *   from the document
   */
  constructor(made, { trial, note, onClosed }) {
    this.#onClosed = onClosed
    this.#heading = element('h3', { tabindex: '-1' }, `Token “${made.name}”`)
    const intro = 'Copy it now. It is shown only this once; the service keeps no copy.'
    this.#parts = [
      element('p', {}, note === undefined ? intro : `${intro} ${note}`),
      commandBox(made.token, { label: 'Copy the token' }),
      ...senders(made, trial),
      isOwnMachine ? element('p', { class: 'muted' }, ONLY_HERE) : undefined,
    ]
    const attributes = { class: 'made', 'aria-label': `Token ${made.name}` }
    this.root = element('section', attributes, this.#heading, ...this.#parts, this.#done)
    this.root.addEventListener('copy', () => (this.#isSaved = true))
    const { signal } = this.#closing
    const warn = (/** @type {Event} */ event) => {
      if (!this.#isSaved) event.preventDefault()
    }
    globalThis.addEventListener('beforeunload', warn, { signal })
    // Browsers keep pages for going back.
    globalThis.addEventListener('pagehide', dropUnsaved, { signal })
    holdUnsaved(this)
  }

  focus() {
    this.#heading.focus({ preventScroll: true })
    this.root.scrollIntoView()
  }

  /** Its token is in use: one line, which opens, is enough. */
  fold() {
    this.#isSaved = true
    const summary = element('summary', {}, this.#heading)
    this.root.replaceChildren(element('details', {}, summary, ...this.#parts), this.#done)
  }

  /** @param {() => void} goOn */
  mayClose(goOn) {
    if (this.#isSaved) return true
    this.#ask('Leave without the token?', 'Leave', goOn)
    return false
  }

  close() {
    this.#closing.abort()
    this.#onClosed()
  }

  #finish() {
    if (this.#isSaved) dropUnsaved()
    else this.#ask('Continue without the token?', 'Continue', dropUnsaved)
  }

  /** @param {string} question @param {string} answer @param {() => void} goOn */
  #ask(question, answer, goOn) {
    const leave = () => {
      this.#isSaved = true
      goOn()
    }
    ask(this.root, `You have not copied it. ${question}`, [[answer, leave]])
  }
}

/** @param {MadeToken} made @param {Trial} trial */
function senders({ token, scopes }, trial) {
  if (!scopes.includes(SEND_ONLY)) return [sender('Try it with curl', checkLines(token), true)]
  return [
    sender('Try it with curl', curlLines(token, trial), true),
    element('p', { class: 'muted' }, SENT_AGAIN),
    sender('Telegraf', telegrafLines(token)),
    sender('Home Assistant', homeAssistantLines(token)),
  ]
}

/** @param {string} title @param {string} lines */
function sender(title, lines, isOpen = false) {
  const box = commandBox(lines, { label: `Copy: ${title}` })
  return element('details', { open: isOpen }, element('summary', {}, title), box)
}
