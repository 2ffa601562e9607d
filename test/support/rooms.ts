// The rooms of src/: which of them may import which, and the only ones that may import a package.

export const CORE = ['ingest', 'history', 'sensors', 'access', 'influxql']
const SETTINGS = ['config', 'config-environment', 'config-settings', 'config-values']
const ADAPTERS = ['sqlite', 'postgres', 'influx', 'system', ...SETTINGS]
/** What a command works on, or with. */
const OPENED_BY_COMMANDS = ['compose', 'data-dir', 'doctor', 'system']

/** Who may import whom: a room on the left, the rooms its files may import on the right. */
export const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  domain: ['domain'],
  ports: ['domain', 'ports'],
  ingest: ['domain', 'ports', 'ingest'],
  history: ['domain', 'ports', 'history'],
  sensors: ['domain', 'ports', 'sensors'],
  access: ['domain', 'ports', 'access'],
  influxql: ['domain', 'ports', 'history', 'sensors', 'influxql'],
  operations: ['domain', 'ports', ...CORE, 'line-protocol', 'operations', 'schemas'],
  commands: ['commands', 'operations', ...CORE, 'domain', 'ports', 'config-values', 'schemas'],
  control: ['domain', 'ports', 'control'],
  bytes: ['bytes'],
  sqlite: ['bytes', 'domain', 'ports', 'control', 'sqlite'],
  postgres: ['domain', 'ports', 'control', 'postgres'],
  'line-protocol': ['domain', 'line-protocol'],
  influx: ['bytes', 'domain', 'ports', 'influx'],
  oidc: ['domain', 'ports', 'oidc'],
  memory: ['domain', 'ports', 'memory'],
  system: ['domain', 'ports', 'system'],
  metrics: ['domain', 'ports', 'ingest', 'system', 'metrics'],
  // A worker thread composes itself, as compose.ts does for the process.
  threads: ['domain', 'ports', ...CORE, 'sqlite', 'influx', 'memory', 'system', 'threads'],
  socket: ['domain', 'ports', 'commands', 'operations', 'socket'],
  // It serves the files of the chart page, which import each other and nothing else.
  http: [
    'bytes',
    'domain',
    'ports',
    ...CORE,
    'line-protocol',
    'operations',
    'http',
    'web',
    'schemas',
  ],
  openapi: ['domain', 'http', 'openapi', 'schemas'],
  web: ['web'],
  // A command composes itself: it reads the settings, the clock, and opens what it works on.
  cli: [
    'cli',
    'commands',
    'operations',
    'socket',
    ...CORE,
    'domain',
    'ports',
    ...SETTINGS,
    'schemas',
    'package',
    ...OPENED_BY_COMMANDS,
  ],
  // What a command does to a whole DATA_DIR: it knows all that has files there.
  'data-dir': [
    'data-dir',
    'core',
    'commands',
    'operations',
    'domain',
    'ports',
    ...ADAPTERS,
    'package',
  ],
  // It looks at everything, and changes nothing.
  doctor: ['doctor', 'core', 'data-dir', 'oidc', 'socket', 'domain', 'ports', ...ADAPTERS],
  core: ['core', 'ingest', 'metrics', 'threads', 'domain', 'ports', ...ADAPTERS],
  config: ['domain', 'config-names', 'config-settings', 'config-table', 'config-values'],
  'config-environment': ['config-settings'],
  'config-settings': ['config-values', 'config-secrets'],
  'config-table': ['config-values', 'config-settings'],
  'config-values': ['domain'],
  'config-names': [],
  'config-secrets': [],
  thermolog: ['cli'],
}

/** The rooms that may import each package. */
export const HOME: Readonly<Record<string, readonly string[]>> = {
  'better-sqlite3': ['sqlite'],
  '@influxdata/influxdb-client': ['influx'],
  pg: ['postgres'],
  re2js: ['influxql'],
  'pg-copy-streams': ['postgres'],
  jose: ['oidc'],
  koa: ['http'],
  '@koa/router': ['http'],
  'koa-bodyparser': ['http'],
  'koa-compress': ['http'],
  'rate-limiter-flexible': ['memory'],
  ajv: ['http'],
  commander: ['cli'],
  'prom-client': ['metrics'],
  qr: ['cli'],
  'swagger-ui-dist': ['http'],
  'tar-stream': ['data-dir'],
  'temporal-polyfill': ['history', 'cli'],
  uplot: ['http', 'web'],
}
