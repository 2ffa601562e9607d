// One example of each message, in the order of a sensor's life: submitted, listed, charted. A test
// checks each against its schema.

import type {
  AccountDeletion,
  BatchReceiptResponse,
  BootstrapResponse,
  ChangesResponse,
  DaemonMeResponse,
  DaemonToken,
  DaemonTokenListResponse,
  DaemonTokenRotation,
  DashboardResponse,
  HealthResponse,
  HistoryResponse,
  InfluxFailureResponse,
  InfluxFailureV1Response,
  InfluxHealthResponse,
  InfluxResultsResponse,
  InfluxVersionResponse,
  LinkGrant,
  MeasurementBatch,
  Measurement,
  MeasurementResponse,
  NewDaemonToken,
  NewDaemonTokenResponse,
  ProblemExplanation,
  ReadinessResponse,
  Sensor,
  SessionListResponse,
  SensorListResponse,
  SensorPatch,
  SensorResponse,
  AuthorizationGrant,
  SeriesResponse,
  SignedInResponse,
  UserResponse,
} from '../../schemas/messages.d.ts'

const user: UserResponse['data'] = { id: 3, email: 'ada@example.org', name: 'Ada' }

const submitted: Measurement = {
  event_id: '0192f3c1-7a44-7cc0-9d5e-0b1d6e1c7a55',
  sn: '28FF641E93160434',
  temp: 11.75,
  timestamp: '2026-11-20T10:15:00Z',
}

const batch: MeasurementBatch = {
  measurements: [
    submitted,
    { event_id: '0192f3c1-7a45-7b1e-8c11-5d0f2a9b4e66', sn: '28FF641E93160435', temp: 21.4 },
  ],
}

const accepted: MeasurementResponse = {
  data: {
    event_id: '0192f3c1-7a44-7cc0-9d5e-0b1d6e1c7a55',
    sn: '28FF641E93160434',
    sensor_id: 7,
    temp: 11.75,
    timestamp: '2026-11-20T10:15:00.000Z',
    status: 'created',
  },
}

const batchReceipt: BatchReceiptResponse = {
  data: {
    created: 1,
    duplicates: 1,
    conflicts: 0,
    measurements: [
      {
        index: 0,
        event_id: '0192f3c1-7a44-7cc0-9d5e-0b1d6e1c7a55',
        sensor_id: 7,
        timestamp: '2026-11-20T10:15:00.000Z',
        status: 'duplicate',
      },
      {
        index: 1,
        event_id: '0192f3c1-7a45-7b1e-8c11-5d0f2a9b4e66',
        sensor_id: 8,
        timestamp: '2026-11-20T10:15:02.113Z',
        status: 'created',
      },
    ],
  },
}

const sensor: Sensor = {
  id: 7,
  sn: '28FF641E93160434',
  alias: 'Cellar',
  compensation: -0.4,
  online: true,
  last_seen_at: '2026-11-20T10:15:02.113Z',
  latest: { timestamp: '2026-11-20T10:15:00.000Z', temp: 11.35, raw: 11.75 },
  created_at: '2026-11-01T08:00:00.000Z',
}

const history: HistoryResponse = {
  data: {
    sensor: { id: 7, sn: '28FF641E93160434', alias: 'Cellar', compensation: -0.4 },
    from: '2026-11-20T09:00:00.000Z',
    to: '2026-11-20T11:00:00.000Z',
    bucket: 'hour',
    tz: 'UTC',
    complete: true,
    points: [
      { timestamp: '2026-11-20T09:00:00.000Z', temp: 11.2, min: 11.1, max: 11.3, count: 60 },
      { timestamp: '2026-11-20T10:00:00.000Z', temp: 11.35, min: 11.3, max: 11.4, count: 16 },
    ],
  },
}

const series: SeriesResponse = {
  data: {
    from: '2026-11-20T09:00:00.000Z',
    to: '2026-11-20T11:00:00.000Z',
    bucket: 'hour',
    tz: 'UTC',
    series: [
      { sensor: history.data.sensor, complete: true, points: history.data.points.slice(1) },
      {
        sensor: { id: 9, sn: '28FF641E93160435', alias: 'Attic', compensation: 0 },
        complete: true,
        points: [],
      },
    ],
  },
}

const daemonMe: DaemonMeResponse = {
  data: {
    token: {
      id: 12,
      name: 'gateway-1',
      kind: 'daemon',
      scopes: ['measurements:write', 'sensors:read', 'sensors:write'],
      created_at: '2026-11-01T08:00:00.000Z',
      expires_at: null,
      last_used_at: '2026-11-20T10:15:02.113Z',
    },
    user,
    store: { id: '5a1bd1a4f0c84c0f9f3e6a4a2f7c9d10', restored_to: null },
  },
}

const bootstrap: BootstrapResponse = {
  data: {
    app: { name: 'Thermolog', version: '0.1.0', minimum_version: null },
    account_deletion: false,
    daemon_tokens: true,
    offline_after_seconds: 900,
    links: { privacy: 'https://example.org/privacy' },
    sign_in_providers: [
      {
        id: 'acme',
        name: 'Acme',
        issuer: 'https://id.example.org',
        client_id: 'thermolog-app',
        authorization_endpoint: 'https://id.example.org/authorize',
        redirect_uri: 'org.example.thermolog:/callback',
        scopes: ['openid', 'email', 'profile'],
        code_challenge_methods: ['S256'],
      },
    ],
    callback_url: 'org.example.thermolog:/callback',
  },
}

const dashboard: DashboardResponse = {
  data: { user, sensors_total: 1, sensors_online: 1, sensors: [sensor] },
}

const changes: ChangesResponse = {
  data: {
    cursor: '9f2c61d07be84a51b3c0d4e8a6f71529.4118.1795178500000.k3vXw0yq1x2S9a8BdT5fLQ',
    reset: false,
    sensors: [sensor],
    deleted: [9],
    histories: [{ sensor_id: 7, from: '2026-11-19T08:00:00.000Z' }],
  },
}

const grant: AuthorizationGrant = {
  code: 'SplxlOBeZQQYbYS6WxSbIA',
  code_verifier: 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk',
  redirect_uri: 'org.example.thermolog:/callback',
}

const linkUse: LinkGrant = {
  code: 'xqSW8CklzJbWvZH3Yk7bX0s2dQe1n9uTfRgAoVmLhPc',
  code_verifier: grant.code_verifier,
}

const signedIn: SignedInResponse = {
  data: {
    token: 'thm_live_'.padEnd(52, 'x'),
    token_type: 'Bearer',
    expires_at: '2027-11-20T10:15:02.113Z',
    user,
  },
}

const sessionList: SessionListResponse = {
  data: [
    {
      id: 12,
      name: 'Cellar 2.1 (Pixel 9)',
      created_at: '2026-11-01T08:00:00.000Z',
      last_used_at: '2026-11-20T10:15:02.113Z',
      expires_at: '2027-11-01T08:00:00.000Z',
      current: true,
    },
  ],
}

const daemonToken: DaemonToken = {
  id: 13,
  name: 'gateway-1',
  scopes: ['measurements:write', 'sensors:read', 'sensors:write'],
  sn_prefix: '',
  created_at: '2026-11-01T08:00:00.000Z',
  expires_at: null,
  last_used_at: '2026-11-20T10:15:02.113Z',
  made_by: 'owner',
  session_id: 12,
}
const newDaemonToken: NewDaemonToken = { name: 'gateway-1' }
const rotation: DaemonTokenRotation = { overlap_days: 7 }
const daemonTokenList: DaemonTokenListResponse = { data: [daemonToken] }
const madeDaemonToken: NewDaemonTokenResponse = {
  data: { ...daemonToken, token: 'thd_live_'.padEnd(52, 'x'), last_used_at: null },
}

const patch: SensorPatch = { alias: 'Cellar', compensation: -0.4 }
const sensorAnswer: SensorResponse = { data: sensor }
const sensorList: SensorListResponse = { data: [sensor] }
const health: HealthResponse = { status: 'ok' }

const readiness: ReadinessResponse = {
  status: 'ready',
  backlog: { entries: 120, bytes: 5_760, oldest_age_seconds: 0.2 },
  measurement_store: 'ok',
}

const explanation: ProblemExplanation = {
  code: 'missing_token',
  status: 401,
  title: 'A token is needed',
  explanation: 'Send your access token in the header: Authorization: Bearer <token>.',
}

const influxFailure: InfluxFailureResponse = {
  code: 'invalid',
  message:
    'partial write: 1 of 500 lines not stored; ' +
    'line 17: temp: outside -273.15 to 10000 degrees Celsius',
  line: 17,
}
const influxFailureV1: InfluxFailureV1Response = { error: influxFailure.message }
const influxVersion: InfluxVersionResponse = { version: '2.7.0' }

const influxHealth: InfluxHealthResponse = {
  name: 'thermolog',
  message: 'ready for writes',
  status: 'pass',
  checks: [],
  version: '2.7.0',
}

const influxResults: InfluxResultsResponse = {
  results: [
    {
      statement_id: 0,
      series: [{ name: 'databases', columns: ['name'], values: [['thermolog']] }],
    },
  ],
}

/** By the name of the file in schemas/, without its extension. */
export const EXAMPLES: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ['request/measurement', submitted],
  ['request/measurement-batch', batch],
  ['request/sensor-patch', patch],
  ['request/sign-in', grant],
  ['request/link-sign-in', linkUse],
  ['request/account-deletion', { email: user.email } satisfies AccountDeletion],
  ['request/new-daemon-token', newDaemonToken],
  ['request/daemon-token-rotation', rotation],
  ['response/daemon-token-list', daemonTokenList],
  ['response/new-daemon-token', madeDaemonToken],
  ['response/measurement', accepted],
  ['response/batch-receipt', batchReceipt],
  ['response/sensor', sensorAnswer],
  ['response/sensor-list', sensorList],
  ['response/history', history],
  ['response/series', series],
  ['response/daemon-me', daemonMe],
  ['response/bootstrap', bootstrap],
  ['response/sign-in', signedIn],
  ['response/session-list', sessionList],
  ['response/user', { data: user } satisfies UserResponse],
  ['response/changes', changes],
  ['response/dashboard', dashboard],
  ['response/health', health],
  ['response/readiness', readiness],
  ['response/problem-explanation', explanation],
  ['response/influx-failure', influxFailure],
  ['response/influx-failure-v1', influxFailureV1],
  ['response/influx-version', influxVersion],
  ['response/influx-health', influxHealth],
  ['response/influx-results', influxResults],
])
