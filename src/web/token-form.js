// The form for a new token; a name is enough for one that only sends.

import { choices, chosenValues, field, selection } from './choices.js'
import { SEND_ONLY } from './device-tokens.js'
import { button, element, setText } from './element.js'
import { explain } from './explain.js'
import { lead } from './question.js'
import { holdTyped } from './typed.js'
import { dropUnsaved } from './unsaved.js'

/** @import { TokenOrder } from './device-tokens.js' */

/** What a token may do, shortly and as it is offered. */
export const RIGHTS = /** @type {const} */ ([
  { scope: SEND_ONLY, may: 'send', offer: 'send measurements' },
  { scope: 'sensors:read', may: 'read', offer: 'read, for Grafana and programs' },
  {
    scope: 'sensors:write',
    may: 'change and delete',
    offer: 'change sensors, delete them with their history',
  },
])

const EXPIRES = /** @type {const} */ ([
  ['', 'Never'],
  ['30', 'In 30 days'],
  ['90', 'In 90 days'],
  ['365', 'In a year'],
])
const PREFIX_HINT = 'Goes before the serial numbers that Telegraf or Home Assistant send.'
const NO_RIGHT = 'Choose what the token may do.'
const ASKED = {
  name: 'A name has 1 to 128 characters.',
  scopes: NO_RIGHT,
  sn_prefix: 'A prefix has at most 32 letters, digits and the characters : . _ -',
  expires_in_days: 'Choose when it expires.',
}

export class TokenForm {
  #name = field('Name of the device or program', {
    required: true,
    maxlength: '128',
    placeholder: 'gateway',
  })
  #expires = selection('Expires', EXPIRES)
  #prefix = field(
    'Prefix',
    { maxlength: '32', pattern: '[0-9A-Za-z:._\\-]*', placeholder: 'cabin.' },
    PREFIX_HINT,
  )
  #fault = element('p', { class: 'fault', role: 'alert' })
  #send = element('button', { class: 'primary' }, 'Create token')
  root

  /**
   * @param {(order: TokenOrder) => Promise<void>} onSend
   * @param {() => void} onClosed
   */
  constructor(onSend, onClosed) {
    const scopes = RIGHTS.map(({ scope, offer }) => {
      return { value: scope, text: offer, isChosen: scope === SEND_ONLY }
    })
    this.root = element(
      'form',
      { class: 'new-token', 'aria-label': 'New token' },
      this.#name.root,
      choices('It may', { name: 'scope', type: 'checkbox' }, scopes),
      element(
        'details',
        {},
        element('summary', {}, 'Expiry, prefix'),
        this.#expires.root,
        this.#prefix.root,
      ),
      this.#fault,
      element('div', { class: 'answers' }, this.#send, button({}, dropUnsaved, 'Cancel')),
    )
    this.root.addEventListener('submit', (event) => {
      event.preventDefault()
      void this.#submit(onSend)
    })
    this.root.addEventListener('input', () => setText(this.#fault, ''))
    const isTyped = () => [this.#name, this.#prefix].some(({ input }) => input.value !== '')
    holdTyped(this.root, { isChanged: () => isTyped() && !this.#send.disabled, onClosed })
  }

  focus() {
    lead(this.root, this.#name.input)
  }

  get #order() {
    const { value: prefix } = this.#prefix.input
    const { value: days } = this.#expires.select
    return {
      name: this.#name.input.value.trim(),
      scopes: chosenValues(this.root, 'scope'),
      ...(prefix !== '' && { sn_prefix: prefix }),
      ...(days !== '' && { expires_in_days: Number(days) }),
    }
  }

  /** @param {(order: TokenOrder) => Promise<void>} onSend */
  async #submit(onSend) {
    const order = this.#order
    if (order.scopes.length === 0) return setText(this.#fault, NO_RIGHT)
    this.#send.disabled = true
    setText(this.#fault, '')
    try {
      await onSend(order)
    } catch (error) {
      setText(this.#fault, explain(error, ASKED))
    } finally {
      this.#send.disabled = false
    }
  }
}
