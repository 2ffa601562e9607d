// How to get a new session if the current one is too old for an action.

import { session } from './api.js'
import { commandBox, shellWord } from './command-box.js'
import { button, element, setText } from './element.js'
import { COMMAND } from './names.js'
import { lead } from './question.js'
import { isSecure, leaveFor } from './sign-in.js'

/** @import { Bootstrap } from './api.js' */

const NO_REDIRECT_URI = 'Sign-in is not set up for this address. Ask the operator to set it up.'
const WITH_LINK =
  'Open a new sign-in link in this browser. Where Thermolog was started, this prints one:'

/**
 * @param {string} why
 * @param {Bootstrap} bootstrap
 * @param {{ backTo: string, onCancel?: () => void }} options `backTo`: the URL's fragment to return
 *   to afterwards
 */
export function signInAgain(why, bootstrap, { backTo, onCancel }) {
  const said = element('p', { class: 'fault', role: 'alert' })
  const words = element('p', { tabindex: '-1' }, why)
  const reached = bootstrap.sign_in_providers.filter((one) => one.authorization_endpoint !== null)
  const leaves = reached.map((provider) => {
    const leave = async () => {
      const isLeaving = await leaveFor(bootstrap, provider, backTo)
      if (!isLeaving) setText(said, NO_REDIRECT_URI)
    }
    return button({ class: 'primary' }, () => void leave(), `Sign in again with ${provider.name}`)
  })
  const email = shellWord(session()?.user.email ?? '')
  const withLink = [element('p', {}, WITH_LINK), commandBox(`${COMMAND} user link ${email}`)]
  const isWithProvider = isSecure && leaves.length > 0
  const cancel = onCancel && button({}, onCancel, 'Cancel')
  const root = element(
    'div',
    { class: 'question', role: 'group', 'aria-label': 'Sign in again' },
    words,
    ...(isWithProvider ? [] : withLink),
    element('div', { class: 'answers' }, ...(isWithProvider ? leaves : []), cancel),
    said,
  )
  return { root, focus: () => lead(root, words) }
}
