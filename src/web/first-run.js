// Shown while there is no sensor yet: how to send the first measurement.

import { session } from './api.js'
import { element } from './element.js'
import { isSecure, OWN_ADDRESS } from './sign-in.js'

const INSECURE =
  'This page was loaded over plain HTTP. It works, but browsers neither install it as an app nor ' +
  'open it offline, and others on the network can read along. https fixes all three.'

/** @returns {HTMLElement[]} */
export function firstRun() {
  const email = session()?.user.email ?? 'you@example.org'
  const create = `TOKEN=$(thermolog token create --user ${email} --name first)`
  const send = [
    `curl ${OWN_ADDRESS}api/v1/measurements \\`,
    '  -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" \\',
    `  -d '{"sn": "cellar", "temp": 21.4}'`,
  ].join('\n')
  return [
    element('p', {}, 'No sensor has sent a measurement yet. It appears here with its first one.'),
    element('p', {}, '1. On the machine of the service, create a daemon token, which may send:'),
    command(create),
    element('p', {}, 'In a checkout it is npx thermolog.'),
    element('p', {}, '2. Send a measurement, from there or, with the token, from anywhere:'),
    command(send),
    element(
      'p',
      {},
      'Devices and more: ',
      element('a', { href: 'docs' }, 'the API'),
      ' and docs/daemon.md.',
    ),
    ...(isSecure ? [] : [element('p', { class: 'insecure' }, INSECURE)]),
  ]
}

/** @param {string} text */
function command(text) {
  return element('pre', { tabindex: '0' }, element('code', {}, text))
}
