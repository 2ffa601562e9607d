// Where the user is signed in: phones, browsers and programs, each with a button to sign out.

import { NoAnswer, get, remove } from './api.js'
import { nowMs } from './clock.js'
import { deviceName } from './device-name.js'
import { button, element, setText } from './element.js'
import { explain, explainUnread } from './explain.js'
import { moment, since } from './format.js'
import { ask } from './question.js'

/**
 * @import { DeviceToken } from './device-tokens.js'
 * @import { TokensSection } from './tokens-section.js'
 * @typedef {{
 *   id: number, name: string, created_at: string, last_used_at: string | null, expires_at: string,
 *   current: boolean,
 * }} SignedIn
 */

export class SessionsSection {
  /** @type {SignedIn[]} */
  #sessions = []
  #tokens
  #heading = element('h2', { tabindex: '-1' }, 'Where you are signed in')
  #note = element('p', { class: 'muted', role: 'status' }, 'Loading …')
  #list = element('ul', { class: 'entries' })
  #all = button({ hidden: true }, () => void this.#askForAll(), 'Sign out everywhere else')
  #rest = element('div', { class: 'rest' }, this.#all)
  root = element('section', {}, this.#heading, this.#note, this.#list, this.#rest)

  /** @param {TokensSection} tokens */
  constructor(tokens) {
    this.#tokens = tokens
  }

  /**
   * Reads them, and reports the result.
   *
   * @param {string} [text] shown on success
   * @returns whether it succeeded
   */
  async load(text = '') {
    try {
      /** @type {SignedIn[]} */
      const sessions = await get('/sessions')
      this.#sessions = sessions.toSorted((a, b) => Number(b.current) - Number(a.current))
    } catch (error) {
      setText(this.#note, explainUnread(error))
      return false
    }
    const [own] = this.#sessions
    if (own?.current) this.#tokens.signedInAtMs = Date.parse(own.created_at)
    this.#list.replaceChildren(...this.#sessions.map((one) => this.#row(one)))
    this.#all.hidden = this.#sessions.length < 2
    setText(this.#note, text)
    return true
  }

  /**
   * Asks what to do with the tokens that this session made, if any.
   *
   * @param {HTMLElement} place
   * @param {() => Promise<void>} onSignOut
   */
  async askForOwn(place, onSignOut) {
    // Signing out must work even if the tokens cannot be read.
    await this.#tokens.load()
    const own = this.#sessions.filter(({ current }) => current)
    const tokens = this.#tokens.madeBy(own.map(({ id }) => id))
    if (tokens.length === 0) {
      await onSignOut()
      return
    }
    const revoke = async () => {
      try {
        await this.#tokens.revoke(tokens)
        await onSignOut()
      } catch (error) {
        setText(this.#note, explain(error))
      }
    }
    ask(place, goOnWorking(tokens), [
      ['Sign out only', () => void onSignOut()],
      ['Sign out and revoke', () => void revoke()],
    ])
  }

  /** @param {SignedIn} session */
  #row(session) {
    const { name, created_at: createdAt, last_used_at: usedAt, current } = session
    const device = deviceName(name)
    const used = current
      ? 'This device'
      : `Last used ${since(Date.parse(usedAt ?? createdAt), nowMs())}`
    const began = `signed in ${moment(Date.parse(createdAt), nowMs())}`
    const details = element('p', { class: 'muted' }, `${used}, ${began}`)
    const row = element('li', {}, element('div', {}, element('p', {}, device), details))
    const label = `Sign out of ${device}, ${began}`
    if (!current) row.append(button({ label }, () => void this.#askFor(row, session), 'Sign out'))
    return row
  }

  /** @param {HTMLElement} row @param {SignedIn} session */
  async #askFor(row, session) {
    if (!(await this.#isCurrent())) return
    const tokens = this.#tokens.madeBy([session.id])
    if (tokens.length === 0) {
      await this.#end([session], [])
      return
    }
    ask(row, goOnWorking(tokens), [
      ['Sign out only', () => void this.#end([session], [])],
      ['Sign out and revoke', () => void this.#end([session], tokens)],
    ])
  }

  async #askForAll() {
    if (!(await this.load()) || !(await this.#isCurrent())) return
    const others = this.#sessions.filter(({ current }) => !current)
    const tokens = this.#tokens.madeBy(others.map(({ id }) => id))
    const text = others.length === 1 ? 'Sign out there?' : `Sign out of all ${others.length}?`
    if (tokens.length === 0) {
      return ask(this.#rest, text, [['Sign out', () => void this.#end(others, [])]])
    }
    ask(this.#rest, `${text} ${goOnWorking(tokens)}`, [
      ['Sign out only', () => void this.#end(others, [])],
      ['Sign out and revoke', () => void this.#end(others, tokens)],
    ])
  }

  /** Whether all tokens that the sessions have made so far are known. */
  async #isCurrent() {
    const isCurrent = await this.#tokens.load()
    if (!isCurrent) setText(this.#note, explainUnread(new NoAnswer(false)))
    return isCurrent
  }

  /** @param {readonly SignedIn[]} sessions @param {readonly DeviceToken[]} tokens go first */
  async #end(sessions, tokens) {
    try {
      if (tokens.length > 0) await this.#tokens.revoke(tokens)
      for (const { id } of sessions) await remove(`/sessions/${id}`)
    } catch (error) {
      await this.load(explain(error))
      return
    }
    const ended =
      sessions.length === 1 ? 'The session has ended.' : 'The other sessions have ended.'
    await this.load(ended)
    this.#heading.focus()
  }
}

/** @param {readonly DeviceToken[]} tokens */
function goOnWorking(tokens) {
  const names = tokens.map(({ name }) => `“${name}”`).join(', ')
  return tokens.length === 1
    ? `The token ${names}, made there, keeps working unless you revoke it.`
    : `The tokens ${names}, made there, keep working unless you revoke them.`
}
