// The page: sign-in state, the view for the URL, and what all views share.
//
// URLs: `#/` shows the sensors, `#/sensors/7/1d` a chart (see period.js), `#/compare/7,9/1d` one of
// several sensors, `#/settings` the owner's choices, `#/sign-in/{idp}` goes straight to that
// provider, `#/link/{code}` is a one-time link. The page calls only the mobile API of its own
// origin.

import { deviceAheadMs, nowMs, onCorrection } from './clock.js'
import { forgetSession, isSessionChange, post, session } from './api.js'
import { setTitle } from './names.js'
import { DashboardView } from './dashboard-view.js'
import { button, setText } from './element.js'
import { Fleet } from './fleet.js'
import { moment, span } from './format.js'
import { listenToKeys } from './keys.js'
import { UNIT_SHOWN, chosenUnit } from './locale.js'
import { FIRST_PERIOD } from './period.js'
import { SensorView } from './sensor-view.js'
import { takeCallback, takeLink } from './sign-in.js'
import { endToken, endTokens, forgetDevice } from './sign-out.js'
import { dropUnsaved, mayLeave } from './unsaved.js'
import { lookForUpgrade, lookLater } from './upgrade.js'

/**
 * @import { CompareView } from './compare-view.js'
 * @import { SettingsView } from './settings-view.js'
 * @typedef {{ fleet: Fleet, dashboard: DashboardView }} App of who is signed in
 */

const SETTINGS = '#/settings'
const SENSOR = /^#\/sensors\/([1-9]\d{0,15})(?:\/(.*))?$/
const COMPARISON = /^#\/compare\/([\d,]{0,200})(?:\/(.*))?$/

const main = byId('main')
const connection = byId('connection')
const settings = byId('settings')
const notice = byId('notice')
const deviceClock = byId('device-clock')
/** A smaller error shifts nothing that people see. */
const CLOCK_MS_MAX = 2 * 60_000
const CLOCK_LOOK_MS = 60_000

/** @type {App | undefined} */
let app
/** @type {SensorView | CompareView | undefined} */
let sensorView
/** @type {import('./sign-in-view.js').SignInView | undefined} */
let signInView
let dashboardScrollPx = 0
let isAwayFromDashboard = false
/** While the response may be a refusal or the end of everything else. */
let isDeleting = false
/** The code of the link that is shown. @type {string | undefined} */
let heldLink
/** The URL's fragment of the view shown. */
let shownAt = ''

globalThis.addEventListener('hashchange', navigate)
globalThis.addEventListener('unhandledrejection', ({ reason }) => {
  // Each browser has its own words for a module that it cannot load.
  if (reason instanceof TypeError && reason.message.includes('module')) void explainMissing()
})
document.addEventListener('visibilitychange', () => {
  if (!document.hidden) lookLater(offer)
})
onCorrection(showClock)
setInterval(showClock, CLOCK_LOOK_MS)
globalThis.addEventListener('storage', (event) => {
  if (!isSessionChange(event)) return
  // The page now belongs to somebody else.
  dropUnsaved()
  location.reload()
})
listenToKeys()
begin()
registerServiceWorker()

function begin() {
  void endTokens()
  const code = takeLink()
  const callback = code === undefined ? takeCallback() : undefined
  if (code !== undefined) void showLink(code)
  else if (session() === undefined || callback !== undefined) void showSignIn(callback)
  else showApp()
}

/** @param {string} code */
async function showLink(code) {
  const { LinkView } = await import('./link-view.js').catch((/** @type {unknown} */ error) => {
    // For when the page is loaded again.
    history.replaceState(null, '', `#/link/${code}`)
    throw error
  })
  const userId = session()?.user.id
  closeApp()
  const goOn = () => {
    heldLink = undefined
    // Another user may have nothing at this URL.
    const isSame = userId === undefined || userId === session()?.user.id
    if (isSame) history.replaceState(null, '', shownAt || '.')
    begin()
  }
  const view = new LinkView(code, goOn)
  // Nothing else knows the code.
  view.root.dataset['held'] = ''
  heldLink = code
  showAlone(view)
}

/** Shows a view without the app. @param {{ title: string, root: HTMLElement }} view */
function showAlone(view) {
  settings.hidden = true
  connection.hidden = true
  setTitle(view.title)
  main.replaceChildren(view.root)
}

/** @param {ReturnType<typeof takeCallback>} callback @param {string} [note] */
async function showSignIn(callback, note) {
  shownAt = location.hash
  // Not loaded for users who are signed in.
  const { SignInView } = await import('./sign-in-view.js')
  signInView = new SignInView(showApp, note)
  showAlone(signInView)
  await signInView.open(callback)
}

function showApp() {
  signInView = undefined
  const fleet = new Fleet(endSession, () => lookLater(offer))
  app = { fleet, dashboard: new DashboardView(fleet) }
  settings.hidden = false
  fleet.subscribe((changedId) => {
    if (changedId === undefined) showConnection()
  })
  navigate()
  fleet.start()
}

/** Shows the view for the URL. */
function navigate() {
  if (notice.dataset['isNewer'] === undefined) notice.hidden = true
  const code = takeLink()
  if (code !== undefined) {
    if (mayLeave(() => void showLink(code))) void showLink(code)
    else stay()
    return
  }
  const { hash } = location
  if (app === undefined) {
    shownAt = hash
    return void signInView?.open(undefined)
  }
  if (!mayLeave(() => (location.hash = hash))) return stay()
  // The unit is chosen when the page is loaded.
  if (shownAt === SETTINGS && chosenUnit() !== UNIT_SHOWN) return location.reload()
  shownAt = hash
  if (hash === SETTINGS) return void showSettings(app)
  const [, ids, comparedIn = FIRST_PERIOD] = COMPARISON.exec(location.hash) ?? []
  if (ids !== undefined) return void showComparison(app, ids, comparedIn)
  const [, id, name] = SENSOR.exec(location.hash) ?? []
  if (id === undefined) return showDashboard(app)
  if (sensorView instanceof SensorView && sensorView.id === Number(id)) {
    return sensorView.navigate(name)
  }
  showChart(new SensorView(Number(id), name, app.fleet))
}

/** Keeps the view and its URL. */
function stay() {
  history.pushState(null, '', shownAt === '' ? '.' : shownAt)
}

/** @param {App} shown @param {string} ids @param {string} name of the period */
async function showComparison({ fleet }, ids, name) {
  if (sensorView?.id === ids) return sensorView.navigate(name)
  const { hash } = location
  const { CompareView } = await import('./compare-view.js')
  // The user may have moved on or signed out.
  if (location.hash === hash && app?.fleet === fleet) showChart(new CompareView(ids, name, fleet))
}

/** @param {SensorView | CompareView} view */
function showChart(view) {
  show(view)
  sensorView = view
  void sensorView.open()
}

/** Shows a view instead of the dashboard. @param {SensorView | CompareView | SettingsView} view */
function show(view) {
  if (!isAwayFromDashboard) dashboardScrollPx = scrollY
  isAwayFromDashboard = true
  closeSensor()
  setTitle(view.title)
  main.replaceChildren(view.root)
  scrollTo(0, 0)
  view.focus()
}

/** @param {App} shown */
function showDashboard({ dashboard }) {
  const isBack = isAwayFromDashboard
  isAwayFromDashboard = false
  closeSensor()
  setTitle(dashboard.title)
  main.replaceChildren(dashboard.root)
  dashboard.open()
  if (!isBack) return
  scrollTo(0, dashboardScrollPx)
  dashboard.focus()
}

/** @param {App} shown */
async function showSettings({ fleet }) {
  const { SettingsView } = await import('./settings-view.js')
  if (location.hash !== SETTINGS || app?.fleet !== fleet) return
  const countSensors = () => fleet.sensors.size
  show(new SettingsView({ countSensors, onSignOut: signOut, onDelete: deleteAccount }))
}

function showConnection() {
  if (app === undefined) return
  const { connection: state, asOfMs, user } = app.fleet
  const asOf = asOfMs === undefined ? '' : `, as of ${moment(asOfMs, nowMs())}`
  const texts = {
    connecting: '',
    live: 'Live',
    polling: 'Reconnecting, refreshing every 30 s',
    unreachable: `Cannot be reached${asOf}`,
    offline: `Offline${asOf}`,
  }
  setText(connection, texts[state])
  connection.hidden = state === 'connecting'
  connection.dataset['state'] = state
  setText(byId('user'), user?.name ?? '')
}

/** Says that the service has a newer page than this. @param {() => void} reload */
function offer(reload) {
  notice.dataset['isNewer'] = ''
  say('New version', reload)
}

async function explainMissing() {
  const isOffered = await lookForUpgrade(offer, true)
  if (!isOffered) say('A part of this page could not be loaded.', () => location.reload())
}

/** @param {string} text @param {() => void} reload */
function say(text, reload) {
  const onReload = () => {
    if (heldLink !== undefined) history.replaceState(null, '', `#/link/${heldLink}`)
    reload()
  }
  notice.replaceChildren(`${text} `, button({}, onReload, 'Reload'))
  notice.hidden = false
}

function showClock() {
  const aheadMs = deviceAheadMs()
  const error = `${span(Math.abs(aheadMs))} ${aheadMs > 0 ? 'ahead' : 'behind'}`
  setText(deviceClock, `This device’s clock is ${error}.`)
  deviceClock.hidden = Math.abs(aheadMs) <= CLOCK_MS_MAX
}

function endSession() {
  if (!isDeleting) void leave('You have been signed out. Please sign in again.', location.hash)
}

async function signOut() {
  if (!mayLeave(() => void signOut())) return
  const token = session()?.token
  // Not awaited: without a network it ends later.
  if (token !== undefined) void endToken(token)
  await leave()
}

/** Deletes the user, with all data here and at the service. @param {string} email */
async function deleteAccount(email) {
  isDeleting = true
  try {
    await post('/me/deletion', { email })
  } finally {
    isDeleting = false
  }
  forgetDevice()
  await leave('Your account has been deleted.')
}

/** @param {string} [note] @param {string} [place] to be at after signing in again */
async function leave(note, place = '.') {
  closeApp()
  await forgetSession()
  history.replaceState(null, '', place)
  await showSignIn(undefined, note)
}

function closeApp() {
  dropUnsaved()
  isAwayFromDashboard = false
  app?.fleet.stop()
  app?.dashboard.close()
  app = undefined
  closeSensor()
}

function closeSensor() {
  sensorView?.close()
  sensorView = undefined
}

function registerServiceWorker() {
  // Needs https; without it the page still works while there is a network.
  if (!('serviceWorker' in navigator)) return
  // Last, because it downloads all files again.
  setTimeout(() => void navigator.serviceWorker.register('service-worker.js'), 2_000)
}

/** @param {string} id */
function byId(id) {
  return /** @type {HTMLElement} */ (document.getElementById(id))
}
