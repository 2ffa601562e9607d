// Lines to paste that send with a token to the address at which this page was opened. Browsers
// allow characters in a host's name that shells and configurations interpret.

import { shellWord } from './command-box.js'
import { OWN_ADDRESS, randomText } from './sign-in.js'

const { origin, protocol, hostname, port, pathname } = new URL(OWN_ADDRESS)
/** The prefix that a proxy puts before the service's own paths, such as `/thermolog`. */
const PREFIX = pathname.replace(/\/$/, '')
const isEncrypted = protocol === 'https:'

/** Whether only this machine can reach the address. */
export const isOwnMachine = /^(?:localhost|127\.[\d.]+|\[::1\])$/.test(hostname)

export const SENT_AGAIN = 'Sent again, it is stored only once: its event_id identifies it.'

/** Of random text; an event id needs no more. */
const EVENT_ID_CHARACTERS = 22

/** A measurement to try a token with, different for each. @param {string} sn */
export function newTrial(sn) {
  return { eventId: randomText().slice(0, EVENT_ID_CHARACTERS), sn }
}

/**
 * Sends a measurement; repeating it sends the same one.
 *
 * @param {string} token or a shell expression for it
 * @param {{ readonly eventId: string, readonly sn: string }} measurement
 */
export function curlLines(token, { eventId, sn }) {
  return [
    `curl ${shellWord(`${OWN_ADDRESS}api/v1/measurements`)} \\`,
    `  -H "Authorization: Bearer ${token}" \\`,
    '  -H "Content-Type: application/json" \\',
    `  -d '{"event_id": "${eventId}", "sn": "${sn}", "temp": 21.4}'`,
  ].join('\n')
}

/** Shows what a token may do. @param {string} token */
export function checkLines(token) {
  return `curl ${shellWord(`${OWN_ADDRESS}api/v1/me`)} -H "Authorization: Bearer ${token}"`
}

/** @param {string} token */
export function telegrafLines(token) {
  return `# In [agent], so that readings outlast a power cut:
#   buffer_strategy = "disk_write_through"
#   buffer_directory = "/var/lib/telegraf/buffer"
[[outputs.influxdb_v2]]
  urls = [${quoted(origin + PREFIX)}]
  token = ${quoted(token)}
  organization = "x"
  bucket = "x"`
}

/** @param {string} token */
export function homeAssistantLines(token) {
  return `influxdb:
  api_version: 1
  host: ${quoted(hostname)}
  port: ${port || (isEncrypted ? 443 : 80)}
  ssl: ${isEncrypted}${PREFIX === '' ? '' : `\n  path: ${quoted(PREFIX)}`}
  username: x
  password: ${quoted(token)}
  database: x
  max_retries: 10
  include:
    domains: [sensor, climate]`
}

/**
 * Quoted for TOML and YAML, without variables that Telegraf would replace first.
 *
 * @param {string} text in ASCII
 */
function quoted(text) {
  const escaped = text.replaceAll(/[^\w.:/[\]-]/g, (character) => {
    return String.raw`\u` + character.charCodeAt(0).toString(16).padStart(4, '0')
  })
  return `"${escaped}"`
}
