// A page that stays open while the service is upgraded: its files may be gone, and it may be older
// than what answers it. It is loaded again when that disturbs nobody; until then it says so.
//
// Two versions may answer by turns while an upgrade is under way. So a tab is loaded once for each
// version it is told of, not soon after it was loaded, and not for a version that it has left.

import { inTime } from './api.js'
import { monotonicMs } from './clock.js'
import { isUnsaved } from './unsaved.js'

const YOUNG_MS = 10 * 60_000
/** Longer than answers may take. */
const TRY_MS = 30_000
/** Versions that this tab has left or was loaded again for. */
const KEPT = 'thermolog.versions'
/** The files of a version, which the first page names. */
const FILES = /web\/\w{12}\/[\w.-]+/g
const OWN = versionOf(import.meta.url)

/** @type {ReturnType<typeof setTimeout> | undefined} */
let looking
/** @type {ReturnType<typeof setInterval> | undefined} */
let trying

/** Looks once the page is no longer young. @param {(reload: () => void) => void} onOffer */
export function lookLater(onOffer) {
  clearTimeout(looking)
  const delayMs = Math.max(0, YOUNG_MS - monotonicMs())
  looking = setTimeout(() => void lookForUpgrade(onOffer, false), delayMs)
}

/**
 * Looks whether the service has another version, and offers it.
 *
 * @param {(reload: () => void) => void} onOffer
 * @param {boolean} isNeeded whether this page lacks something: then a version is offered that this
 *   tab has had before
 * @returns {Promise<boolean>} whether it is offered
 */
export async function lookForUpgrade(onOffer, isNeeded) {
  const page = await fetch('.', { cache: 'no-cache', signal: inTime() })
    .then((answer) => (answer.ok ? answer.text() : ''))
    .catch(() => '')
  const files = page.match(FILES) ?? []
  const version = versionOf(files[0] ?? OWN)
  const isKnown = knownVersions().includes(version)
  if (version === OWN || (isKnown && !isNeeded)) return false
  const reload = () => {
    sessionStorage.setItem(KEPT, JSON.stringify([...knownVersions(), OWN, version]))
    location.reload()
  }
  onOffer(reload)
  clearInterval(trying)
  if (!isKnown) trying = setInterval(() => void reloadUnseen(files, reload), TRY_MS)
  return true
}

/** @param {readonly string[]} files @param {() => void} reload */
async function reloadUnseen(files, reload) {
  if (monotonicMs() < YOUNG_MS || isInUse()) return
  // Another process may answer the next request, and have other files: these are kept now.
  const answers = await Promise.allSettled(files.map((file) => fetch(file, { signal: inTime() })))
  const areKept = answers.every((answer) => answer.status === 'fulfilled' && answer.value.ok)
  if (areKept && !isInUse()) reload()
}

/** Whether somebody is in a form, or would lose what is in one. */
function isInUse() {
  const fields = [...document.querySelectorAll('input')]
  const isFilled = fields.some(({ value, defaultValue }) => value !== defaultValue)
  const isInForm = !document.hidden && document.activeElement?.closest('form, input, select')
  const isHeld = isUnsaved() || document.querySelector('[data-held]') !== null
  return isHeld || isFilled || Boolean(isInForm)
}

/** @returns {string[]} */
function knownVersions() {
  return /** @type {string[]} */ (JSON.parse(sessionStorage.getItem(KEPT) ?? '[]'))
}

/** @param {string} address of a file, with its version */
function versionOf(address) {
  return /web\/(\w+)\//.exec(address)?.[1] ?? ''
}
