// The owner's choices: how the page looks, which devices send, where they are signed in, and
// deleting their account.

import { aboutSection } from './about-section.js'
import { AccountSection } from './account-section.js'
import { get, session } from './api.js'
import { displaySection } from './display-section.js'
import { button, element, icon } from './element.js'
import { SessionsSection } from './sessions-section.js'
import { TokensSection } from './tokens-section.js'

export class SettingsView {
  title = 'Settings'
  #heading = element('h1', { tabindex: '-1' }, 'Settings')
  #sessions
  root

  /**
   * @param {{
   *   countSensors: () => number, onSignOut: () => Promise<void>,
   *   onDelete: (email: string) => Promise<void>,
   * }} events
   */
  constructor({ countSensors, onSignOut, onDelete }) {
    /** @type {Promise<import('./api.js').Bootstrap>} */
    const bootstrap = get('/bootstrap')
    const tokens = new TokensSection(bootstrap)
    this.#sessions = new SessionsSection(tokens)
    const account = new AccountSection(bootstrap, countSensors, onDelete)
    const who = element('div', { class: 'who' }, element('p', {}, session()?.user.name ?? ''))
    who.append(button({}, () => void this.#sessions.askForOwn(who, onSignOut), 'Sign out'))
    this.root = element(
      'article',
      { class: 'settings' },
      element('a', { class: 'back', href: '#/' }, icon('back'), 'Sensors'),
      this.#heading,
      who,
      displaySection(),
      tokens.root,
      this.#sessions.root,
      aboutSection(bootstrap),
      account.root,
    )
    void tokens.load()
    void this.#sessions.load()
  }

  focus() {
    this.#heading.focus({ preventScroll: true })
  }
}
