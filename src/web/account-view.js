// Who is signed in, and where: the phones and browsers of the user, each of which can be signed out
// here.

import { get, request, session } from './api.js'
import { nowMs } from './clock.js'
import { button, element, icon, setText } from './element.js'
import { moment, since } from './format.js'

/**
 * @typedef {{
 *   id: number, name: string, created_at: string, last_used_at: string | null, expires_at: string,
 *   current: boolean,
 * }} SignedIn
 */

const BROWSER = /(Edg|OPR|SamsungBrowser|Firefox|FxiOS|CriOS|Chrome|Safari)\//
const SYSTEM = /(Android|iPhone|iPad|Windows|Mac OS X|CrOS|Linux)/
/** @type {Readonly<Record<string, string>>} */
const NAMES = {
  Edg: 'Edge',
  OPR: 'Opera',
  SamsungBrowser: 'Samsung Internet',
  FxiOS: 'Firefox',
  CriOS: 'Chrome',
  'Mac OS X': 'macOS',
  CrOS: 'ChromeOS',
}

export class AccountView {
  title = 'Account'
  #list = element('ul', { class: 'sessions' })
  #note = element('p', { class: 'muted', role: 'status' }, 'Loading …')
  #heading = element('h1', { tabindex: '-1' }, session()?.user.name ?? '')
  root

  /** @param {() => void} onSignOut */
  constructor(onSignOut) {
    const { name, email } = session()?.user ?? { name: '', email: '' }
    this.root = element(
      'article',
      { class: 'account-view' },
      element('a', { class: 'back', href: '#/' }, icon('back'), 'Sensors'),
      this.#heading,
      element('p', { class: 'muted' }, name === email ? '' : email),
      button({ class: 'primary' }, onSignOut, 'Sign out'),
      element('h2', {}, 'Where you are signed in'),
      this.#note,
      this.#list,
    )
    void this.#load()
  }

  focus() {
    this.#heading.focus({ preventScroll: true })
  }

  async #load() {
    try {
      /** @type {SignedIn[]} */
      const sessions = await get('/sessions')
      setText(this.#note, '')
      this.#list.replaceChildren(...sessions.map((one) => this.#row(one)))
    } catch (error) {
      setText(this.#note, error instanceof Error ? error.message : '')
    }
  }

  /** @param {SignedIn} signedIn */
  #row({ id, name, created_at: createdAt, last_used_at: usedAt, current }) {
    const device = deviceName(name)
    const used = current
      ? 'This device'
      : `Last used ${since(Date.parse(usedAt ?? createdAt), nowMs())}`
    const began = `signed in ${moment(Date.parse(createdAt), nowMs())}`
    const end = current
      ? undefined
      : button({ label: `Sign out of ${device}` }, () => void this.#end(id), 'Sign out')
    return element(
      'li',
      {},
      element(
        'div',
        {},
        element('p', {}, device),
        element('p', { class: 'muted' }, `${used}, ${began}`),
      ),
      end,
    )
  }

  /** @param {number} id */
  async #end(id) {
    try {
      await request(`/sessions/${id}`, { method: 'DELETE' })
    } catch (error) {
      setText(this.#note, error instanceof Error ? error.message : '')
      return
    }
    await this.#load()
    setText(this.#note, 'The session has ended.')
  }
}

/** What an app calls itself, or browser and system out of a `User-Agent`. @param {string} name */
function deviceName(name) {
  if (!name.startsWith('Mozilla/')) return name === '' ? 'Unknown device' : name
  const [browser = 'Browser', system = 'unknown system'] = [BROWSER, SYSTEM].map((pattern) => {
    const found = pattern.exec(name)?.[1]
    return found && (NAMES[found] ?? found)
  })
  return `${browser} on ${system}`
}
