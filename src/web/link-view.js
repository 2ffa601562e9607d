// Shown to people who open a sign-in link. It redeems the link only when they ask for it: mail
// scanners open links too.

import { NoAnswer, Refused, session } from './api.js'
import { button, element, icon } from './element.js'
import { isSecure, randomText, redeem } from './sign-in.js'
import { endToken, replaceSession } from './sign-out.js'

/** @import { Session } from './api.js' */

const INTRO = 'This link signs you in, once.'
const INSECURE =
  'This page was loaded over plain HTTP: others on the network can read the traffic, and the ' +
  'page can be neither installed nor opened offline.'

export class LinkView {
  title = 'Sign in'
  #message = element('div', { class: 'message', role: 'status' })
  #choices = element('div', { class: 'choices' })
  #heading = element('h1', { tabindex: '-1' }, 'Sign in')
  root = element(
    'section',
    { class: 'sign-in' },
    icon('thermolog'),
    this.#heading,
    this.#message,
    isSecure ? undefined : element('p', { class: 'message' }, INSECURE),
    this.#choices,
  )
  #code
  #onDone
  #verifier = randomText()

  /**
   * @param {string} code
   * @param {() => void} onDone after signing in, or keeping the session
   */
  constructor(code, onDone) {
    this.#code = code
    this.#onDone = onDone
    // Only codes of the first user, whom the service would ask for, end so.
    if (code.endsWith('1')) {
      this.#askForUser()
      return
    }
    const choose = button({ class: 'primary' }, () => void this.#redeem(), 'Sign in')
    this.#say([INTRO], choose, ...(session() === undefined ? [] : [this.#back()]))
  }

  focus() {
    this.#heading.focus()
  }

  /** @param {{ email: string, name: string }} [firstUser] */
  async #redeem(firstUser) {
    this.#say(['Signing in …'])
    try {
      const use = { code: this.#code, verifier: this.#verifier, ...firstUser }
      this.#offer(await redeem(use))
    } catch (error) {
      if (!(error instanceof Refused || error instanceof NoAnswer)) throw error
      const isFirst = error instanceof Refused && error.faults.some(isOfEmail)
      if (isFirst) {
        this.#askForUser(firstUser)
        return
      }
      const isOver = error instanceof Refused && error.code === 'invalid_grant'
      const again = button({ class: 'primary' }, () => void this.#redeem(firstUser), 'Try again')
      this.#say([isOver ? OVER : error.message], isOver ? this.#back() : again)
    }
  }

  /** Keeps the session, unless another person is signed in here: then asks. */
  #offer(/** @type {Session} */ signedIn) {
    const old = session()
    if (old === undefined || old.user.id === signedIn.user.id) {
      void this.#keep(signedIn)
      return
    }
    const text = `You are signed in as ${nameOf(old)}. This link is for ${nameOf(signedIn)}.`
    const keep = () => void this.#keep(signedIn)
    const stay = () => {
      void endToken(signedIn.token)
      this.#onDone()
    }
    this.#say(
      [text],
      button({ class: 'primary' }, keep, `Sign in as ${nameOf(signedIn)}`),
      button({}, stay, `Continue as ${nameOf(old)}`),
    )
  }

  async #keep(/** @type {Session} */ signedIn) {
    await replaceSession(signedIn)
    this.#onDone()
  }

  /** @param {{ email: string, name: string }} [before] which was not accepted */
  #askForUser(before) {
    const email = element('input', {
      type: 'email',
      required: true,
      autocomplete: 'email',
      autofocus: true,
    })
    const name = element('input', { type: 'text', maxlength: '128', autocomplete: 'name' })
    email.value = before?.email ?? ''
    name.value = before?.name ?? ''
    const form = element(
      'form',
      { class: 'choices' },
      element('label', {}, 'E-mail', email),
      element('label', {}, 'Name (optional)', name),
      element('button', { class: 'primary' }, 'Create account'),
    )
    form.addEventListener('submit', (event) => {
      event.preventDefault()
      void this.#redeem({ email: email.value, name: name.value })
    })
    const intro =
      before === undefined ? 'You are the first user here.' : 'Check your e-mail address.'
    this.#say([intro], form)
    email.focus()
  }

  #back() {
    const old = session()
    const text = old === undefined ? 'Other ways to sign in' : `Continue as ${nameOf(old)}`
    return button({}, this.#onDone, text)
  }

  /** @param {string[]} texts @param {...HTMLElement} choices */
  #say(texts, ...choices) {
    this.#message.replaceChildren(...texts.map((text) => element('p', {}, text)))
    this.#choices.replaceChildren(...choices)
  }
}

const OVER = 'This link has expired or was used. Ask for a new one.'

/** @param {{ pointer: string }} fault */
function isOfEmail({ pointer }) {
  return pointer === '/email'
}

/** @param {Session} of */
function nameOf({ user }) {
  return user.name
}
