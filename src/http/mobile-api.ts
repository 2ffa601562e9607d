// The API of phones, as tables: address · right · input · handler. Signing in and what comes before
// it need no token, and neither does the relay, to which browsers are sent by identity providers.

import type { SignIn } from '../access/sign-in.ts'
import type { SignInLinks } from '../access/sign-in-links.ts'
import type { OwnTokens } from '../access/own-tokens.ts'
import type { AccessTokens } from '../access/tokens.ts'
import type { IdentityProvider } from '../ports/identity.ts'
import type { Clock } from '../ports/system.ts'
import type { LiveSensors } from '../sensors/live-sensors.ts'
import { accountDeletion, deleteAccount } from './requests/account-deletion.ts'
import { showBootstrap } from './requests/bootstrap.ts'
import { changesQuery, showChanges } from './requests/changes.ts'
import { showDashboard } from './requests/dashboard.ts'
import { streamEvents } from './requests/events.ts'
import type { Histories } from './answers/history-answer.ts'
import type { SensorLists } from './answers/sensor-list.ts'
import { getHistory, getSeries, historyQuery, seriesQuery } from './requests/history.ts'
import { linkSignInRequest, postLinkSignIn } from './requests/link-sign-in.ts'
import { showUser } from './requests/me.ts'
import { none } from './routes/input.ts'
import { relayedForm, relayedQuery, relayToApp } from './requests/relay.ts'
import { listSensors, patchSensor, sensorPatch, showSensor } from './requests/sensors.ts'
import { endSession, listSessions, logOut } from './requests/sessions.ts'
import { postSignIn, signInRequest } from './requests/sign-in.ts'
import {
  endToken,
  listTokens,
  newToken,
  postToken,
  rotateToken,
  tokenEnd,
  tokenRotation,
} from './requests/tokens.ts'
import type { AddressLimit } from './callers/rate-limit.ts'
import type { BodyGate } from './body/gate.ts'
import { SmallBodyReader } from './body/read-small-body.ts'
import { ApiRoutes, OpenRoutes, MOBILE_API_BASE, long, small } from './routes/routes.ts'
import type { RouteTable } from './routes/routes.ts'
import type { MobileSettings } from './answers/sign-in-settings.ts'

export interface MobileApiCollaborators extends Histories, SensorLists {
  readonly tokens: AccessTokens
  readonly ownTokens: OwnTokens
  readonly live: LiveSensors
  readonly signIn: SignIn
  readonly links: SignInLinks
  readonly identityProviders: ReadonlyMap<string, IdentityProvider>
  readonly signInLimit: AddressLimit
  readonly bodies: BodyGate
  readonly clock: Clock
}

// prettier-ignore
export function mobileApiRouter(
  collaborators: MobileApiCollaborators,
  settings: Pick<MobileSettings, 'mayEdit' | 'mayMakeTokens' | 'mayDeleteAccount'>,
): RouteTable {
  const { tokens, ownTokens, sensors, live, bodies, clock } = collaborators
  const api = new ApiRoutes(MOBILE_API_BASE, sensors, bodies)
  const several = seriesQuery(sensors)
  const all = listSensors(collaborators)
  const ofSensor = getHistory(collaborators)
  const series = getSeries(collaborators)
  // What no mobile token has.
  const edit = settings.mayEdit ? 'sensors:read' : 'sensors:write'
  const deletion = accountDeletion(settings)
  const order = newToken(settings)
  const rotation = tokenRotation(ownTokens, settings)
  const end = tokenEnd(ownTokens, settings)
  const dashboard = showDashboard(collaborators)
  const events = streamEvents({ live, tokens, clock })
  const changes = showChanges(collaborators)
  const named = listTokens(collaborators)
  const make = postToken(ownTokens, settings)
  const change = patchSensor(sensors)

  api.add('GET  /me',                       undefined,      none,  small(showUser))
  api.add('POST /me/deletion',              undefined,      deletion, small(deleteAccount(tokens)))
  api.add('POST /logout',                   undefined,      none,  small(logOut(tokens)))
  api.add('GET  /sessions',                 undefined,      none,  small(listSessions(tokens)))
  api.add('DELETE /sessions/:session',      undefined,      none,  small(endSession(tokens)))
  api.add('GET  /tokens',                   undefined,      none,  long(named))
  api.add('POST /tokens',                   undefined,      order, small(make))
  api.add('POST /tokens/:token/rotation',   undefined,      rotation, small(rotateToken(ownTokens)))
  api.add('DELETE /tokens/:token',          undefined,      end,   small(endToken(ownTokens)))
  api.add('GET  /dashboard',                'sensors:read', none,  long(dashboard))
  api.add('GET  /sensors',                  'sensors:read', none,  long(all))
  api.add('GET  /changes',                  'sensors:read', changesQuery, long(changes))
  api.add('GET  /measurements',             'sensors:read', several, long(series))
  api.own('GET  /sensors/:id',              'sensors:read', none,  small(showSensor(sensors)))
  api.own('PATCH /sensors/:id',             edit,           sensorPatch, small(change))
  api.own('GET  /sensors/:id/measurements', 'sensors:read', historyQuery, long(ofSensor))
  api.add('GET  /events',                   'sensors:read', none,  long(events))
  return api
}

// prettier-ignore
export function signInRouter(
  { signIn, links, identityProviders, signInLimit, clock }: MobileApiCollaborators,
  settings: MobileSettings,
): RouteTable {
  const open = new OpenRoutes(MOBILE_API_BASE)
  const bodies = new SmallBodyReader(clock)
  const grant = signInRequest(bodies, signInLimit, settings)
  const link = linkSignInRequest(bodies, signInLimit)

  open.add('GET  /bootstrap', none,  small(showBootstrap(identityProviders, settings)))
  open.add('POST /auth/link', link,  small(postLinkSignIn(links)))
  open.add('POST /auth/:idp', grant, small(postSignIn(signIn)))
  return open
}

// prettier-ignore
export function relayRouter(clock: Clock, settings: MobileSettings): RouteTable {
  const open = new OpenRoutes('/auth')
  const form = relayedForm(new SmallBodyReader(clock))

  open.add('GET  /callback/:idp', relayedQuery, small(relayToApp(settings)))
  open.add('POST /callback/:idp', form,         small(relayToApp(settings)))
  return open
}
