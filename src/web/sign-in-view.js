// Shown to people who are not signed in: a button per provider, or what to set up.

import { NoAnswer, Refused, get, session, whyUnheard } from './api.js'
import { commandBox, shellWord } from './command-box.js'
import { button, element, icon, setText } from './element.js'
import { APP_NAME, COMMAND } from './names.js'
import { OWN_ADDRESS, finish, isSecure, leaveFor } from './sign-in.js'
import { isEnding } from './sign-out.js'

/**
 * @import { Bootstrap, SignInProvider } from './api.js'
 * @import { takeCallback } from './sign-in.js'
 * @typedef {ReturnType<typeof takeCallback>} Callback
 */

const ENDING = 'Your session ends at the service as soon as it is reached.'
const NEEDS_LINK =
  'You need a sign-in link. Just started Thermolog? It is in the terminal. Otherwise ask its ' +
  'operator.'
const UNREACHED_RETRY_MS = 3_000
const DIRECT = /^#\/sign-in\/([a-z0-9_]+)$/

export class SignInView {
  title = 'Sign in'
  #message = element('div', { class: 'message', role: 'status' })
  #choices = element('div', { class: 'choices' })
  #ending = element('p', { class: 'message', role: 'status' })
  #links = element('p', { class: 'links' })
  #heading = element('h1', { tabindex: '-1' }, APP_NAME)
  root = element(
    'section',
    { class: 'sign-in' },
    icon('thermolog'),
    this.#heading,
    element('p', { class: 'lead' }, 'Your sensors’ temperatures, now and over time.'),
    this.#message,
    this.#choices,
    this.#links,
    this.#ending,
  )
  /** @type {() => void} */
  #onSignedIn

  /**
   * @param {() => void} onSignedIn
   * @param {string} [note]
   */
  constructor(onSignedIn, note) {
    this.#onSignedIn = onSignedIn
    if (note !== undefined) this.#message.before(element('p', { class: 'message' }, note))
    const sayEnding = () => setText(this.#ending, isEnding() ? `${whyUnheard()} ${ENDING}` : '')
    document.addEventListener('thermolog-ended', sayEnding)
    sayEnding()
  }

  focus() {
    this.#heading.focus()
  }

  /** @param {Callback} callback */
  async open(callback) {
    if (callback !== undefined && 'attempt' in callback) return this.#finish(callback)
    if (callback !== undefined) this.#say(callback.failure)
    await this.#offer(callback === undefined)
  }

  /** @param {Extract<Callback, { attempt: object }>} callback */
  async #finish(callback) {
    this.#say('Signing in …')
    try {
      await finish(callback)
      this.#onSignedIn()
    } catch (error) {
      const isOver = error instanceof Refused && error.status < 500 && error.status !== 429
      this.#say(explain(error))
      if (isOver) return this.#offer(false)
      // The code stays valid for a while.
      const again = button({ class: 'primary' }, () => void this.#finish(callback), 'Try again')
      this.#choices.replaceChildren(again)
    }
  }

  /** @param {boolean} mayLeaveAtOnce whether an address that names a provider is followed */
  async #offer(mayLeaveAtOnce) {
    /** @type {Bootstrap} */
    let bootstrap
    try {
      bootstrap = await get('/bootstrap')
    } catch (error) {
      this.#say(explain(error))
      const again = button({}, () => void this.#offer(mayLeaveAtOnce), 'Try again')
      return this.#choices.replaceChildren(again)
    }
    const { links, sign_in_providers: providers } = bootstrap
    const shown = Object.entries(links).map(([name, href]) => element('a', { href }, capital(name)))
    this.#links.replaceChildren(...shown)
    if (providers.length === 0) return this.#explainLinks()
    if (!isSecure) return this.#explain(INSECURE)
    const direct = DIRECT.exec(location.hash)?.[1]
    const provider = providers.find(({ id }) => id === direct)
    if (mayLeaveAtOnce && provider?.authorization_endpoint) {
      return this.#leave(bootstrap, provider, '#/')
    }
    const choices = providers.map((one) => this.#choice(bootstrap, one))
    const signedIn = session()
    if (signedIn !== undefined) {
      choices.push(button({}, this.#onSignedIn, `Continue as ${signedIn.user.name}`))
    }
    this.#choices.replaceChildren(...choices)
    if (providers.some((one) => one.authorization_endpoint === null)) {
      const again = () => void (this.root.isConnected && this.#offer(mayLeaveAtOnce))
      setTimeout(again, UNREACHED_RETRY_MS)
    }
  }

  /** @param {Bootstrap} bootstrap @param {SignInProvider} provider */
  #choice(bootstrap, provider) {
    const isReached = provider.authorization_endpoint !== null
    const leave = () => void this.#leave(bootstrap, provider, location.hash)
    const text = isReached ? `Sign in with ${provider.name}` : `${provider.name} is unavailable`
    return button({ class: 'primary', disabled: !isReached }, leave, text)
  }

  /**
   * @param {Bootstrap} bootstrap
   * @param {SignInProvider} provider
   * @param {string} backTo
   */
  async #leave(bootstrap, provider, backTo) {
    if (!(await leaveFor(bootstrap, provider, backTo))) this.#explain(NO_REDIRECT_URI)
  }

  /** @param {{ readonly what: string, readonly remedy: string, readonly setting: string }} text */
  #explain({ what, remedy, setting }) {
    const texts = [element('p', {}, what), element('p', {}, remedy)]
    this.#message.replaceChildren(...texts, commandBox(setting))
    this.#choices.replaceChildren()
  }

  #explainLinks() {
    this.#message.replaceChildren(
      element('p', {}, NEEDS_LINK),
      element('p', {}, 'To print one, where Thermolog was started:'),
      commandBox(`${COMMAND} user link you@example.org`),
      element('p', {}, 'No user yet? Create one first:'),
      commandBox(`${COMMAND} user create --email you@example.org`),
    )
    this.#choices.replaceChildren()
  }

  /** @param {string} text */
  #say(text) {
    this.#message.replaceChildren(element('p', {}, text))
    this.#choices.replaceChildren()
  }
}

const INSECURE = {
  what: 'This page was loaded over plain HTTP, where browsers cannot sign in with a provider.',
  remedy:
    'Open it over https, or on the machine itself, with its address in this setting. Or ask the ' +
    'operator for a sign-in link, which works here too:',
  setting: [
    `MOBILE_REDIRECT_URIS=${shellWord(OWN_ADDRESS.replace(/^http:/, 'https:'))}`,
    `${COMMAND} user link you@example.org`,
  ].join('\n'),
}

const NO_REDIRECT_URI = {
  what: 'Sign-in is not set up for this address.',
  remedy: 'Ask the operator to add it to this setting and register it at the provider:',
  setting: `MOBILE_REDIRECT_URIS=…,${OWN_ADDRESS}`,
}

/** @param {unknown} error */
function explain(error) {
  if (error instanceof NoAnswer) return error.message
  if (!(error instanceof Refused)) throw error
  if (error.code === 'sign_in_not_allowed') {
    return 'This account has no access here. Try another one, or ask the operator to add it.'
  }
  if (error.code === 'invalid_grant') return 'The sign-in took too long. Please try again.'
  return error.message
}

/** @param {string} word */
function capital(word) {
  return word.charAt(0).toUpperCase() + word.slice(1)
}
