// The messages of the API as types. Written by `npm run generate` from schemas/.

/**
 * The query parameters of a history: the period [from, to) and how it is cut into points.
 */
export interface HistoryQueryRequest {
  /**
   * Default: 24 hours before `to`.
   */
  from?: string
  /**
   * Default: the end of the current minute.
   */
  to?: string
  /**
   * Default: auto, which looks at the length of the period alone.
   */
  bucket?: 'auto' | 'raw' | 'minute' | '5min' | '15min' | 'hour' | 'day'
  /**
   * An IANA time zone whose calendar days count; only with the buckets day and auto.
   */
  tz?: string
  /**
   * Lists buckets without measurements, with null values; not with raw.
   */
  fill?: 'null'
}
/**
 * Measurements that are stored in one transaction, all or nothing.
 */
export interface MeasurementBatchRequest {
  /**
   * @minItems 1
   * @maxItems 500
   */
  measurements: MeasurementRequest[]
}
/**
 * One temperature reading of one sensor.
 */
export interface MeasurementRequest {
  /**
   * The sender's name for a measurement: opaque, compared byte for byte, no lone surrogates. The
   * length counts Unicode code points.
   */
  event_id?: string
  /**
   * Letters, digits and : . _ - with at least one letter or digit.
   */
  sn: string
  /**
   * A temperature as it is submitted, in degrees Celsius.
   */
  temp: number
  /**
   * A moment in the RFC 3339 profile of ISO 8601: with Z or an offset, up to nine fraction digits,
   * cut to the millisecond; no leap second.
   */
  timestamp?: string
}
/**
 * What the owner of a sensor changes; at least one of the members.
 */
export interface SensorPatchRequest {
  /**
   * 1 to 128 characters after white space at both ends is removed; no lone surrogates.
   */
  alias?: string
  /**
   * Added to every raw temperature when it is read, in degrees Celsius.
   */
  compensation?: number
}
/**
 * Of which sensors histories are asked for; the other parameters are those of one history.
 */
export interface SeriesQueryRequest {
  /**
   * Ids of 1 to 50 sensors, separated by commas, in the order of the answer.
   */
  sensors: string
}
/**
 * What a phone brings back from the identity provider.
 */
export interface SignInRequest {
  /**
   * The authorization code, as the provider gave it.
   */
  code: string
  /**
   * The verifier (RFC 7636) whose challenge the authorization request had: 43 to 128 letters,
   * digits and - . _ ~
   */
  code_verifier: string
  /**
   * The one that the authorization request had, byte for byte.
   */
  redirect_uri: string
}
/**
 * What was decided about each element of a batch; all that is created is on disk.
 */
export interface BatchReceiptResponse {
  data: {
    created: number
    duplicates: number
    conflicts: number
    measurements: BatchReceiptItem[]
  }
}
export interface BatchReceiptItem {
  index: number
  event_id: string | null
  sensor_id: number
  /**
   * A moment in UTC, always with Z and three fraction digits.
   */
  timestamp: string
  /**
   * What was decided about a measurement.
   */
  status: 'created' | 'duplicate' | 'conflict'
  existing?: Existing
}
/**
 * What is stored under an event id that was sent again with other content.
 */
export interface Existing {
  /**
   * The sender's name for a measurement: opaque, compared byte for byte, no lone surrogates. The
   * length counts Unicode code points.
   */
  event_id: string
  /**
   * Letters, digits and : . _ - with at least one letter or digit.
   */
  sn: string
  sensor_id: number
  /**
   * A temperature as it is submitted, in degrees Celsius.
   */
  temp: number
  /**
   * A moment in UTC, always with Z and three fraction digits.
   */
  timestamp: string
}
/**
 * What an app has to know before anyone has signed in.
 */
export interface BootstrapResponse {
  data: {
    app: {
      name: string
      version: string
    }
    /**
     * Those that the operator has set.
     */
    links: {
      website?: string
      privacy?: string
      terms?: string
      support?: string
    }
    sign_in_providers: SignInProvider[]
    /**
     * Where the app is called back; null when there is no way to sign in.
     */
    callback_url: string | null
  }
}
export interface SignInProvider {
  /**
   * `{idp}` of the addresses.
   */
  id: string
  /**
   * For a person.
   */
  name: string
  issuer: string
  client_id: string
  /**
   * Null as long as the provider was not reached.
   */
  authorization_endpoint: string | null
  /**
   * What the authorization request has to name.
   */
  redirect_uri: string
  scopes: string[]
  code_challenge_methods: 'S256'[]
}
/**
 * The access token that made the request, and whose it is.
 */
export interface DaemonMeResponse {
  data: {
    token: AccessToken
    user: User
    store: Store
  }
}
export interface AccessToken {
  id: number
  name: string
  kind: 'daemon'
  scopes: ('measurements:write' | 'sensors:read' | 'sensors:write')[]
  /**
   * A moment in UTC, always with Z and three fraction digits.
   */
  created_at: string
  expires_at: string | null
  last_used_at: string | null
}
export interface User {
  id: number
  email: string
  /**
   * Falls back to the e-mail address.
   */
  name: string
}
/**
 * Which data the service has: the id is another one after a restore.
 */
export interface Store {
  id: string
  /**
   * All that was acknowledged before is there; null when nothing was restored.
   */
  restored_to: string | null
}
/**
 * All that an app shows first.
 */
export interface DashboardResponse {
  data: {
    user: User
    sensors_total: number
    sensors_online: number
    /**
     * By id.
     */
    sensors: Sensor[]
  }
}
export interface Sensor {
  id: number
  /**
   * Letters, digits and : . _ - with at least one letter or digit.
   */
  sn: string
  /**
   * Starts equal to sn.
   */
  alias: string
  /**
   * Added to every raw temperature when it is read, in degrees Celsius.
   */
  compensation: number
  online: boolean
  /**
   * When a new measurement of it was last received; null before the first.
   */
  last_seen_at: string | null
  /**
   * The measurement with the greatest timestamp.
   */
  latest: Reading | null
  /**
   * A moment in UTC, always with Z and three fraction digits.
   */
  created_at: string
}
export interface Reading {
  /**
   * A moment in UTC, always with Z and three fraction digits.
   */
  timestamp: string
  /**
   * With the sensor's compensation.
   */
  temp: number
  /**
   * As submitted.
   */
  raw: number
}
/**
 * The process answers.
 */
export interface HealthResponse {
  status: 'ok'
}
/**
 * The measurements of one sensor in [from, to), ascending.
 */
export interface HistoryResponse {
  data: {
    sensor: HistorySensor
    /**
     * A moment in UTC, always with Z and three fraction digits.
     */
    from: string
    /**
     * A moment in UTC, always with Z and three fraction digits.
     */
    to: string
    /**
     * The resolution of a history.
     */
    bucket: 'raw' | 'minute' | '5min' | '15min' | 'hour' | 'day'
    tz: string
    /**
     * False when acknowledged measurements of the period are not readable.
     */
    complete: boolean
    points: RawPoint[] | BucketPoint[]
  }
}
export interface HistorySensor {
  id: number
  /**
   * Letters, digits and : . _ - with at least one letter or digit.
   */
  sn: string
  alias: string
  /**
   * Added to every raw temperature when it is read, in degrees Celsius.
   */
  compensation: number
}
export interface RawPoint {
  /**
   * A moment in UTC, always with Z and three fraction digits.
   */
  timestamp: string
  temp: number
}
export interface BucketPoint {
  /**
   * A moment in UTC, always with Z and three fraction digits.
   */
  timestamp: string
  /**
   * The arithmetic mean.
   */
  temp: number | null
  min: number | null
  max: number | null
  count: number
}
/**
 * One event of a stream: what its lines of these names say.
 */
export interface LiveEvent {
  /**
   * For Last-Event-ID.
   */
  id: string
  event: 'sensor' | 'sensor_silent' | 'sensor_deleted' | 'reset'
  /**
   * The sensor; of a deleted one its id; nothing with a reset.
   */
  data: string
  [k: string]: unknown
}
/**
 * A measurement that is on disk.
 */
export interface MeasurementResponse {
  data: {
    event_id: string | null
    /**
     * Letters, digits and : . _ - with at least one letter or digit.
     */
    sn: string
    sensor_id: number
    /**
     * A temperature as it is submitted, in degrees Celsius.
     */
    temp: number
    /**
     * A moment in UTC, always with Z and three fraction digits.
     */
    timestamp: string
    /**
     * What was decided about a measurement.
     */
    status: 'created' | 'duplicate' | 'conflict'
  }
}
/**
 * What a code in a failure means, for a person.
 */
export interface ProblemExplanationResponse {
  code: string
  /**
   * Absent for codes that appear inside errors only.
   */
  status?: number
  title: string
  explanation: string
}
/**
 * A failure, as RFC 9457 has it.
 */
export interface ProblemResponse {
  type: string
  title: string
  status: number
  /**
   * Stable and documented.
   */
  code: string
  detail: string
  request_id: string
  /**
   * Every fault of the request.
   */
  errors?: Fault[]
  /**
   * The limit that was exceeded.
   */
  limit?: number
  /**
   * A moment in UTC, always with Z and three fraction digits.
   */
  server_time?: string
  existing?: Existing
  /**
   * The longest period that is allowed, an ISO 8601 duration.
   */
  max_period?: string
  /**
   * The resolution of a history.
   */
  suggested_bucket?: 'raw' | 'minute' | '5min' | '15min' | 'hour' | 'day'
  backlog?: Backlog
  /**
   * Whether the last write into the measurement store worked.
   */
  measurement_store?: 'ok' | 'failing'
}
export interface Fault {
  /**
   * A JSON pointer into the body, or the parameter's name after a slash.
   */
  pointer: string
  /**
   * A JSON Schema keyword or a code of our own.
   */
  code: string
  detail: string
  /**
   * Element of a batch.
   */
  index?: number
  /**
   * The sender's name for a measurement: opaque, compared byte for byte, no lone surrogates. The
   * length counts Unicode code points.
   */
  event_id?: string
}
/**
 * Acknowledged measurements that are not yet in the measurement store.
 */
export interface Backlog {
  entries: number
  bytes: number
  oldest_age_seconds: number
}
/**
 * Measurements are accepted; how far the measurement store is behind.
 */
export interface ReadinessResponse {
  status: 'ready'
  backlog: Backlog
  /**
   * Whether the last write into the measurement store worked.
   */
  measurement_store: 'ok' | 'failing'
}
/**
 * The sensors of the token's user, by id.
 */
export interface SensorListResponse {
  data: Sensor[]
}
export interface SensorResponse {
  data: Sensor
}
/**
 * The measurements of several sensors in [from, to), in the order asked for.
 */
export interface SeriesResponse {
  data: {
    /**
     * A moment in UTC, always with Z and three fraction digits.
     */
    from: string
    /**
     * A moment in UTC, always with Z and three fraction digits.
     */
    to: string
    /**
     * The resolution of a history.
     */
    bucket: 'raw' | 'minute' | '5min' | '15min' | 'hour' | 'day'
    tz: string
    series: SensorSeries[]
  }
}
export interface SensorSeries {
  sensor: HistorySensor
  /**
   * False when acknowledged measurements of the period are not readable.
   */
  complete: boolean
  points: RawPoint[] | BucketPoint[]
}
/**
 * A person has signed in.
 */
export interface SignInResponse {
  data: {
    /**
     * The mobile token; it is shown to nobody else.
     */
    token: string
    token_type: 'Bearer'
    /**
     * A moment in UTC, always with Z and three fraction digits.
     */
    expires_at: string
    user: User
  }
}
/**
 * Whose the token is.
 */
export interface UserResponse {
  data: User
}
