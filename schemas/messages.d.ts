// The messages of the API as types. Written by `npm run generate` from schemas/.

/**
 * The account to delete, as its owner writes it.
 */
export interface AccountDeletion {
  /**
   * The address of the user of the token; case does not matter.
   */
  email: string
}
/**
 * The query parameters of a batch.
 */
export interface BatchQueryRequest {
  /**
   * skip: stores valid elements and reports all others as rejected. Default: a batch with an
   * invalid element is refused whole.
   */
  on_invalid?: 'skip'
}
/**
 * The cursor from which you want the changes.
 */
export interface ChangesQueryRequest {
  /**
   * The `cursor` of the last response; without it, or if it is unknown, the response is a reset.
   */
  since?: string
}
/**
 * How a daemon token is replaced.
 */
export interface DaemonTokenRotation {
  /**
   * How long the old token stays valid; default: 7. 0 ends it at once.
   */
  overlap_days?: number
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
 * The code of a sign-in link, and a verifier that binds it to this client.
 */
export interface LinkGrant {
  /**
   * The part after `#/link/` in the link.
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
export interface MeasurementBatch {
  /**
   * In any order; each may be of another sensor.
   *
   * @minItems 1
   * @maxItems 500
   */
  measurements: Measurement[]
}
/**
 * One temperature reading of one sensor.
 */
export interface Measurement {
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
   * A time in the RFC 3339 profile of ISO 8601: with Z or an offset, up to nine fraction digits,
   * truncated to the millisecond; no leap seconds.
   */
  timestamp?: string
}
/**
 * A daemon token to make.
 */
export interface NewDaemonToken {
  /**
   * 1 to 128 characters after trimming, at least one visible, without controls or lone surrogates.
   */
  name: string
  /**
   * What it may do; default: everything.
   *
   * @minItems 1
   * @maxItems 3
   *
   * Items: What a token may do.
   */
  scopes?: ('measurements:write' | 'sensors:read' | 'sensors:write')[]
  /**
   * At most 32 letters, digits and : . _ - that precede every serial number of line protocol.
   */
  sn_prefix?: string
  /**
   * How long it is valid; default: permanently.
   */
  expires_in_days?: number
}
/**
 * Changes to a sensor; at least one member is required.
 */
export interface SensorPatch {
  /**
   * 1 to 128 characters after trimming, at least one visible, without controls or lone surrogates.
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
export interface AuthorizationGrant {
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
 * The outcome of each element of a batch; created ones are on disk.
 */
export interface BatchReceiptResponse {
  data: BatchReceipt
}
/**
 * The outcome of each element of a batch; created ones are on disk.
 */
export interface BatchReceipt {
  /**
   * New elements, which are stored.
   */
  created: number
  /**
   * Elements already stored.
   */
  duplicates: number
  /**
   * Elements whose event_id is stored with different content; not stored.
   */
  conflicts: number
  /**
   * Elements that were skipped; only with on_invalid=skip.
   */
  rejected?: number
  /**
   * Every element, in the order sent.
   */
  measurements: BatchReceiptItem[]
}
/**
 * The outcome of one element.
 */
export interface BatchReceiptItem {
  /**
   * Its index in the batch, from 0.
   */
  index: number
  /**
   * As sent; null without one.
   */
  event_id: string | null
  /**
   * The service’s own id; never reused.
   */
  sensor_id?: number
  /**
   * A UTC time, always with Z and three fraction digits.
   */
  timestamp?: string
  /**
   * The outcome for a measurement.
   */
  status: 'created' | 'duplicate' | 'conflict' | 'rejected'
  existing?: StoredMeasurement
  /**
   * Why the element is rejected; a rejected one has neither sensor_id nor timestamp.
   */
  errors?: ProblemFault[]
}
/**
 * The measurement stored under an event id that was sent again with different content.
 */
export interface StoredMeasurement {
  /**
   * The sender's name for a measurement: opaque, compared byte for byte, no lone surrogates. Its
   * length is counted in Unicode code points.
   */
  event_id: string
  /**
   * Letters, digits and : . _ - with at least one letter or digit.
   */
  sn: string
  /**
   * The service’s own id; never reused.
   */
  sensor_id: number
  /**
   * A submitted temperature, in degrees Celsius.
   */
  temp: number
  /**
   * A UTC time, always with Z and three fraction digits.
   */
  timestamp: string
}
/**
 * One fault of the request.
 */
export interface ProblemFault {
  /**
   * A JSON pointer into the body, or the parameter's name after a slash.
   */
  pointer: string
  /**
   * A JSON Schema keyword or a code of this API.
   */
  code: string
  /**
   * For developers.
   */
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
  data: Bootstrap
}
/**
 * What an app needs before sign-in.
 */
export interface Bootstrap {
  app: AppInfo
  /**
   * A sensor not heard from for this long is offline.
   */
  offline_after_seconds: number
  /**
   * Whether people who signed up may delete their account.
   */
  account_deletion: boolean
  /**
   * Whether people make their own daemon tokens.
   */
  daemon_tokens: boolean
  links: AppLinks
  /**
   * In the order in which to offer them.
   */
  sign_in_providers: SignInProvider[]
  /**
   * Where the browser returns to the app; null if sign-in is not set up.
   */
  callback_url: string | null
}
/**
 * The app, as the operator has set it up.
 */
export interface AppInfo {
  /**
   * What to call the service.
   */
  name: string
  /**
   * Of the service.
   */
  version: string
  /**
   * Of the app: an older one asks its user to update. Null: any version will do.
   */
  minimum_version: string | null
}
/**
 * The links that the operator has set.
 */
export interface AppLinks {
  /**
   * About the service.
   */
  website?: string
  /**
   * Privacy notice.
   */
  privacy?: string
  /**
   * Terms of use.
   */
  terms?: string
  /**
   * Where people get help.
   */
  support?: string
}
/**
 * An identity provider, with what an authorization request to it needs.
 */
export interface SignInProvider {
  /**
   * The `{idp}` in paths.
   */
  id: string
  /**
   * Shown to people.
   */
  name: string
  /**
   * Its OpenID issuer.
   */
  issuer: string
  /**
   * The app’s name at the provider.
   */
  client_id: string
  /**
   * Null until the service has reached the provider.
   */
  authorization_endpoint: string | null
  /**
   * The redirect URI for the authorization request.
   */
  redirect_uri: string
  /**
   * For the authorization request.
   */
  scopes: string[]
  /**
   * The only accepted method.
   */
  code_challenge_methods: 'S256'[]
}
/**
 * What has changed since a cursor.
 */
export interface ChangesResponse {
  data: SensorChanges
}
/**
 * What has changed since a cursor.
 */
export interface SensorChanges {
  /**
   * For the next request; opaque.
   */
  cursor: string
  /**
   * True: `sensors` lists every sensor; forget everything else, histories too.
   */
  reset: boolean
  /**
   * New or changed sensors, by id.
   */
  sensors: Sensor[]
  /**
   * Ids of deleted sensors.
   *
   * Items: The service’s own id; never reused.
   */
  deleted: number[]
  /**
   * Histories that have changed.
   */
  histories: HistoryChange[]
}
/**
 * A sensor and its newest measurement.
 */
export interface Sensor {
  /**
   * The service’s own id; never reused.
   */
  id: number
  /**
   * Letters, digits and : . _ - with at least one letter or digit.
   */
  sn: string
  /**
   * Initially equal to sn; with line protocol, the name in its first point.
   */
  alias: string
  /**
   * Added to every raw temperature on reading, in degrees Celsius.
   */
  compensation: number
  /**
   * Whether it was heard from within `offline_after_seconds`.
   */
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
   * A UTC time, always with Z and three fraction digits.
   */
  created_at: string
}
/**
 * A measurement, compensated and as submitted, in degrees Celsius.
 */
export interface Reading {
  /**
   * A UTC time, always with Z and three fraction digits.
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
 * A history that has changed since the cursor.
 */
export interface HistoryChange {
  /**
   * The service’s own id; never reused.
   */
  sensor_id: number
  /**
   * Everything from this time on may differ from what you keep; null: everything.
   */
  from: string | null
}
/**
 * The access token of the request, and its user.
 */
export interface DaemonMeResponse {
  data: DaemonMe
}
/**
 * The daemon token of the request, its user, and the data it writes to.
 */
export interface DaemonMe {
  token: AccessToken
  user: User
  store: Store
}
/**
 * A daemon token, without its secret.
 */
export interface AccessToken {
  /**
   * The service’s own id; never reused.
   */
  id: number
  /**
   * The operator's name for it.
   */
  name: string
  /**
   * Always a daemon token.
   */
  kind: 'daemon'
  /**
   * What it may do.
   *
   * Items: What a token may do.
   */
  scopes: ('measurements:write' | 'sensors:read' | 'sensors:write')[]
  /**
   * A UTC time, always with Z and three fraction digits.
   */
  created_at: string
  /**
   * Null: never.
   */
  expires_at: string | null
  /**
   * Accurate to a minute; null before the first use.
   */
  last_used_at: string | null
}
/**
 * A person who owns sensors.
 */
export interface User {
  /**
   * The service’s own id; never reused.
   */
  id: number
  /**
   * Identifies the user to the operator.
   */
  email: string
  /**
   * Default: the e-mail address.
   */
  name: string
}
/**
 * The service's data; their id changes after a restore.
 */
export interface Store {
  /**
   * Opaque.
   */
  id: string
  /**
   * Everything acknowledged before this time is stored; null if nothing was restored.
   */
  restored_to: string | null
}
/**
 * The user's valid daemon tokens, by id.
 */
export interface DaemonTokenListResponse {
  /**
   * By id.
   */
  data: DaemonToken[]
}
/**
 * A daemon token of the user, without its secret.
 */
export interface DaemonToken {
  /**
   * The service’s own id; never reused.
   */
  id: number
  /**
   * Its maker's name for it.
   */
  name: string
  /**
   * What it may do.
   *
   * Items: What a token may do.
   */
  scopes: ('measurements:write' | 'sensors:read' | 'sensors:write')[]
  /**
   * Precedes every serial number in line protocol; may be empty.
   */
  sn_prefix: string
  /**
   * A UTC time, always with Z and three fraction digits.
   */
  created_at: string
  /**
   * Null: never.
   */
  expires_at: string | null
  /**
   * Accurate to a minute; null before the first use.
   */
  last_used_at: string | null
  /**
   * `owner`: its user can rotate and end it; `operator`: only an operator can.
   */
  made_by: string
  /**
   * The session in which its owner made it; may have ended. Null: an operator made it.
   */
  session_id: number | null
}
/**
 * Everything for the first page of an app.
 */
export interface DashboardResponse {
  data: Dashboard
}
/**
 * Everything for the first page of an app.
 */
export interface Dashboard {
  user: User
  /**
   * The user's number of sensors.
   */
  sensors_total: number
  /**
   * The number that are online.
   */
  sensors_online: number
  /**
   * Ordered by id.
   */
  sensors: Sensor[]
}
/**
 * The process is alive.
 */
export interface HealthResponse {
  /**
   * The process runs.
   */
  status: 'ok'
}
/**
 * The measurements of one sensor in [from, to), ascending.
 */
export interface HistoryResponse {
  data: History
}
/**
 * The measurements of a sensor in [from, to).
 */
export interface History {
  sensor: HistorySensor
  /**
   * A UTC time, always with Z and three fraction digits.
   */
  from: string
  /**
   * A UTC time, always with Z and three fraction digits.
   */
  to: string
  /**
   * The resolution of a history; responses name the one used, never auto.
   */
  bucket: 'auto' | 'raw' | 'minute' | '5min' | '15min' | 'hour' | 'day'
  /**
   * The time zone whose days were used.
   */
  tz: string
  /**
   * False if some acknowledged measurements of the period are not readable yet.
   */
  complete: boolean
  /**
   * Ascending.
   */
  points: HistoryPoint[]
}
/**
 * The sensor, and the compensation that was added.
 */
export interface HistorySensor {
  /**
   * The service’s own id; never reused.
   */
  id: number
  /**
   * Letters, digits and : . _ - with at least one letter or digit.
   */
  sn: string
  /**
   * Its current name.
   */
  alias: string
  /**
   * Added to every raw temperature on reading, in degrees Celsius.
   */
  compensation: number
}
/**
 * A measurement, or a bucket, which also has min, max and count.
 */
export interface HistoryPoint {
  /**
   * A UTC time, always with Z and three fraction digits.
   */
  timestamp: string
  /**
   * The compensated measurement, or the arithmetic mean of a bucket; null for a bucket without
   * measurements, with fill=null.
   */
  temp: number | null
  /**
   * The bucket's minimum; null if it is empty.
   */
  min?: number | null
  /**
   * The bucket's maximum; null if it is empty.
   */
  max?: number | null
  /**
   * Measurements in the bucket.
   */
  count?: number
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
  /**
   * InfluxDB's name for the kind of failure.
   */
  code: string
  /**
   * For people; names up to 20 lines and why.
   */
  message: string
  /**
   * The first line that was not stored, counted from 1.
   */
  line?: number
  /**
   * The most bytes a body may have.
   */
  maxLength?: number
}
/**
 * Whether writes are accepted, as InfluxDB reports it.
 */
export interface InfluxHealthResponse {
  /**
   * The service's name.
   */
  name: string
  /**
   * For people.
   */
  message: string
  /**
   * Whether writes are accepted.
   */
  status: 'pass' | 'fail'
  /**
   * Always empty.
   *
   * @maxItems 0
   */
  checks: unknown[]
  /**
   * The version of InfluxDB whose API this is.
   */
  version: string
}
/**
 * The results of statements, as version 1 of InfluxDB’s API reports it.
 */
export interface InfluxResultsResponse {
  /**
   * One per statement.
   */
  results: InfluxResult[]
}
/**
 * The result of one statement.
 */
export interface InfluxResult {
  /**
   * Its index, from 0.
   */
  statement_id: number
  /**
   * Absent if empty.
   */
  series?: InfluxSeries[]
  /**
   * Warnings.
   */
  messages?: InfluxMessage[]
}
/**
 * Rows with the same columns.
 */
export interface InfluxSeries {
  /**
   * The name of the series.
   */
  name: string
  /**
   * The tags by which the rows are grouped.
   */
  tags?: {
    [k: string]: string
  }
  /**
   * Names of the columns.
   */
  columns: string[]
  /**
   * Rows. Times are in the unit of `epoch`, else RFC 3339.
   */
  values: (string | number | boolean | null)[][]
}
/**
 * A warning.
 */
export interface InfluxMessage {
  /**
   * Its severity.
   */
  level: 'warning'
  /**
   * For people.
   */
  text: string
}
/**
 * The version of InfluxDB whose writes are accepted.
 */
export interface InfluxVersionResponse {
  /**
   * The version of InfluxDB whose API this is.
   */
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
  /**
   * `sensor`, `sensor_silent`, `sensor_deleted` or `reset`; ignore others.
   */
  event: string
  /**
   * JSON: a SensorEvent for `sensor` and `sensor_silent`, a SensorDeletedEvent for
   * `sensor_deleted`, `{}` for `reset`.
   */
  data: string
  [k: string]: unknown
}
/**
 * A measurement that is on disk.
 */
export interface MeasurementResponse {
  data: AcceptedMeasurement
}
/**
 * A measurement that is on disk.
 */
export interface AcceptedMeasurement {
  /**
   * As sent; null without one.
   */
  event_id: string | null
  /**
   * Letters, digits and : . _ - with at least one letter or digit.
   */
  sn: string
  /**
   * The service’s own id; never reused.
   */
  sensor_id: number
  /**
   * A submitted temperature, in degrees Celsius.
   */
  temp: number
  /**
   * A UTC time, always with Z and three fraction digits.
   */
  timestamp: string
  /**
   * The outcome for a measurement.
   */
  status: 'created' | 'duplicate' | 'conflict' | 'rejected'
}
/**
 * A daemon token that has just been made.
 */
export interface NewDaemonTokenResponse {
  data: MadeDaemonToken
}
/**
 * A daemon token with its secret.
 */
export interface MadeDaemonToken {
  /**
   * The service’s own id; never reused.
   */
  id: number
  /**
   * The token itself, shown only in this response.
   */
  token: string
  /**
   * Its maker's name for it.
   */
  name: string
  /**
   * What it may do.
   *
   * Items: What a token may do.
   */
  scopes: ('measurements:write' | 'sensors:read' | 'sensors:write')[]
  /**
   * Precedes every serial number in line protocol; may be empty.
   */
  sn_prefix: string
  /**
   * A UTC time, always with Z and three fraction digits.
   */
  created_at: string
  /**
   * Null: never.
   */
  expires_at: string | null
  /**
   * Accurate to a minute; null before the first use.
   */
  last_used_at: string | null
  /**
   * `owner`: its user can rotate and end it; `operator`: only an operator can.
   */
  made_by: string
  /**
   * The session in which its owner made it; may have ended. Null: an operator made it.
   */
  session_id: number | null
}
/**
 * What an error code means, for people.
 */
export interface ProblemExplanation {
  /**
   * The code of the problem.
   */
  code: string
  /**
   * Absent for codes that appear only inside errors.
   */
  status?: number
  /**
   * In a few words.
   */
  title: string
  /**
   * What it means and what to do.
   */
  explanation: string
}
/**
 * An error (RFC 9457).
 */
export interface Problem {
  /**
   * Where the code is explained.
   */
  type: string
  /**
   * The code in a few English words, for developers.
   */
  title: string
  /**
   * The HTTP status.
   */
  status: number
  /**
   * For programs: stable, documented at /problems; more may come.
   */
  code: string
  /**
   * This case, in English, for developers.
   */
  detail: string
  /**
   * The request's id in the operator’s log.
   */
  request_id: string
  /**
   * Every fault of the request.
   */
  errors?: ProblemFault[]
  /**
   * The limit that was exceeded.
   */
  limit?: number
  /**
   * A UTC time, always with Z and three fraction digits.
   */
  server_time?: string
  existing?: StoredMeasurement
  /**
   * The longest allowed period, an ISO 8601 duration.
   */
  max_period?: string
  /**
   * The resolution of a history; responses name the one used, never auto.
   */
  suggested_bucket?: 'auto' | 'raw' | 'minute' | '5min' | '15min' | 'hour' | 'day'
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
  /**
   * Measurements.
   */
  entries: number
  /**
   * Their size on disk.
   */
  bytes: number
  /**
   * How long the oldest has waited.
   */
  oldest_age_seconds: number
}
/**
 * The PostgreSQL that has the data, and the responding process. Absent if `DATA_DIR` has them.
 */
export interface Database {
  /**
   * The process that responds.
   */
  process: string
  /**
   * Such as `PostgreSQL 15.18`.
   */
  server: string
  /**
   * The database's name.
   */
  name: string
  /**
   * Where acknowledged data are on disk: `local`, on the primary, or `replicated`, also on a
   * synchronous standby.
   */
  durability: 'local' | 'replicated'
  /**
   * Warnings for an operator.
   */
  warnings: string[]
}
/**
 * Measurements are accepted; the state of the backlog.
 */
export interface ReadinessResponse {
  /**
   * Measurements are accepted.
   */
  status: 'ready'
  backlog: Backlog
  /**
   * Whether the last write into the measurement store succeeded.
   */
  measurement_store: 'ok' | 'failing'
  damaged?: DamagedData
  /**
   * Warnings for an operator, one sentence each. Absent if empty.
   *
   * @minItems 1
   * @maxItems 10
   */
  warnings?: string[]
  database?: Database
}
/**
 * Damaged data that were found on reading: requests that need them get 503 `data_damaged`, all
 * others work. Absent if there are none.
 */
export interface DamagedData {
  /**
   * What is damaged, and where.
   *
   * @minItems 1
   * @maxItems 10
   */
  problems: string[]
  /**
   * What the operator can do.
   */
  remedy: string
}
/**
 * The sensors of the token's user, ordered by id.
 */
export interface SensorListResponse {
  /**
   * By id.
   */
  data: Sensor[]
}
/**
 * A sensor.
 */
export interface SensorResponse {
  data: Sensor
}
/**
 * The measurements of several sensors in [from, to), in the requested order.
 */
export interface SeriesResponse {
  data: SensorHistories
}
/**
 * The measurements of several sensors in [from, to), in the requested order.
 */
export interface SensorHistories {
  /**
   * A UTC time, always with Z and three fraction digits.
   */
  from: string
  /**
   * A UTC time, always with Z and three fraction digits.
   */
  to: string
  /**
   * The resolution of a history; responses name the one used, never auto.
   */
  bucket: 'auto' | 'raw' | 'minute' | '5min' | '15min' | 'hour' | 'day'
  /**
   * The time zone whose days were used.
   */
  tz: string
  /**
   * One per sensor.
   */
  series: SensorHistory[]
}
/**
 * One of the histories.
 */
export interface SensorHistory {
  sensor: HistorySensor
  /**
   * False if acknowledged measurements of the period are not readable.
   */
  complete: boolean
  /**
   * Ascending.
   */
  points: HistoryPoint[]
}
/**
 * Where the user is signed in, newest first.
 */
export interface SessionListResponse {
  /**
   * Newest first.
   */
  data: Session[]
}
/**
 * A device or program where the user is signed in.
 */
export interface Session {
  /**
   * The service’s own id; never reused.
   */
  id: number
  /**
   * `X-App-Name` or `User-Agent` of the sign-in, shortened; may be empty.
   */
  name: string
  /**
   * A UTC time, always with Z and three fraction digits.
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
   * Whether it is this request's session.
   */
  current: boolean
}
/**
 * A person has signed in.
 */
export interface SignedInResponse {
  data: SignedIn
}
/**
 * A person has signed in.
 */
export interface SignedIn {
  /**
   * The mobile token; it is shown only here.
   */
  token: string
  /**
   * How to send the token: Authorization: Bearer.
   */
  token_type: 'Bearer'
  /**
   * A UTC time, always with Z and three fraction digits.
   */
  expires_at: string
  user: User
}
/**
 * The user of the token.
 */
export interface UserResponse {
  data: User
}
