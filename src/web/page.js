// The page: sign-in state, the view for the URL, and what all views share.
//
// URLs: `#/` shows the sensors, `#/sensors/7/1d` a chart (see period.js), `#/compare/7,9/1d` one of
// several sensors, `#/account` the user, `#/sign-in/{idp}` goes straight to that provider,
// `#/link/{code}` is a one-time link. The page calls only the mobile API of its own origin.

import { nowMs } from './clock.js'
import { Refused, forgetSession, isSessionChange, session } from './api.js'
import { setTitle } from './names.js'
import { DashboardView } from './dashboard-view.js'
import { setText } from './element.js'
import { Fleet } from './fleet.js'
import { moment } from './format.js'
import { FIRST_PERIOD } from './period.js'
import { SensorView } from './sensor-view.js'
import { takeCallback, takeLink } from './sign-in.js'
import { endToken, endTokens } from './sign-out.js'
import { showTheme, switchTheme } from './theme-button.js'

/**
 * @import { CompareView } from './compare-view.js'
 * @typedef {{ fleet: Fleet, dashboard: DashboardView }} App of who is signed in
 */

const ACCOUNT = '#/account'
const SENSOR = /^#\/sensors\/([1-9]\d{0,15})(?:\/(.*))?$/
const COMPARISON = /^#\/compare\/([\d,]{0,200})(?:\/(.*))?$/

const main = byId('main')
const connection = byId('connection')
const account = byId('account')

/** @type {App | undefined} */
let app
/** @type {SensorView | CompareView | undefined} */
let sensorView
/** @type {import('./sign-in-view.js').SignInView | undefined} */
let signInView
let dashboardScrollPx = 0

const themeButton = byId('theme')
showTheme(themeButton)
themeButton.addEventListener('click', () => switchTheme(themeButton))
globalThis.addEventListener('hashchange', navigate)
globalThis.addEventListener('storage', (event) => {
  if (isSessionChange(event)) location.reload()
})
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
  const { LinkView } = await import('./link-view.js')
  closeApp()
  showAlone(new LinkView(code, begin))
}

/** Shows a view without the app. @param {{ title: string, root: HTMLElement }} view */
function showAlone(view) {
  account.hidden = true
  connection.hidden = true
  setTitle(view.title)
  main.replaceChildren(view.root)
}

/** @param {ReturnType<typeof takeCallback>} callback @param {string} [note] */
async function showSignIn(callback, note) {
  // Not loaded for users who are signed in.
  const { SignInView } = await import('./sign-in-view.js')
  signInView = new SignInView(showApp, note)
  showAlone(signInView)
  await signInView.open(callback)
}

function showApp() {
  signInView = undefined
  const fleet = new Fleet(failed)
  app = { fleet, dashboard: new DashboardView(fleet) }
  account.hidden = false
  fleet.subscribe(showConnection)
  navigate()
  fleet.start()
}

/** Shows the view for the URL. */
function navigate() {
  const code = takeLink()
  if (code !== undefined) return void showLink(code)
  if (app === undefined) return void signInView?.open(undefined)
  if (location.hash === ACCOUNT) return void showAccount()
  const [, ids, comparedIn = FIRST_PERIOD] = COMPARISON.exec(location.hash) ?? []
  if (ids !== undefined) return void showComparison(app, ids, comparedIn)
  const [, id, name] = SENSOR.exec(location.hash) ?? []
  if (id === undefined) return showDashboard(app)
  if (sensorView instanceof SensorView && sensorView.id === Number(id)) {
    return sensorView.navigate(name)
  }
  showChart(new SensorView(Number(id), name, app.fleet))
}

/** @param {App} shown @param {string} ids @param {string} name of the period */
async function showComparison({ fleet }, ids, name) {
  if (sensorView?.id === ids) return sensorView.navigate(name)
  const { hash } = location
  const { CompareView } = await import('./compare-view.js')
  // It is somewhere else, or signed out, by now.
  if (location.hash === hash && app?.fleet === fleet) showChart(new CompareView(ids, name, fleet))
}

/** @param {SensorView | CompareView} view */
function showChart(view) {
  if (sensorView === undefined) dashboardScrollPx = scrollY
  sensorView?.close()
  sensorView = view
  main.replaceChildren(sensorView.root)
  setTitle(sensorView.title)
  scrollTo(0, 0)
  sensorView.focus()
  void sensorView.open()
}

/** @param {App} shown */
function showDashboard({ dashboard }) {
  const isBack = sensorView !== undefined
  closeSensor()
  setTitle(dashboard.title)
  main.replaceChildren(dashboard.root)
  dashboard.open()
  if (!isBack) return
  scrollTo(0, dashboardScrollPx)
  dashboard.focus()
}

async function showAccount() {
  const { AccountView } = await import('./account-view.js')
  if (location.hash !== ACCOUNT) return
  closeSensor()
  const view = new AccountView(() => void signOut())
  setTitle(view.title)
  main.replaceChildren(view.root)
  scrollTo(0, 0)
  view.focus()
}

function showConnection() {
  if (app === undefined) return
  const { connection: state, asOfMs, user } = app.fleet
  const asOf = asOfMs === undefined ? '' : `, as of ${moment(asOfMs, nowMs())}`
  const texts = {
    connecting: '',
    live: 'Live',
    polling: 'Reconnecting, refreshing every 30 s',
    offline: `Offline${asOf}`,
  }
  setText(connection, texts[state])
  connection.hidden = state === 'connecting'
  connection.dataset['state'] = state
  setText(byId('user'), user?.name ?? '')
}

/** @param {Error} error that asking again does not mend */
function failed(error) {
  if (!(error instanceof Refused) || error.status !== 401) return
  void leave('You have been signed out. Please sign in again.')
}

async function signOut() {
  const token = session()?.token
  // Not waited for: without a network it ends later.
  if (token !== undefined) void endToken(token)
  await leave()
}

/** @param {string} [note] */
async function leave(note) {
  closeApp()
  await forgetSession()
  history.replaceState(null, '', '.')
  await showSignIn(undefined, note)
}

function closeApp() {
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
  // It needs https; without it the page still works while there is a network.
  if (!('serviceWorker' in navigator)) return
  // Last, because it reads all files once more.
  setTimeout(() => void navigator.serviceWorker.register('service-worker.js'), 2_000)
}

/** @param {string} id */
function byId(id) {
  return /** @type {HTMLElement} */ (document.getElementById(id))
}
