// Shown while there is no sensor yet: how to send the first measurement.

import { session } from './api.js'
import { commandBox, shellWord } from './command-box.js'
import { element } from './element.js'
import { COMMAND } from './names.js'
import { isSecure, OWN_ADDRESS } from './sign-in.js'

const INSECURE =
  'This page was loaded over plain HTTP. It works, but browsers neither install it as an app nor ' +
  'open it offline, and others on the network can read along. https fixes all three.'

/** @returns {HTMLElement[]} */
export function firstRun() {
  const user = shellWord(session()?.user.email ?? 'you@example.org')
  const create = `TOKEN=$(${COMMAND} token create --user ${user} --name first)`
  const send = [
    `curl ${shellWord(`${OWN_ADDRESS}api/v1/measurements`)} \\`,
    '  -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" \\',
    `  -d '{"event_id": "first", "sn": "cellar", "temp": 21.4}'`,
  ].join('\n')
  return [
    element('p', {}, 'No sensor has sent a measurement yet. It appears here with its first one.'),
    element('p', {}, '1. Create a token, where Thermolog was started:'),
    commandBox(create),
    element('p', {}, '2. Send a measurement, from there:'),
    commandBox(send),
    element('p', {}, 'Send it again: its event_id says that it is the same, so it is stored once.'),
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
  ]
}
