// The messages of the API as types. Written by `npm run generate` from schemas/.

/**
 * The query parameters of a batch.
 */
export interface BatchQueryRequest {
  /**
   * skip: stores what is valid and reports every other element as rejected. Default: a batch with
   * an invalid element is refused whole.
   */
  on_invalid?: 'skip'
}
/**
 * From where on you want the changes.
 */
export interface ChangesQueryRequest {
  /**
   * The `cursor` of the last response; without it, or with one that is unknown, the response is a
   * reset.
   */
  since?: string
}
/**
 * The query parameters of a history: the period [from, to) and its resolution.
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
   * Default: auto, which depends on the length of the period alone.
   */
  bucket?: 'auto' | 'raw' | 'minute' | '5min' | '15min' | 'hour' | 'day'
  /**
   * An IANA time zone for local days; only with the buckets day and auto.
   */
  tz?: string
  /**
   * Includes buckets without measurements, with null values; not with raw.
   */
  fill?: 'null'
}
/**
 * The code of a sign-in link, and what binds it to this client.
 */
export interface LinkSignInRequest {
  /**
   * What follows `#/link/` in the link.
   */
  code: string
  /**
   * 43 to 128 random characters of the client's own: letters, digits and - . _ ~
   */
  code_verifier: string
  /**
   * Of the first user, for a link of the first start; ignored for others.
   */
  email?: string
  /**
   * Of the first user; default: the e-mail address.
   */
  name?: string
}
/**
 * Measurements to store in one transaction, all or nothing.
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
   * The sender's name for a measurement: opaque, compared byte for byte, no lone surrogates. Its
   * length is counted in Unicode code points.
   */
  event_id?: string
  /**
   * Letters, digits and : . _ - with at least one letter or digit.
   */
  sn: string
  /**
   * A submitted temperature, in degrees Celsius.
   */
  temp: number
  /**
   * A moment in the RFC 3339 profile of ISO 8601: with Z or an offset, up to nine fraction digits,
   * truncated to the millisecond; no leap seconds.
   */
  timestamp?: string
}
/**
 * Changes to a sensor; at least one member is required.
 */
export interface SensorPatchRequest {
  /**
   * 1 to 128 characters after leading and trailing white space is removed; no lone surrogates.
   */
  alias?: string
  /**
   * Added to every raw temperature on reading, in degrees Celsius.
   */
  compensation?: number
}
/**
 * The sensors whose histories you want; the other parameters are those of one history.
 */
export interface SeriesQueryRequest {
  /**
   * Ids of 1 to 50 sensors, separated by commas, in the order of the response.
   */
  sensors: string
}
/**
 * What an app receives from the identity provider.
 */
export interface SignInRequest {
  /**
   * The authorization code from the provider.
   */
  code: string
  /**
   * The verifier (RFC 7636) for the challenge in the authorization request: 43 to 128 letters,
   * digits and - . _ ~
   */
  code_verifier: string
  /**
   * The redirect URI of the authorization request, byte for byte.
   */
  redirect_uri: string
}
/**
 * The outcome of each element of a batch; what is created is on disk.
 */
export interface BatchReceiptResponse {
  data: {
    created: number
    duplicates: number
    conflicts: number
    /**
     * Elements that were skipped; only with on_invalid=skip.
     */
    rejected?: number
    measurements: BatchReceiptItem[]
  }
}
export interface BatchReceiptItem {
  index: number
  event_id: string | null
  sensor_id?: number
  /**
   * A moment in UTC, always with Z and three fraction digits.
   */
  timestamp?: string
  /**
   * The outcome for a measurement.
   */
  status: 'created' | 'duplicate' | 'conflict' | 'rejected'
  existing?: Existing
  /**
   * Why the element is rejected; a rejected one has no sensor_id and no timestamp.
   */
  errors?: Fault[]
}
/**
 * What is stored under an event id that was sent again with different content.
 */
export interface Existing {
  /**
   * The sender's name for a measurement: opaque, compared byte for byte, no lone surrogates. Its
   * length is counted in Unicode code points.
   */
  event_id: string
  /**
   * Letters, digits and : . _ - with at least one letter or digit.
   */
  sn: string
  sensor_id: number
  /**
   * A submitted temperature, in degrees Celsius.
   */
  temp: number
  /**
   * A moment in UTC, always with Z and three fraction digits.
   */
  timestamp: string
}
export interface Fault {
  /**
   * A JSON pointer into the body, or the parameter's name after a slash.
   */
  pointer: string
  /**
   * A JSON Schema keyword or a code of this API.
   */
  code: string
  detail: string
  /**
   * Index of the element in a batch.
   */
  index?: number
  /**
   * The sender's name for a measurement: opaque, compared byte for byte, no lone surrogates. Its
   * length is counted in Unicode code points.
   */
  event_id?: string
}
/**
 * What an app needs before sign-in.
 */
export interface BootstrapResponse {
  data: {
    app: {
      name: string
      /**
       * Of the service.
       */
      version: string
      /**
       * Of the app: an older one asks its user to update. Null: any will do.
       */
      minimum_version: string | null
    }
    /**
     * A sensor not heard from for so long is offline.
     */
    offline_after_seconds: number
    /**
     * The links that the operator has set.
     */
    links: {
      website?: string
      privacy?: string
      terms?: string
      support?: string
    }
    sign_in_providers: SignInProvider[]
    /**
     * Where the browser returns to the app; null if sign-in is not set up.
     */
    callback_url: string | null
  }
}
export interface SignInProvider {
  /**
   * The `{idp}` in paths.
   */
  id: string
  /**
   * Shown to people.
   */
  name: string
  issuer: string
  client_id: string
  /**
   * Null until the service has reached the provider.
   */
  authorization_endpoint: string | null
  /**
   * The redirect URI for the authorization request.
   */
  redirect_uri: string
  scopes: string[]
  code_challenge_methods: 'S256'[]
}
/**
 * What has changed since a cursor.
 */
export interface ChangesResponse {
  data: {
    /**
     * For the next request; opaque.
     */
    cursor: string
    /**
     * True: `sensors` are all there are; forget everything else, histories too.
     */
    reset: boolean
    /**
     * Registered, or different in anything shown, by id.
     */
    sensors: Sensor[]
    /**
     * Ids that are gone.
     */
    deleted: number[]
    /**
     * Histories that have changed.
     */
    histories: HistoryChange[]
  }
}
export interface Sensor {
  id: number
  /**
   * Letters, digits and : . _ - with at least one letter or digit.
   */
  sn: string
  /**
   * Initially equal to sn.
   */
  alias: string
  /**
   * Added to every raw temperature on reading, in degrees Celsius.
   */
  compensation: number
  online: boolean
  /**
   * When a new measurement was last received; null before the first.
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
export interface HistoryChange {
  sensor_id: number
  /**
   * Everything at or after it may differ from what you keep; null: all of it.
   */
  from: string | null
}
/**
 * The access token of the request, and its user.
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
   * Default: the e-mail address.
   */
  name: string
}
/**
 * The data that the service has; its id changes after a restore.
 */
export interface Store {
  id: string
  /**
   * Everything acknowledged before this moment is there; null if nothing was restored.
   */
  restored_to: string | null
}
/**
 * Everything for the first page of an app.
 */
export interface DashboardResponse {
  data: {
    user: User
    sensors_total: number
    sensors_online: number
    /**
     * Ordered by id.
     */
    sensors: Sensor[]
  }
}
/**
 * The process is alive.
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
     * False when some acknowledged measurements of the period are not readable yet.
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
   * Added to every raw temperature on reading, in degrees Celsius.
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
 * A failure as version 1 of InfluxDB’s API reports it.
 */
export interface InfluxFailureV1Response {
  /**
   * For people.
   */
  error: string
}
/**
 * A failure as version 2 of InfluxDB’s API reports it.
 */
export interface InfluxFailureResponse {
  code: string
  /**
   * For people; names up to 20 lines and why.
   */
  message: string
  /**
   * The first line that is not stored; the first line of a body is 1.
   */
  line?: number
  /**
   * Bytes a body may have.
   */
  maxLength?: number
}
/**
 * Whether writes are accepted, as InfluxDB reports it.
 */
export interface InfluxHealthResponse {
  name: string
  /**
   * For people.
   */
  message: string
  status: 'pass' | 'fail'
  /**
   * @maxItems 0
   */
  checks: unknown[]
  version: string
}
/**
 * The result of a statement, as version 1 of InfluxDB’s API gives it.
 */
export interface InfluxResultsResponse {
  results: {
    statement_id: number
    series?: {
      name: string
      columns: string[]
      values: string[][]
    }[]
  }[]
}
/**
 * The version of InfluxDB whose writes are understood.
 */
export interface InfluxVersionResponse {
  version: string
}
/**
 * One event of a stream, by its fields.
 */
export interface LiveEvent {
  /**
   * For Last-Event-ID.
   */
  id: string
  event: 'sensor' | 'sensor_silent' | 'sensor_deleted' | 'reset'
  /**
   * The sensor; for a deleted one its id; empty for a reset.
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
     * A submitted temperature, in degrees Celsius.
     */
    temp: number
    /**
     * A moment in UTC, always with Z and three fraction digits.
     */
    timestamp: string
    /**
     * The outcome for a measurement.
     */
    status: 'created' | 'duplicate' | 'conflict' | 'rejected'
  }
}
/**
 * What an error code means, for people.
 */
export interface ProblemExplanationResponse {
  code: string
  /**
   * Absent for codes that appear only inside errors.
   */
  status?: number
  title: string
  explanation: string
}
/**
 * An error (RFC 9457).
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
   * The longest allowed period, an ISO 8601 duration.
   */
  max_period?: string
  /**
   * The resolution of a history.
   */
  suggested_bucket?: 'raw' | 'minute' | '5min' | '15min' | 'hour' | 'day'
  backlog?: Backlog
  /**
   * Whether the last write into the measurement store succeeded.
   */
  measurement_store?: 'ok' | 'failing'
  database?: Database
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
 * The PostgreSQL that has the data, and the process that says so. Absent where `DATA_DIR` has them.
 */
export interface Database {
  /**
   * Which of the processes this is.
   */
  process: string
  /**
   * As `PostgreSQL 15.18`.
   */
  server: string
  /**
   * What the database is called.
   */
  name: string
  /**
   * Where everything acknowledged is on disk: `local`, on the primary, or `replicated`, on a
   * synchronous standby as well.
   */
  durability: 'local' | 'replicated'
  /**
   * What an operator should know.
   */
  warnings: string[]
}
/**
 * Measurements are accepted; the state of the backlog.
 */
export interface ReadinessResponse {
  status: 'ready'
  backlog: Backlog
  /**
   * Whether the last write into the measurement store succeeded.
   */
  measurement_store: 'ok' | 'failing'
  /**
   * Stored data that something needed and that are damaged: requests that need them are answered
   * 503 `data_damaged`, all others go on. Absent while nothing was found.
   */
  damaged?: {
    /**
     * @minItems 1
     * @maxItems 10
     */
    problems: string[]
    remedy: string
  }
  database?: Database
}
/**
 * The sensors of the token's user, ordered by id.
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
 * Where the user is signed in, newest first.
 */
export interface SessionListResponse {
  data: Session[]
}
export interface Session {
  id: number
  /**
   * `X-App-Name` or `User-Agent` of the sign-in, shortened; may be empty.
   */
  name: string
  /**
   * A moment in UTC, always with Z and three fraction digits.
   */
  created_at: string
  /**
   * Null before the first use.
   */
  last_used_at: string | null
  /**
   * At the latest; unused, it expires sooner.
   */
  expires_at: string | null
  /**
   * Whether it is that of this request.
   */
  current: boolean
}
/**
 * A person has signed in.
 */
export interface SignInResponse {
  data: {
    /**
     * The mobile token; it is shown only here.
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
 * The user of the token.
 */
export interface UserResponse {
  data: User
}
