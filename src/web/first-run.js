// Shown until the first sensor exists: how to send the first measurement.

import { Refused, get, session } from './api.js'
import { commandBox, shellWord } from './command-box.js'
import { NEEDS_NEW_SESSION, SEND_ONLY, makeToken } from './device-tokens.js'
import { button, element, setText } from './element.js'
import { explain } from './explain.js'
import { COMMAND } from './names.js'
import { SENT_AGAIN, curlLines, newTrial } from './sender-lines.js'
import { isSecure } from './sign-in.js'
import { signInAgain } from './sign-in-again.js'
import { TokenMade } from './token-made.js'

/** @import { Bootstrap } from './api.js' */

const INSECURE =
  'This page was loaded over plain HTTP. It works, but browsers neither install it as an app nor ' +
  'open it offline, and others on the network can read the traffic. https fixes all three.'
const NOTHING_YET = 'No sensor has sent a measurement yet. The first one appears here.'
const ARRIVED = 'The first measurement has arrived.'

export class FirstRun {
  #intro = element('p', { role: 'status' }, NOTHING_YET)
  #seeIt = element('a', {}, 'See it')
  #place = element('div', { class: 'first-run' })
  #fault = element('p', { class: 'fault', role: 'alert' })
  /** @type {TokenMade | undefined} */
  #made
  #isMaking = false
  #trial = newTrial('cellar')
  #onChange
  root = element(
    'div',
    { class: 'first-run' },
    element('h2', {}, 'Your first measurement'),
    this.#intro,
    this.#place,
    this.#fault,
    element(
      'p',
      {},
      'Next: ',
      element('a', { href: 'docs/daemon.md' }, 'how devices send'),
      ' and ',
      element('a', { href: 'docs' }, 'the API'),
      '.',
    ),
    ...(isSecure ? [] : [element('p', { class: 'insecure' }, INSECURE)]),
  )

  /** @param {() => void} onChange when it shows a token no more */
  constructor(onChange) {
    this.#onChange = onChange
    void this.#begin()
  }

  /** Whether it makes or shows a token, which must not disappear. */
  get isHolding() {
    return this.#isMaking || this.#made !== undefined
  }

  /** A measurement has arrived: makes room to see that, once. @param {number} sensorId */
  arrived(sensorId) {
    if (!this.isHolding || this.#seeIt.isConnected) return
    this.#seeIt.href = `#/sensors/${sensorId}`
    this.#intro.replaceChildren(`${ARRIVED} `, this.#seeIt)
    this.#made?.fold()
    this.root.scrollIntoView()
  }

  async #begin() {
    try {
      /** @type {Bootstrap} */
      const bootstrap = await get('/bootstrap')
      if (bootstrap.daemon_tokens) this.#offer(bootstrap)
      else this.#explain()
    } catch {
      this.#explain()
    }
  }

  /** @param {Bootstrap} bootstrap */
  #offer(bootstrap) {
    setText(this.#intro, NOTHING_YET)
    const make = button(
      { class: 'primary' },
      () => void this.#make(make, bootstrap),
      'Create a token',
    )
    this.#place.replaceChildren(
      element('p', {}, 'Devices need a token to send measurements.'),
      make,
    )
  }

  /** @param {HTMLButtonElement} make @param {Bootstrap} bootstrap */
  async #make(make, bootstrap) {
    make.disabled = true
    this.#isMaking = true
    setText(this.#fault, '')
    try {
      const made = await makeToken({ name: 'first', scopes: [SEND_ONLY] })
      // The user has moved on; the token is in the settings.
      if (!this.root.isConnected) return
      const onClosed = () => this.#close(bootstrap)
      this.#made = new TokenMade(made, { trial: this.#trial, onClosed })
      this.#place.replaceChildren(this.#made.root)
      this.#made.focus()
    } catch (error) {
      const isTooOld = error instanceof Refused && error.code === 'sign_in_again'
      if (isTooOld) this.#explain(bootstrap)
      else setText(this.#fault, explain(error))
    } finally {
      make.disabled = false
      this.#isMaking = false
      if (!this.isHolding) this.#onChange()
    }
  }

  /** @param {Bootstrap} bootstrap */
  #close(bootstrap) {
    this.#made = undefined
    this.#offer(bootstrap)
    this.#onChange()
  }

  /** @param {Bootstrap} [tooOld] where the session is too old to do without a shell */
  #explain(tooOld) {
    const user = shellWord(session()?.user.email ?? 'you@example.org')
    const order = `${COMMAND} token create --user ${user} --name first --scope ${SEND_ONLY}`
    const why = element('p', { tabindex: '-1' }, NEEDS_NEW_SESSION)
    const isWithProvider = tooOld !== undefined && tooOld.sign_in_providers.length > 0
    const again = isWithProvider
      ? signInAgain(NEEDS_NEW_SESSION, tooOld, { backTo: '#/' })
      : { root: why, focus: () => why.focus() }
    this.#place.replaceChildren(
      ...(tooOld === undefined ? [] : [again.root]),
      element('p', {}, '1. Create a token, where Thermolog was started:'),
      commandBox(`TOKEN=$(${order})`, { label: 'Copy: create a token' }),
      element('p', {}, '2. Send a measurement, from there:'),
      commandBox(curlLines('$TOKEN', this.#trial), { label: 'Copy: send a measurement' }),
      element('p', {}, SENT_AGAIN),
    )
    if (tooOld !== undefined) again.focus()
  }
}
