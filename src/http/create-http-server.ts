// Puts the parts of the HTTP side together, in dependency order.

import type { SignIn } from '../access/sign-in.ts'
import type { SignInLinks } from '../access/sign-in-links.ts'
import type { OwnTokens } from '../access/own-tokens.ts'
import type { AccessTokens } from '../access/tokens.ts'
import {
  connectionsPerAddressMax,
  failedTokensPerMinute,
  faultyBatches,
  historyAnswers,
  listAnswers,
  openStatementsPerMinute,
  requestBodiesInFlightBytesMax,
  statementAnswers,
} from '../domain/limits.ts'
import type { AppLinks } from '../domain/app-links.ts'
import type { HistoryReader } from '../history/read-history.ts'
import type { DamageList } from '../ingest/damage-list.ts'
import type { Submissions } from '../ingest/submissions.ts'
import type { DataIdentity } from '../ports/control-reader.ts'
import type { RefusedReader, RefusedWriter } from '../ports/refused.ts'
import type { MeasurementReader } from '../ports/measurement-store.ts'
import type { QueueFigures } from '../ports/journal-queue.ts'
import type { IdentityProvider } from '../ports/identity.ts'
import type { RateCounters } from '../ports/rate-counters.ts'
import type {
  Clock,
  ClockWatch,
  DatabaseWatch,
  Log,
  Metrics,
  MetricsSource,
} from '../ports/system.ts'
import type { LiveSensors } from '../sensors/live-sensors.ts'
import type { Sensors } from '../sensors/sensors.ts'
import { ClientAddresses, clientKey } from './callers/client-address.ts'
import { daemonApiRouter } from './daemon-api.ts'
import { Connections } from './callers/connections.ts'
import { createDispatch } from './dispatch.ts'
import type { Tables } from './dispatch.ts'
import { appLinksRouter } from './pages/app-links.ts'
import { documentsRouter } from './pages/documents-api.ts'
import type { ApiDescription } from './pages/documents-api.ts'
import { mobileApiRouter, relayRouter, signInRouter } from './mobile-api.ts'
import { operationsRouter } from './operations-api.ts'
import { AddressLimit, limitOf, RateLimits } from './callers/rate-limit.ts'
import type { RateLimitsSettings } from './callers/rate-limit.ts'
import { lineApiRouter } from './influx/line-api.ts'
import { ProvenTokens } from './influx/proven-tokens.ts'
import type { SkippedNotes } from './influx/skipped-series.ts'
import type { LineSettings } from './influx/write-lines.ts'
import { LongAnswers } from './answers/long-answers.ts'
import { BodyGate } from './body/gate.ts'
import { SmallBodyReader } from './body/read-small-body.ts'
import type { RouteRow } from './routes/routes.ts'
import { Draining, HttpServer } from './server.ts'
import type { HttpServerSettings } from './server.ts'
import type { MobileSettings } from './answers/sign-in-settings.ts'
import { webPageRouter } from './pages/web-page.ts'

export interface HttpFaceCollaborators {
  readonly submissions: Submissions
  readonly damaged: DamageList
  readonly refusedWriter: RefusedWriter
  readonly refusedReader: RefusedReader
  readonly skippedNotes: SkippedNotes
  readonly progress: QueueFigures
  readonly tokens: AccessTokens
  readonly ownTokens: OwnTokens
  readonly signIn: SignIn
  readonly links: SignInLinks
  readonly identityProviders: ReadonlyMap<string, IdentityProvider>
  readonly sensors: Sensors
  readonly live: LiveSensors
  readonly history: HistoryReader
  readonly measurements: MeasurementReader
  /** Its id is sent in every response to a caller with a token. */
  readonly dataIdentity: DataIdentity
  /** Whether the last write into the measurement store succeeded. */
  readonly isStoreWorking: () => boolean
  /** `undefined`: DATA_DIR has the data. */
  readonly database?: DatabaseWatch
  readonly rateCounters: RateCounters
  readonly apiDescription: ApiDescription
  readonly metrics: Metrics & MetricsSource
  readonly clock: Clock
  readonly clockWatch: ClockWatch
  readonly log: Log
}

export interface HttpFaceSettings extends HttpServerSettings, RateLimitsSettings, LineSettings {
  /** Per address and minute; 0: no limit. */
  readonly signInsPerMinute: number
  readonly trustedProxies: readonly string[]
  readonly mobile: MobileSettings
  readonly appLinks: AppLinks
  /** How people call the command line. */
  readonly command: string
  /** Where clients reach the API. */
  readonly apiUrl: string
  /** `undefined`: anyone may read the metrics. */
  readonly metricsToken: string | undefined
}

export function createHttpServer(
  collaborators: HttpFaceCollaborators,
  settings: HttpFaceSettings,
): HttpServer {
  const { live, rateCounters, apiDescription, clock, log } = collaborators
  const { refusedWriter, refusedReader } = collaborators
  const draining = new Draining()
  draining.signal.addEventListener('abort', () => live.stop())
  const bodies = new BodyGate(requestBodiesInFlightBytesMax, clock)
  const rateLimits = new RateLimits(rateCounters, settings)
  const addresses = new ClientAddresses(settings.trustedProxies, (proxy) => {
    log.warn('requests come through a proxy that TRUST_PROXY does not name', { proxy })
  })
  const limits = { ...settings, connectionsPerAddressMax }
  const connections = new Connections({ addresses, clock }, limits)
  const perAddress = (name: string, perMinute: number, keyOf: typeof addresses.farKey) =>
    new AddressLimit(limitOf(rateCounters, name, perMinute), (request) =>
      keyOf(addresses.of(request)),
    )
  // What is near may serve many clients, of whom one must not use up what the others may do.
  const perFarAddress = (name: string, perMinute: number) =>
    perAddress(name, perMinute, (address) => addresses.farKey(address))
  const failedTokens = perFarAddress('failed tokens', failedTokensPerMinute)
  const openStatements = perFarAddress('open statements', openStatementsPerMinute)
  const signInLimit = perAddress('sign-ins', settings.signInsPerMinute, clientKey)
  const longAnswers = new LongAnswers(historyAnswers, clock)
  const lists = new LongAnswers(listAnswers, clock)
  const refusing = new LongAnswers(faultyBatches, clock)
  const apis = { ...collaborators, longAnswers, lists, bodies }
  const mobile = { ...apis, signInLimit }
  const tables: Tables = {
    daemon: daemonApiRouter({ ...apis, rateLimits, faultyBatches: refusing }),
    mobile: mobileApiRouter(mobile, settings.mobile),
    signIn: signInRouter(mobile, settings.mobile),
    lines: lineApiRouter(
      {
        ...collaborators,
        rateLimits,
        bodies,
        smallBodies: new SmallBodyReader(clock),
        longAnswers: new LongAnswers(statementAnswers, clock),
        proven: new ProvenTokens(refusedWriter, refusedReader),
        failedTokens,
        openStatements,
        draining,
      },
      settings,
    ),
    relay: relayRouter(clock, settings.mobile),
    appLinks: appLinksRouter(settings.appLinks, settings.appName),
    operations: operationsRouter({ ...collaborators, lists, addresses, draining }, settings),
    documents: documentsRouter(
      () => apiDescription.describe(rowsOf(tables), { ...settings, ...settings.mobile.app }),
      apiDescription.parts,
      settings.appName,
    ),
    webPage: webPageRouter(settings),
  }
  const dispatch = createDispatch(tables, {
    ...collaborators,
    rateLimits,
    failedTokens,
  })
  return new HttpServer(dispatch, draining, { ...collaborators, addresses, connections }, settings)
}

/** The rows of all tables, APIs first; InfluxDB's calls are in openapi/influx-calls.ts. */
function rowsOf(tables: Tables): readonly RouteRow[] {
  const { daemon, signIn, mobile, relay, appLinks, operations, documents, webPage } = tables
  const inOrder = [daemon, signIn, mobile, relay, appLinks, operations, documents, webPage]
  return inOrder.flatMap(({ rows }) => rows)
}
