// The tokens of the user's devices: lists, makes, rotates and revokes them.

import { Refused, session } from './api.js'
import { nowMs } from './clock.js'
import { selection } from './choices.js'
import { commandBox, shellWord } from './command-box.js'
import {
  NEEDS_NEW_SESSION,
  SEND_ONLY,
  listTokens,
  makeToken,
  revokeToken,
  rotateToken,
} from './device-tokens.js'
import { button, element, setText } from './element.js'
import { explain, explainUnread } from './explain.js'
import { moment, since } from './format.js'
import { COMMAND } from './names.js'
import { ask, lead } from './question.js'
import { newTrial } from './sender-lines.js'
import { signInAgain } from './sign-in-again.js'
import { RIGHTS, TokenForm } from './token-form.js'
import { TokenMade } from './token-made.js'

/**
 * @import { Bootstrap } from './api.js'
 * @import { DeviceToken, MadeToken, TokenOrder } from './device-tokens.js'
 */

const INTRO = 'Devices need a token to send measurements, and Grafana needs one to read them.'
const BY_OPERATOR = 'Tokens made by the operator are changed on the command line.'
const OFF =
  'The operator makes tokens here. Ask for one, which this command makes, or for ' +
  'MOBILE_TOKENS=true.'
const OVERLAPS = /** @type {const} */ ([
  ['7', '7 days'],
  ['1', '1 day'],
  ['30', '30 days'],
])
const SIGNED_IN_MS_MAX = 86_400_000
const ONE_AT_A_TIME = 'One token at a time: finish and copy this one first.'

export class TokensSection {
  /** @type {DeviceToken[]} */
  #tokens = []
  /** @type {Promise<Bootstrap>} */
  #bootstrap
  #mayChange = false
  /** How people get a new session. */
  #again = ''
  /** When this session began, once that is known. @type {number | undefined} */
  #signedInAtMs
  /** Whether one is being made, or shown for the only time. */
  #isHolding = false
  #heading = element('h2', { tabindex: '-1' }, 'Tokens for devices')
  #new = button({ hidden: true }, () => this.#openForm(), 'New token')
  #until = element('p', { class: 'muted' })
  /** For a form, a new token, or signing in again: one at a time. */
  #place = element('div')
  #note = element('p', { class: 'muted', role: 'status' }, 'Loading …')
  #list = element('ul', { class: 'entries' })
  #rest = element('div', { class: 'rest' })
  root = element(
    'section',
    {},
    element('header', {}, this.#heading, this.#new),
    element('p', { class: 'muted' }, INTRO),
    this.#until,
    this.#place,
    this.#note,
    this.#list,
    this.#rest,
  )

  /** @param {Promise<Bootstrap>} bootstrap */
  constructor(bootstrap) {
    this.#bootstrap = bootstrap
  }

  /**
   * Reads them, and reports the result.
   *
   * @param {string} [text] shown on success
   * @returns whether it succeeded
   */
  async load(text = '') {
    try {
      const [{ daemon_tokens: mayChange, sign_in_providers: providers }, tokens] =
        await Promise.all([this.#bootstrap, listTokens()])
      this.#mayChange = mayChange
      this.#again = providers.length === 0 ? 'open a new sign-in link' : 'sign in again'
      this.#tokens = tokens
    } catch (error) {
      setText(this.#note, explainUnread(error))
      return false
    }
    this.#show()
    this.#sayUntil()
    setText(this.#note, text || (this.#tokens.length === 0 ? 'No tokens yet.' : ''))
    return true
  }

  /** @param {number} atMs when this session began */
  set signedInAtMs(atMs) {
    this.#signedInAtMs = atMs
    this.#sayUntil()
  }

  #sayUntil() {
    if (!this.#mayChange || this.#signedInAtMs === undefined) return
    const untilMs = this.#signedInAtMs + SIGNED_IN_MS_MAX
    const end = moment(untilMs, nowMs())
    const left = `until ${end}, a day after signing in; after that, ${this.#again} first.`
    const over = `You signed in more than a day ago: to make a token, ${this.#again} first.`
    setText(this.#until, untilMs > nowMs() ? `You can make tokens ${left}` : over)
  }

  /** Tokens made by these sessions that can be revoked here. @param {number[]} sessionIds */
  madeBy(sessionIds) {
    if (!this.#mayChange) return []
    return this.#tokens.filter(
      ({ made_by: by, session_id: id }) => by === 'owner' && id !== null && sessionIds.includes(id),
    )
  }

  /** @param {readonly DeviceToken[]} tokens @throws Refused, NoAnswer */
  async revoke(tokens) {
    try {
      for (const { id } of tokens) await revokeToken(id)
    } finally {
      await this.load()
    }
  }

  #show() {
    const isFree = this.#place.childElementCount === 0
    this.#new.hidden = !this.#mayChange || !isFree
    this.#list.replaceChildren(...this.#tokens.map((token) => this.#row(token, isFree)))
    const isAnyOperators = this.#tokens.some(({ made_by: by }) => by === 'operator')
    const user = shellWord(session()?.user.email ?? '')
    const off = [
      element('p', { class: 'muted' }, OFF),
      commandBox(`${COMMAND} token create --user ${user} --name gateway --scope ${SEND_ONLY}`),
    ]
    const byOperator = element('p', { class: 'muted' }, BY_OPERATOR)
    this.#rest.replaceChildren(
      ...(this.#mayChange && isAnyOperators ? [byOperator] : []),
      ...(this.#mayChange ? [] : off),
    )
  }

  /** @param {DeviceToken} token @param {boolean} isFree */
  #row(token, isFree) {
    const { name, made_by: by } = token
    const row = element('li', {}, element('div', {}, element('p', {}, name), ...describe(token)))
    if (!this.#mayChange || by === 'operator') return row
    const disabled = !isFree
    const rotate = () => this.#askOverlap(row, token)
    const revoke = () => this.#askToRevoke(row, token)
    row.append(
      element(
        'div',
        { class: 'answers' },
        button({ label: `Rotate ${name}`, disabled }, rotate, 'Rotate'),
        button({ label: `Revoke ${name}` }, revoke, 'Revoke'),
      ),
    )
    return row
  }

  /** @param {{ root: HTMLElement, focus: () => void }} shown */
  #put(shown) {
    this.#place.replaceChildren(shown.root)
    this.#show()
    shown.focus()
  }

  #clear() {
    this.#place.replaceChildren()
    this.#show()
    if (this.#mayChange) this.#new.focus()
  }

  #openForm() {
    setText(this.#note, '')
    const send = (/** @type {TokenOrder} */ order) => this.#make(() => makeToken(order))
    this.#put(new TokenForm(send, () => this.#clear()))
  }

  /**
   * @param {() => Promise<MadeToken>} make
   * @param {string} [note]
   * @throws anything that making throws, except that the session is too old
   */
  async #make(make, note) {
    if (this.#isHolding) return setText(this.#note, ONE_AT_A_TIME)
    this.#isHolding = true
    try {
      this.#showMade(await make(), note)
    } catch (error) {
      this.#isHolding = false
      if (!(error instanceof Refused && error.code === 'sign_in_again')) throw error
      const options = { backTo: location.hash, onCancel: () => this.#clear() }
      this.#put(signInAgain(NEEDS_NEW_SESSION, await this.#bootstrap, options))
    }
  }

  /** @param {MadeToken} made @param {string} [note] */
  #showMade(made, note) {
    // The user has moved on; the next view of the list has it.
    if (!this.root.isConnected) return
    const onClosed = () => {
      this.#isHolding = false
      this.#clear()
    }
    this.#put(
      new TokenMade(made, {
        trial: newTrial('test'),
        ...(note !== undefined && { note }),
        onClosed,
      }),
    )
    void this.load()
  }

  /** @param {HTMLElement} row @param {DeviceToken} token */
  #askOverlap(row, { id, name }) {
    row.querySelector('.question')?.remove()
    const { root, select } = selection('The old one keeps working for', OVERLAPS)
    const send = element('button', { class: 'primary' }, 'Rotate')
    const close = () => {
      form.remove()
      row.querySelector('button')?.focus()
    }
    const form = element(
      'form',
      { class: 'question', 'aria-label': `Rotate ${name}` },
      element('p', {}, 'You get a new token like this one, to put into the device.'),
      root,
      element('div', { class: 'answers' }, send, button({}, close, 'Cancel')),
    )
    form.addEventListener('submit', (event) => {
      event.preventDefault()
      const [chosen] = select.selectedOptions
      const note = `The old one keeps working for at most ${chosen?.text}.`
      this.#make(() => rotateToken(id, Number(select.value)), note).catch((error) =>
        this.load(explain(error)),
      )
    })
    row.append(form)
    lead(form, select)
  }

  /** @param {HTMLElement} row @param {DeviceToken} token */
  #askToRevoke(row, token) {
    const text = 'Devices that use it are refused from then on; what they have sent stays.'
    ask(row, text, [['Revoke', () => void this.#revokeOne(token)]])
  }

  /** @param {DeviceToken} token */
  async #revokeOne({ id, name }) {
    try {
      await revokeToken(id)
    } catch (error) {
      await this.load(explain(error))
      return
    }
    await this.load(`“${name}” has been revoked.`)
    this.#heading.focus()
  }
}

/** @param {string} time */
function at(time) {
  return moment(Date.parse(time), nowMs())
}

/** @param {DeviceToken} token */
function describe(token) {
  const { scopes, sn_prefix: prefix, made_by: by } = token
  const { created_at: createdAt, last_used_at: usedAt, expires_at: expiresAt } = token
  const rights = RIGHTS.flatMap(({ scope, may }) => (scopes.includes(scope) ? [may] : []))
  const used = usedAt === null ? 'never used' : `used ${since(Date.parse(usedAt), nowMs())}`
  const lines = [
    [`May ${rights.join(', ')}`, ...(prefix === '' ? [] : [`prefix ${prefix}`])],
    [`Made by ${by === 'owner' ? 'you' : 'the operator'} ${at(createdAt)}`, used],
    expiresAt === null ? [] : [`Expires ${at(expiresAt)}`],
  ]
  const texts = lines.filter((parts) => parts.length > 0).map((parts) => parts.join(', '))
  return texts.map((text) => element('p', { class: 'muted' }, text))
}
