// The parts of the HTTP face put together, in the order in which they need each other.

import type { SignIn } from '../access/sign-in.ts'
import type { AccessTokens } from '../access/tokens.ts'
import { requestBodiesInFlightBytesMax, requestBodyBytesMax } from '../domain/limits.ts'
import type { HistoryReader } from '../history/read-history.ts'
import { Acceptor } from '../ingest/accept.ts'
import type { Clock, IdentityProvider, Journal, Log, Metrics } from '../ports.ts'
import type { LiveSensors } from '../sensors/live-sensors.ts'
import type { Sensors } from '../sensors/sensors.ts'
import { ClientAddresses } from './client-address.ts'
import { daemonApiRouter } from './daemon-api.ts'
import { createDispatch } from './dispatch.ts'
import type { Tables } from './dispatch.ts'
import { documentsRouter } from './documents-api.ts'
import { createDocument } from './openapi/document.ts'
import { mobileApiRouter, relayRouter, signInRouter } from './mobile-api.ts'
import { operationsRouter } from './operations-api.ts'
import type { MetricsSource } from './handlers/metrics.ts'
import { RateLimits, SignInLimit } from './rate-limit.ts'
import type { RateLimitsSettings } from './rate-limit.ts'
import { BodyReader } from './read-body.ts'
import type { RouteRow } from './routes.ts'
import { Draining, HttpServer } from './server.ts'
import type { HttpServerSettings } from './server.ts'
import type { MobileSettings } from './sign-in-settings.ts'
import { webPageRouter } from './web-page.ts'

export interface HttpFaceCollaborators {
  readonly journal: Journal
  readonly tokens: AccessTokens
  readonly signIn: SignIn
  readonly identityProviders: ReadonlyMap<string, IdentityProvider>
  readonly sensors: Sensors
  readonly live: LiveSensors
  readonly history: HistoryReader
  /** Whether the last write into the measurement store worked. */
  readonly isStoreWorking: () => boolean
  readonly metrics: Metrics & MetricsSource
  readonly clock: Clock
  readonly log: Log
}

export interface HttpFaceSettings extends HttpServerSettings, RateLimitsSettings {
  /** An address and minute; 0 is off. */
  readonly signInsPerMinute: number
  readonly trustedProxies: readonly string[]
  readonly mobile: MobileSettings
  /** `undefined`: anyone may read the metrics. */
  readonly metricsToken: string | undefined
}

export function createHttpServer(
  collaborators: HttpFaceCollaborators,
  settings: HttpFaceSettings,
): HttpServer {
  const { journal, tokens, live, clock } = collaborators
  const draining = new Draining()
  const isDraining = () => draining.isOn
  draining.signal.addEventListener('abort', () => live.stop())
  const bodies = new BodyReader({
    bodyBytesMax: requestBodyBytesMax,
    inFlightBytesMax: requestBodiesInFlightBytesMax,
  })
  const rateLimits = new RateLimits(settings)
  const acceptor = new Acceptor(journal, clock)
  const addresses = new ClientAddresses(settings.trustedProxies)
  const signInLimit = new SignInLimit(settings.signInsPerMinute, addresses)
  const mobile = { ...collaborators, signInLimit }
  const tables: Tables = {
    daemon: daemonApiRouter({ ...collaborators, acceptor, rateLimits, bodies }),
    mobile: mobileApiRouter(mobile),
    signIn: signInRouter(mobile, settings.mobile),
    relay: relayRouter(settings.mobile),
    operations: operationsRouter({ ...collaborators, acceptor, isDraining }, settings),
    documents: documentsRouter(() => createDocument(rowsOf(tables), settings.mobile.app.version)),
    webPage: webPageRouter(),
  }
  const dispatch = createDispatch(tables, { tokens, rateLimits, isDraining })
  return new HttpServer(dispatch, draining, collaborators, settings)
}

/** The rows of all tables: those of the APIs first. */
function rowsOf(tables: Tables): readonly RouteRow[] {
  const { daemon, signIn, mobile, relay, operations, documents, webPage } = tables
  const inOrder = [daemon, signIn, mobile, relay, operations, documents, webPage]
  return inOrder.flatMap(({ rows }) => rows)
}
