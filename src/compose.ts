// The composition root; only this file and core/ know every part. From top to bottom it
// builds the service in the order of its dependencies; stopping goes the other way.

import manifest from '../package.json' with { type: 'json' }
import { SignIn } from './access/sign-in.ts'
import { SignInLinks } from './access/sign-in-links.ts'
import { OwnTokens } from './access/own-tokens.ts'
import { AccessTokens } from './access/tokens.ts'
import { openEngine } from './core/open-engine.ts'
import type { Core, SharedState, System } from './core/open-core.ts'
import { logForm } from './config-environment.ts'
import type { Config } from './config.ts'
import { liveLimits } from './domain/limits.ts'
import { SECOND_MS } from './domain/time.ts'
import { HistoryReader } from './history/read-history.ts'
import { createHttpServer } from './http/create-http-server.ts'
import { SkippedNotes } from './http/influx/skipped-series.ts'
import { OperationsSocket } from './socket/server.ts'
import type { MobileSettings } from './http/answers/sign-in-settings.ts'
import { MemoryRateCounters } from './memory/rate-counters.ts'
import { MemorySignInCodes } from './memory/sign-in-codes.ts'
import { DOCUMENTS } from './openapi/audiences.ts'
import { createDocument } from './openapi/document.ts'
import { OidcIdentityProvider } from './oidc/identity-provider.ts'
import { createOperations } from './commands/operations.ts'
import { RefusedRetries } from './operations/refused-retries.ts'
import { operationsSocketPath } from './socket/path.ts'
import type { IdentityProvider } from './ports/identity.ts'
import type { Clock, Log } from './ports/system.ts'
import { LiveSensors } from './sensors/live-sensors.ts'
import { Sensors } from './sensors/sensors.ts'
import { noteNoSocket } from './sqlite/data-dir-lock.ts'
import { systemClock } from './system/clock.ts'
import { createLog, standardOutput } from './system/log.ts'
import { pause } from './system/pause.ts'
import { openFilesMax } from './system/open-files.ts'
import { OWN_COMMAND } from './system/own-command.ts'

/** Time for requests under way when the service stops: Docker kills it after ten seconds. */
const DRAIN_MS_MAX = 5 * SECOND_MS

/** How to begin, where no terminal shows a link. */
const NO_USER = [
  'nobody can sign in yet',
  { hint: `run \`${OWN_COMMAND} user create --email …\`, then \`${OWN_COMMAND} user link …\`` },
] as const

/** The remaining file descriptors are for databases, pages and InfluxDB. */
const CONNECTIONS_SHARE = 3 / 4

/** Time limit for all requests of one sign-in to its identity provider. */
const PROVIDER_TIMEOUT_MS = 10 * SECOND_MS

export interface Service {
  /** Resolves when requests are accepted. */
  start(): Promise<{ url: string }>
  /**
   * A code with which somebody becomes the first user.
   *
   * @returns `undefined` if there is a user, or a provider to sign in with
   */
  createFirstLink(): Promise<string | undefined>
  /** What it does now, in a line for people. */
  describe(): string
  /** Finishes requests under way and closes all files. */
  stop(): Promise<void>
}

/** What tests may replace. */
export type Overrides = Partial<Pick<System, 'clock' | 'log' | 'startThread'>>

/** The service with its HTTP server and its socket. Owns DATA_DIR until it is stopped. */
export async function createService(config: Config, overrides: Overrides = {}): Promise<Service> {
  const { clock: machine = systemClock, startThread } = overrides
  const of = { level: config.logLevel, component: 'thermolog', form: logForm(process, 'stdout') }
  const log = overrides.log ?? createLog(machine, of, standardOutput)
  const core = await openEngine(config, { clock: machine, log, isForwarding: true, startThread })
  const { shared, cursorSecret } = await readState(core)
  const { clock, ownClock } = core
  const { submissions, progress, control, controlWriter, reader, metrics } = core
  const isShared = core.shared !== undefined
  const tokens = new AccessTokens({ control, controlWriter, clock, log }, { ...config, isShared })
  const sensors = new Sensors({ control, controlWriter, clock, cursorSecret }, config)
  const live = new LiveSensors({ control, clock, log, cursorSecret }, { ...liveLimits, ...config })
  metrics.watchSubscriptions(() => live.subscriptions)
  metrics.nameBuild(manifest.version)
  const operations = createOperations({ ...core, accessTokens: tokens }, config)
  const retries = new RefusedRetries({ ...core, pause, log }, config)
  ownClock?.onMoved((byMs) => void retries.noteMoved(byMs))
  const skippedNotes = new SkippedNotes({ controlWriter, log })
  const providers = createIdentityProviders(config, { clock, log })
  const { codes } = shared
  const signIn = new SignIn({ providers, codes, controlWriter, tokens, clock }, config)
  const links = new SignInLinks({ control, controlWriter, tokens, clock }, config)
  const socket = new OperationsSocket({ operations, log })
  const history = new HistoryReader(reader, progress)
  const server = createHttpServer(
    {
      submissions,
      damaged: core.damaged,
      refusedWriter: controlWriter,
      refusedReader: control,
      skippedNotes,
      progress,
      tokens,
      ownTokens: new OwnTokens({ tokens, control, controlWriter, clock }),
      sensors,
      live,
      history,
      measurements: reader,
      signIn,
      links,
      identityProviders: providers,
      ...shared,
      apiDescription: { describe: createDocument, parts: DOCUMENTS },
      isStoreWorking: core.isStoreWorking,
      metrics,
      clock,
      clockWatch: core.clockWatch,
      log,
    },
    {
      ...config,
      mobile: mobileSettings(config),
      command: OWN_COMMAND,
      drainMsMax: DRAIN_MS_MAX,
      connectionsMax: connectionsMaxOf(config, log),
    },
  )
  const parts = { core, tokens, retries, skippedNotes, providers, links, socket, server }
  return serviceOf(parts, config, log)
}

interface Parts {
  readonly core: Core
  readonly tokens: AccessTokens
  readonly retries: RefusedRetries
  readonly skippedNotes: SkippedNotes
  readonly providers: ReadonlyMap<string, IdentityProvider>
  readonly links: SignInLinks
  readonly socket: OperationsSocket
  readonly server: ReturnType<typeof createHttpServer>
}

/** With a database, commands need no socket: they work on it themselves. */
function serviceOf(parts: Parts, config: Config, log: Log): Service {
  const { core, tokens, retries, skippedNotes, providers, links, socket, server } = parts
  const isShared = core.shared !== undefined
  return {
    start: async () => {
      tokens.start()
      if (core.ownClock !== undefined) await retries.start()
      for (const provider of providers.values()) provider.start()
      if (!isShared) await startSocket(socket, config, log)
      if (providers.size === 0 && !(await core.control.hasUsers())) log.info(...NO_USER)
      const { url } = await server.start()
      const place = isShared ? {} : { data_dir: config.dataDir }
      log.info('ready', { url, ...place, store: core.storeName })
      return { url }
    },
    describe: () => describe(core),
    createFirstLink: async () => (providers.size > 0 ? undefined : links.createFirst()),
    stop: async () => {
      log.info('stopping')
      await server.stop()
      core.giveUpSoon?.()
      for (const provider of providers.values()) provider.stop()
      await socket.stop()
      await skippedNotes.stop()
      await retries.stop()
      await tokens.stop()
      await core.close()
      log.info('stopped')
    },
  }
}

function describe({ submissions, progress, isStoreWorking, shared }: Core): string {
  const waiting = `${progress.backlog().entries} measurements wait for the measurement store`
  const obstacle = submissions.obstacle() ?? shared?.database?.fault
  if (obstacle !== undefined) return `refusing submissions: ${obstacle}; ${waiting}`
  return isStoreWorking() ? `ready; ${waiting}` : `${waiting}, which takes none`
}

/** Closes what is open if that fails: it would keep the process running, which serves nobody. */
async function readState(core: Core) {
  try {
    const shared = core.shared ?? (await ofThisProcess(core))
    return { shared, cursorSecret: await core.control.readCursorSecret() }
  } catch (error) {
    await core.close()
    throw error
  }
}

async function ofThisProcess({ control, clock }: Core): Promise<SharedState> {
  return {
    rateCounters: new MemoryRateCounters(),
    codes: new MemorySignInCodes(clock),
    dataIdentity: await control.readDataIdentity(),
  }
}

/** If no socket can be created, the service runs without: DATA_DIR is locked, not shared. */
async function startSocket(socket: OperationsSocket, { dataDir }: Config, log: Log): Promise<void> {
  try {
    await socket.start(operationsSocketPath(dataDir))
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    log.warn('cannot create a socket in DATA_DIR: commands cannot reach the service', {
      data_dir: dataDir,
      error: reason,
    })
    noteNoSocket(dataDir, reason)
  }
}

function connectionsMaxOf({ connectionsMax }: Config, log: Log): number {
  const possible = Math.floor(openFilesMax() * CONNECTIONS_SHARE)
  if (possible >= connectionsMax) return connectionsMax
  const hint = 'raise the limit of open files (ulimit -n, LimitNOFILE=) or lower MAX_CONNECTIONS'
  log.warn('fewer connections are possible than MAX_CONNECTIONS allows', {
    connections_max: possible,
    hint,
  })
  return possible
}

function createIdentityProviders(
  { identityProviders }: Config,
  collaborators: { readonly clock: Clock; readonly log: Log },
): ReadonlyMap<string, IdentityProvider> {
  return new Map(
    identityProviders.map((provider) => {
      const settings = { ...provider, timeoutMs: PROVIDER_TIMEOUT_MS }
      return [provider.id, new OidcIdentityProvider(collaborators, settings)]
    }),
  )
}

function mobileSettings(config: Config): MobileSettings {
  const { appName, links, mobileRedirectUris, mobileCallbackUrl: callbackUrl } = config
  const { mayEditOnPhones: mayEdit, offlineAfterMs, appMinimumVersion: minimumVersion } = config
  return {
    mayEdit,
    mayMakeTokens: config.mayMakeTokens,
    mayDeleteAccount: mayEdit && config.mayDeleteAccounts,
    offlineAfterMs,
    minimumVersion,
    app: { name: appName, version: manifest.version },
    links,
    redirectUris: mobileRedirectUris,
    callbackUrl,
    // This part must not see the client secret.
    signInProviders: config.identityProviders.map((provider) => ({
      id: provider.id,
      label: provider.label,
      issuer: provider.issuer,
      clientId: provider.clientId,
      scopes: provider.scopes,
      redirectUri: provider.callbackUrl ?? callbackUrl ?? '',
    })),
  }
}
