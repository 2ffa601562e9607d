// Domain values as messages: the only place that builds names of the wire format.

import type { SignedIn } from '../../ports/sign-in-codes.ts'
import type { AccessToken, Principal, User as DomainUser } from '../../domain/access.ts'
import { compensate } from '../../domain/sensor.ts'
import { formatInstant, SECOND_MS } from '../../domain/time.ts'
import type { DataIdentity } from '../../ports/control-reader.ts'
import type { LiveEvent } from '../../sensors/sensor-watch.ts'
import type { SensorState, StateChanges } from '../../sensors/sensors.ts'
import type { MobileSettings } from './sign-in-settings.ts'
import type {
  BootstrapResponse,
  ChangesResponse,
  DaemonMeResponse,
  DaemonToken,
  DashboardResponse,
  Sensor,
  Session,
  SignedInResponse,
  User,
} from '../../../schemas/messages.d.ts'

export function presentSensor({ sensor, isOnline }: SensorState): Sensor {
  const { latest } = sensor
  return {
    id: sensor.id,
    sn: sensor.serialNumber,
    alias: sensor.alias,
    compensation: sensor.compensationCelsius,
    online: isOnline,
    last_seen_at: presentInstant(sensor.lastSeenAtMs),
    latest: latest && {
      timestamp: formatInstant(latest.measuredAtMs),
      temp: compensate(latest.rawCelsius, sensor.compensationCelsius),
      raw: latest.rawCelsius,
    },
    created_at: formatInstant(sensor.createdAtMs),
  }
}

/** The data of a live event. */
export function presentEvent(event: LiveEvent): object {
  if (event.kind === 'reset') return {}
  if (event.kind === 'sensor_deleted') return { id: event.sensorId }
  const historyFrom = presentInstant(event.historyFromMs)
  return { ...presentSensor(event.state), history_changed_from: historyFrom }
}

export function presentDaemonMe(
  { token, user }: Principal,
  lastUsedAtMs: number | null,
  identity: DataIdentity,
): DaemonMeResponse {
  return {
    data: {
      token: {
        id: token.id,
        name: token.name,
        kind: 'daemon',
        scopes: [...token.rights],
        created_at: formatInstant(token.createdAtMs),
        expires_at: presentInstant(token.expiresAtMs),
        last_used_at: presentInstant(lastUsedAtMs),
      },
      user: presentUser(user),
      store: { id: identity.id, restored_to: presentInstant(identity.restoredToMs) },
    },
  }
}

export function presentUser({ id, email, name }: DomainUser): User {
  return { id, email, name }
}

/** Without the sensors themselves, which are many. */
export function presentDashboard(
  user: DomainUser,
  states: readonly SensorState[],
): DashboardResponse {
  return {
    data: {
      user: presentUser(user),
      sensors_total: states.length,
      sensors_online: states.filter(({ isOnline }) => isOnline).length,
      sensors: [],
    },
  }
}

/** Without the sensors themselves, which may be many. */
export function presentChanges(changes: StateChanges): ChangesResponse {
  const { cursor, isReset, deletedIds, histories } = changes
  return {
    data: {
      cursor,
      reset: isReset,
      deleted: [...deletedIds],
      histories: histories.map(({ sensorId, acceptedFromMs = -Infinity, isCompensated }) => {
        const isWhole = isCompensated || acceptedFromMs === -Infinity
        return { sensor_id: sensorId, from: presentInstant(isWhole ? null : acceptedFromMs) }
      }),
      sensors: [],
    },
  }
}

export function presentSignIn({ token, expiresAtMs, user }: SignedIn): SignedInResponse {
  const expiresAt = formatInstant(expiresAtMs)
  return {
    data: { token, token_type: 'Bearer', expires_at: expiresAt, user: presentUser(user) },
  }
}

export function presentSession(token: AccessToken, isCurrent: boolean): Session {
  return {
    id: token.id,
    name: token.appName,
    created_at: formatInstant(token.createdAtMs),
    last_used_at: presentInstant(token.lastUsedAtMs),
    expires_at: presentInstant(token.expiresAtMs),
    current: isCurrent,
  }
}

export function presentDaemonToken(token: AccessToken): DaemonToken {
  return {
    id: token.id,
    name: token.name,
    scopes: [...token.rights],
    sn_prefix: token.serialNumberPrefix,
    created_at: formatInstant(token.createdAtMs),
    expires_at: presentInstant(token.expiresAtMs),
    last_used_at: presentInstant(token.lastUsedAtMs),
    made_by: token.madeInSessionId === null ? 'operator' : 'owner',
    session_id: token.madeInSessionId,
  }
}

/** @param endpoints authorization endpoints by provider, as far as they are known */
export function presentBootstrap(
  settings: MobileSettings,
  endpoints: ReadonlyMap<string, string | undefined>,
): BootstrapResponse {
  const { app, links, callbackUrl, signInProviders, minimumVersion = null } = settings
  const providers = signInProviders.map((provider) => ({
    id: provider.id,
    name: provider.label,
    issuer: provider.issuer,
    client_id: provider.clientId,
    authorization_endpoint: endpoints.get(provider.id) ?? null,
    redirect_uri: provider.redirectUri,
    scopes: [...provider.scopes],
    code_challenge_methods: ['S256' as const],
  }))
  return {
    data: {
      app: { ...app, minimum_version: minimumVersion },
      account_deletion: settings.mayDeleteAccount,
      daemon_tokens: settings.mayMakeTokens,
      offline_after_seconds: settings.offlineAfterMs / SECOND_MS,
      links,
      sign_in_providers: providers,
      callback_url: callbackUrl ?? null,
    },
  }
}

function presentInstant(atMs: number | null): string | null {
  return atMs === null ? null : formatInstant(atMs)
}
