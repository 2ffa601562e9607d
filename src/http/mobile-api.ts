// The API of phones, as tables: address · right · input · handler. Signing in and what comes before
// it need no token, and neither does the relay, to which browsers are sent by identity providers.

import type { SignIn } from '../access/sign-in.ts'
import type { AccessTokens } from '../access/tokens.ts'
import type { HistoryReader } from '../history/read-history.ts'
import type { Clock, IdentityProvider } from '../ports.ts'
import type { LiveSensors } from '../sensors/live-sensors.ts'
import type { Sensors } from '../sensors/sensors.ts'
import { MOBILE_API_BASE } from './dispatch.ts'
import { showBootstrap } from './handlers/bootstrap.ts'
import { showDashboard } from './handlers/dashboard.ts'
import { streamEvents } from './handlers/events.ts'
import { getHistory } from './handlers/history.ts'
import { showUser } from './handlers/me.ts'
import { relayToApp } from './handlers/relay.ts'
import { listSensors } from './handlers/sensors.ts'
import { logOut, postSignIn } from './handlers/sign-in.ts'
import { historyQuery, none, relayedForm, relayedQuery, signInRequest } from './inputs.ts'
import type { SignInLimit } from './rate-limit.ts'
import { SmallBodyReader } from './read-small-body.ts'
import { ApiRoutes, OpenRoutes } from './routes.ts'
import type { RouteTable } from './routes.ts'
import type { MobileSettings } from './sign-in-settings.ts'

export interface MobileApiCollaborators {
  readonly tokens: AccessTokens
  readonly sensors: Sensors
  readonly live: LiveSensors
  readonly history: HistoryReader
  readonly signIn: SignIn
  readonly identityProviders: ReadonlyMap<string, IdentityProvider>
  readonly signInLimit: SignInLimit
  readonly clock: Clock
}

// prettier-ignore
export function mobileApiRouter(
  { tokens, sensors, live, history, clock }: MobileApiCollaborators,
): RouteTable {
  const api = new ApiRoutes(MOBILE_API_BASE, sensors)
  const query = historyQuery
  const events = streamEvents({ live, tokens, clock })

  api.add('GET  /me',                       undefined,      none,  showUser())
  api.add('POST /logout',                   undefined,      none,  logOut(tokens))
  api.add('GET  /dashboard',                'sensors:read', none,  showDashboard(sensors))
  api.add('GET  /sensors',                  'sensors:read', none,  listSensors(sensors))
  api.own('GET  /sensors/:id/measurements', 'sensors:read', query, getHistory(history))
  api.add('GET  /events',                   'sensors:read', none,  events)
  return api
}

// prettier-ignore
export function signInRouter(
  { signIn, identityProviders, signInLimit }: MobileApiCollaborators,
  settings: MobileSettings,
): RouteTable {
  const open = new OpenRoutes(MOBILE_API_BASE)
  const grant = signInRequest(new SmallBodyReader(), signInLimit, settings)

  open.add('GET  /bootstrap', none,  showBootstrap(identityProviders, settings))
  open.add('POST /auth/:idp', grant, postSignIn(signIn))
  return open
}

// prettier-ignore
export function relayRouter(settings: MobileSettings): RouteTable {
  const open = new OpenRoutes('/auth')
  const form = relayedForm(new SmallBodyReader())

  open.add('GET  /callback/:idp', relayedQuery, relayToApp(settings))
  open.add('POST /callback/:idp', form,         relayToApp(settings))
  return open
}
