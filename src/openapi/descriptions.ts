// What the OpenAPI document says about each route beyond its row in the route tables: texts,
// responses and the route's own errors. The document adds the errors that come with a token, a body
// or a sensor in the path.

import type { ErrorCode } from '../domain/errors.ts'
import { CHART_PAGE, PUBLIC } from './public-descriptions.ts'
import type { RouteDescription } from './route-description.ts'

const HISTORY_TEXTS = ['text/csv', 'application/x-ndjson']
const CHANGING: readonly ErrorCode[] = ['storage_full', 'outcome_unknown']
const MAKING: readonly ErrorCode[] = ['insufficient_scope', 'sign_in_again']
const SUBMITTING: readonly ErrorCode[] = [
  'overloaded',
  'storage_full',
  'clock_unset',
  'outcome_unknown',
  'data_damaged',
  'unknown_sensor',
  'sensor_quota',
]
const RELAYED = {
  code: { description: 'The authorization code.', example: 'SplxlOBeZQQYbYS6WxSbIA' },
  state: { description: 'What the app sent to the provider.', example: 'af0ifjsldkj' },
  iss: { description: 'The provider’s issuer.', example: 'https://id.example.org' },
  error: { description: 'Why there is no code, for the app.', example: 'access_denied' },
  error_description: { description: 'The same for people.', example: 'The user said no.' },
}

const history: Omit<RouteDescription, 'id'> = {
  tag: 'Measurements',
  summary: 'The measurements of a sensor, raw or in buckets',
  description:
    'The period is `[from, to)`; buckets widen it to their edges. `temp` is the submitted value ' +
    'or the mean, with the compensation of the sensor added. `complete: false` means that ' +
    'some acknowledged measurements of the period are not readable yet: ask again. With ' +
    '`Accept: text/csv` or `application/x-ndjson` you get a line for each point.',
  answers: {
    200: {
      description: 'The points, ascending.',
      schema: 'history',
      texts: HISTORY_TEXTS,
      headers: ['ETag', 'Thermolog-Bucket', 'Thermolog-Complete'],
    },
  },
  codes: ['range_too_large', 'history_unavailable', 'data_damaged'],
}

const series: Omit<RouteDescription, 'id'> = {
  tag: 'Measurements',
  summary: 'The measurements of several sensors, raw or in buckets',
  description:
    'The same parameters as for one sensor apply to each. In CSV and NDJSON each line ' +
    'begins with `sensor_id` and `sn`. Sensors times buckets of the period may be at most ' +
    '200,000.',
  answers: {
    200: {
      description: 'The histories, in the requested order.',
      schema: 'series',
      texts: HISTORY_TEXTS,
      headers: ['ETag', 'Thermolog-Bucket', 'Thermolog-Complete'],
    },
  },
  codes: ['sensor_not_found', 'range_too_large', 'history_unavailable', 'data_damaged'],
}

const sensors: Omit<RouteDescription, 'id'> = {
  tag: 'Sensors',
  summary: 'The sensors of the token’s user, by id',
  description: 'All at once: up to 10,000, some 250 bytes each. Ask with `If-None-Match`.',
  answers: {
    200: { description: 'The sensors.', schema: 'sensor-list', headers: ['ETag'] },
  },
}

const sensor: Omit<RouteDescription, 'id'> = {
  tag: 'Sensors',
  summary: 'A sensor’s current state',
  description: 'The same as in the list.',
  answers: { 200: { description: 'The sensor.', schema: 'sensor' } },
}

const relay: Omit<RouteDescription, 'id'> = {
  tag: 'Sign-in',
  summary: 'Redirects a browser from the identity provider to the app',
  description: 'For identity providers that refuse the custom schemes of apps.',
  answers: {
    303: { description: 'Redirect to the app, with the OAuth parameters.', headers: ['Location'] },
  },
  codes: ['unknown_provider'],
  fields: RELAYED,
}

const DAEMON: Readonly<Record<string, RouteDescription>> = {
  'GET /api/v1/me': {
    id: 'showDaemonMe',
    tag: 'Account',
    summary: 'The daemon token of this request, and its user',
    description:
      'Shows what the token may do, and `store.id`, which changes after a restore: then resend ' +
      'everything newer than `restored_to`.',
    answers: { 200: { description: 'The token and its user.', schema: 'daemon-me' } },
  },
  'GET /api/v1/sensors': { id: 'listSensors', ...sensors },
  'POST /api/v1/measurements': {
    id: 'submitMeasurement',
    tag: 'Measurements',
    summary: 'Submits one measurement',
    description:
      'The response comes once it is on disk. With an `event_id` you can safely resend it: it is ' +
      'stored once. A new sensor is registered with its first measurement.',
    answers: {
      201: { description: 'Stored.', schema: 'measurement' },
      200: { description: 'Already stored: `duplicate`.', schema: 'measurement' },
    },
    codes: [...SUBMITTING, 'event_id_conflict'],
  },
  'POST /api/v1/measurements/batch': {
    id: 'submitBatch',
    tag: 'Measurements',
    summary: 'Submits 1 to 500 measurements, all or nothing by default',
    description:
      'The whole batch is validated before anything is stored, and stored in one transaction. An ' +
      'element whose status is `conflict` is not stored; the others are. With `on_invalid=skip` ' +
      'the valid elements are stored and every other one is returned as `rejected`.',
    answers: {
      201: { description: 'At least one was new and is stored.', schema: 'batch-receipt' },
      200: { description: 'None of them was new.', schema: 'batch-receipt' },
    },
    codes: [...SUBMITTING, 'batch_too_large'],
  },
  'GET /api/v1/measurements': { id: 'readSeries', ...series },
  'GET /api/v1/sensors/{id}/measurements': { id: 'readHistory', ...history },
  'GET /api/v1/sensors/{id}': { id: 'showSensor', ...sensor },
  'PATCH /api/v1/sensors/{id}': {
    id: 'changeSensor',
    tag: 'Sensors',
    summary: 'Changes the alias or the compensation of a sensor',
    description:
      'A compensation is added to every measurement on reading, old ones too. Send only what ' +
      'you change.',
    answers: { 200: { description: 'The sensor after the change.', schema: 'sensor' } },
    codes: CHANGING,
  },
  'DELETE /api/v1/sensors/{id}': {
    id: 'deleteSensor',
    tag: 'Sensors',
    summary: 'Deletes a sensor and its measurements',
    description:
      'Its history becomes unreadable at once; the measurements are deleted within minutes. A ' +
      'new measurement under its serial number registers a new sensor.',
    answers: { 204: { description: 'The sensor is deleted.' } },
    codes: CHANGING,
  },
}

const MOBILE: Readonly<Record<string, RouteDescription>> = {
  'GET /api/mobile/v1/bootstrap': {
    id: 'showBootstrap',
    tag: 'Sign-in',
    summary: 'What an app needs before sign-in',
    description:
      'Ask at each start of the app, with `If-None-Match`. If your version is older than ' +
      '`app.minimum_version`, ask for an update.',
    answers: {
      200: {
        description: 'The app and its identity providers.',
        schema: 'bootstrap',
        headers: ['ETag'],
      },
    },
    codes: ['validation_failed', 'shutting_down'],
  },
  'POST /api/mobile/v1/auth/{idp}': {
    id: 'signIn',
    tag: 'Sign-in',
    summary: 'Exchanges an authorization code for a mobile token',
    description:
      'You can send the same code, verifier and redirect URI again for two minutes, and get the ' +
      'same token.',
    answers: { 200: { description: 'The person has signed in.', schema: 'sign-in' } },
    codes: [
      'unknown_provider',
      'rate_limited',
      'invalid_grant',
      'sign_in_not_allowed',
      'provider_failed',
      'provider_timeout',
      'storage_full',
      'shutting_down',
    ],
  },
  'POST /api/mobile/v1/auth/link': {
    id: 'signInWithLink',
    tag: 'Sign-in',
    summary: 'Exchanges the code of a one-time link for a mobile token',
    description:
      'For people without an identity provider. The first use binds the code to its ' +
      '`code_verifier`; for two minutes the same two return the same token. The link of a first ' +
      'start creates the first user: 422 asks for `email`.',
    answers: { 200: { description: 'The person has signed in.', schema: 'sign-in' } },
    codes: ['rate_limited', 'invalid_grant', 'storage_full', 'shutting_down'],
  },
  'GET /api/mobile/v1/me': {
    id: 'showUser',
    tag: 'Account',
    summary: 'The user of the mobile token',
    description: '401 means that the person has to sign in again.',
    answers: { 200: { description: 'The user.', schema: 'user' } },
  },
  'POST /api/mobile/v1/me/deletion': {
    id: 'deleteAccount',
    tag: 'Account',
    summary: 'Deletes the account of the person who is signed in',
    description:
      'Deletes user, sensors, measurements and tokens. Later requests, repeats too, get 401. ' +
      '`sign_in_again`: the token is older than ten minutes. `insufficient_scope`: ' +
      'only the operator can do it.',
    answers: { 204: { description: 'The account is deleted.' } },
    codes: ['insufficient_scope', 'sign_in_again', ...CHANGING],
  },
  'POST /api/mobile/v1/logout': {
    id: 'logOut',
    tag: 'Sign-in',
    summary: 'Revokes the token of this request',
    description: 'Call it when a person signs out; if there is no network, later.',
    answers: { 204: { description: 'The token is revoked.' } },
    codes: CHANGING,
  },
  'GET /api/mobile/v1/sessions': {
    id: 'listSessions',
    tag: 'Sign-in',
    summary: 'Where the user is signed in',
    description: 'At most 100: beyond that, the least recently used one ends.',
    answers: { 200: { description: 'The sessions.', schema: 'session-list' } },
  },
  'DELETE /api/mobile/v1/sessions/{session}': {
    id: 'endSession',
    tag: 'Sign-in',
    summary: 'Ends a session of the user',
    description: 'Its token is revoked at once; its streams of events end within two seconds.',
    answers: { 204: { description: 'The session has ended.' } },
    codes: ['not_found', 'storage_full'],
  },
  'GET /api/mobile/v1/tokens': {
    id: 'listDaemonTokens',
    tag: 'Daemon tokens',
    summary: 'The user’s valid daemon tokens',
    description: 'Both those that the user made and those that an operator made for the user.',
    answers: { 200: { description: 'The tokens.', schema: 'daemon-token-list' } },
  },
  'POST /api/mobile/v1/tokens': {
    id: 'createDaemonToken',
    tag: 'Daemon tokens',
    summary: 'Makes a daemon token for a device of the user',
    description:
      'At most 100, which share the allowances of one token. `sign_in_again`: the session is ' +
      'older than a day. `insufficient_scope`: only the operator makes such a token.',
    answers: { 201: { description: 'The token, shown only once.', schema: 'new-daemon-token' } },
    codes: [...MAKING, ...CHANGING],
  },
  'POST /api/mobile/v1/tokens/{token}/rotation': {
    id: 'rotateDaemonToken',
    tag: 'Daemon tokens',
    summary: 'Replaces a daemon token with one like it',
    description:
      'The old one stays valid for `overlap_days`, so that you can change devices one by one. ' +
      '`insufficient_scope`: an operator made it.',
    answers: {
      201: { description: 'The new token, shown only once.', schema: 'new-daemon-token' },
    },
    codes: [...MAKING, 'not_found', ...CHANGING],
  },
  'DELETE /api/mobile/v1/tokens/{token}': {
    id: 'endDaemonToken',
    tag: 'Daemon tokens',
    summary: 'Ends a daemon token that the user made',
    description: 'From now on its requests get 401. `insufficient_scope`: an operator made it.',
    answers: { 204: { description: 'The token has ended.' } },
    codes: ['insufficient_scope', 'not_found', ...CHANGING],
  },
  'GET /api/mobile/v1/dashboard': {
    id: 'showDashboard',
    tag: 'Sensors',
    summary: 'Everything for the first page of an app',
    description:
      'Ask with `If-None-Match`, or follow `/changes` or `/events` instead of asking again.',
    answers: {
      200: { description: 'User and sensors.', schema: 'dashboard', headers: ['ETag'] },
    },
  },
  'GET /api/mobile/v1/sensors': { id: 'listSensorsOfPhone', ...sensors },
  'GET /api/mobile/v1/sensors/{id}': { id: 'showSensorOnPhone', ...sensor },
  'PATCH /api/mobile/v1/sensors/{id}': {
    id: 'changeSensorOnPhone',
    tag: 'Sensors',
    summary: 'Changes the alias or the compensation of a sensor',
    description: 'If the operator has set `MOBILE_EDITS=false`: 403 `insufficient_scope`.',
    answers: { 200: { description: 'The sensor after the change.', schema: 'sensor' } },
    codes: CHANGING,
  },
  'GET /api/mobile/v1/measurements': { id: 'readSeriesOnPhone', ...series },
  'GET /api/mobile/v1/sensors/{id}/measurements': { id: 'readHistoryOnPhone', ...history },
  'GET /api/mobile/v1/changes': {
    id: 'readChanges',
    tag: 'Sensors',
    summary: 'What has changed since you last asked',
    description:
      'For apps that keep sensors and histories, however long offline. Apply the ' +
      'response, keep its `cursor` and send it as `since` next time. `reset: true` (no cursor, ' +
      'an unknown one, one of another user, older than 30 days or from before a restore): ' +
      '`sensors` lists every sensor; forget everything else. A cursor survives restarts.',
    answers: { 200: { description: 'The changes.', schema: 'changes' } },
  },
  'GET /api/mobile/v1/events': {
    id: 'streamEvents',
    tag: 'Sensors',
    summary: 'Changes to the sensors, as server-sent events',
    description:
      'An endless response; comments keep it alive. `event: sensor` (registered, changed, ' +
      'a new latest value) and `event: sensor_silent` (offline now) have the sensor as ' +
      '`data`, as in the list, and `history_changed_from`: reload a chart from there. ' +
      '`event: sensor_deleted` has its `id`. `event: reset` means that ' +
      'you missed too much: load the dashboard again. A sensor has at most about one event a ' +
      'second.',
    answers: { 200: { description: 'The events.', texts: ['text/event-stream'] } },
    codes: ['overloaded'],
    isResumable: true,
  },
  'GET /auth/callback/{idp}': { id: 'relayQuery', ...relay },
  'POST /auth/callback/{idp}': { id: 'relayForm', ...relay },
}

/** By method and full path. */
export const DESCRIPTIONS: ReadonlyMap<string, RouteDescription> = new Map([
  ...Object.entries(DAEMON),
  ...Object.entries(MOBILE),
  ...Object.entries(PUBLIC),
  ...Object.entries(CHART_PAGE),
])
