// The user, and deleting their account.

import { Refused, session } from './api.js'
import { field } from './choices.js'
import { button, element, setText } from './element.js'
import { explain, explainUnread } from './explain.js'
import { count } from './format.js'
import { lead } from './question.js'
import { signInAgain } from './sign-in-again.js'

/** @import { Bootstrap } from './api.js' */

const NEEDS_NEW_SESSION =
  'Deleting your account needs a sign-in within the last ten minutes. Nothing has been deleted.'
const BY_OPERATOR =
  'Only the operator can delete this account, since they made it or one of its tokens. Nothing ' +
  'has been deleted.'
const ASK_OPERATOR = 'To have your account deleted, ask the operator.'
const OTHER_ADDRESS = 'This is not the address of your account.'

export class AccountSection {
  #heading = element('h2', { tabindex: '-1' }, 'Account')
  #delete = button({ class: 'danger', hidden: true }, () => this.#openForm(), 'Delete account …')
  #place = element('div')
  #said = element('p', { class: 'fault', role: 'alert' })
  #user = session()?.user ?? { name: '', email: '' }
  #countSensors
  #onDelete
  root = element(
    'section',
    {},
    this.#heading,
    element(
      'dl',
      {},
      element('div', {}, element('dt', {}, 'Name'), element('dd', {}, this.#user.name)),
      element('div', {}, element('dt', {}, 'E-mail'), element('dd', {}, this.#user.email)),
    ),
    this.#delete,
    this.#place,
    this.#said,
  )
  /** @type {Promise<Bootstrap>} */
  #bootstrap

  /**
   * @param {Promise<Bootstrap>} bootstrap
   * @param {() => number} countSensors
   * @param {(email: string) => Promise<void>} onDelete leaves the app afterwards
   */
  constructor(bootstrap, countSensors, onDelete) {
    this.#bootstrap = bootstrap
    this.#countSensors = countSensors
    this.#onDelete = onDelete
    void this.#offer()
  }

  async #offer() {
    try {
      const { account_deletion: mayDelete } = await this.#bootstrap
      this.#delete.hidden = !mayDelete
      if (!mayDelete) this.#place.append(element('p', { class: 'muted' }, ASK_OPERATOR))
    } catch (error) {
      setText(this.#said, explainUnread(error))
    }
  }

  #openForm() {
    setText(this.#said, '')
    const { root, input } = field('Your e-mail address, to confirm', {
      type: 'email',
      required: true,
    })
    const fault = element('p', { class: 'fault', role: 'alert' })
    const sensors = this.#countSensors()
    const which = sensors > 1 ? `your ${count(sensors)} sensors` : 'every sensor'
    const lost =
      `Everything is deleted at once and cannot be brought back: ${which} with all measurements, ` +
      'every token, every sign-in. Devices that still send are refused.'
    const send = element('button', { class: 'danger' }, 'Delete my account')
    const form = element(
      'form',
      { class: 'question', 'aria-label': 'Delete account' },
      element('p', {}, lost),
      root,
      fault,
      element(
        'div',
        { class: 'answers' },
        send,
        button({}, () => this.#close(), 'Cancel'),
      ),
    )
    form.addEventListener('input', () => setText(fault, ''))
    form.addEventListener('submit', (event) => {
      event.preventDefault()
      const isOwn = input.value.trim().toLowerCase() === this.#user.email.toLowerCase()
      if (!isOwn) return setText(fault, OTHER_ADDRESS)
      send.disabled = true
      this.#onDelete(input.value.trim())
        .catch((error) => this.#fail(error))
        .finally(() => (send.disabled = false))
    })
    this.#delete.hidden = true
    this.#place.replaceChildren(form)
    lead(form, input)
  }

  #close() {
    this.#place.replaceChildren()
    this.#delete.hidden = false
    this.#delete.focus()
  }

  /** @param {unknown} error */
  async #fail(error) {
    if (error instanceof Refused && error.code === 'sign_in_again') {
      const options = { backTo: location.hash, onCancel: () => this.#close() }
      const { root, focus } = signInAgain(NEEDS_NEW_SESSION, await this.#bootstrap, options)
      this.#place.replaceChildren(root)
      return focus()
    }
    const isOperators = error instanceof Refused && error.code === 'insufficient_scope'
    this.#close()
    setText(this.#said, isOperators ? BY_OPERATOR : explain(error))
  }
}
