// All settings, in the order of their table in docs/operations.md, which `npm run generate` writes.
// A row is a member of what is read, and `[name, reader, default, help]`.

import * as values from './config-values.ts'
import { NEEDED } from './config-settings.ts'
import type { Section, Setting } from './config-settings.ts'

const rateReader = values.integerReader(0, 1_000_000_000)

// prettier-ignore
export const SETTINGS = {
  server: {
    host: ['HOST', values.readText, '127.0.0.1',
      'the address of this machine to listen on; `0.0.0.0` and `::` mean all of them'],
    port: ['PORT', values.integerReader(0, 65_535), '8080', '0 picks a free port and logs it'],
    publicUrl: ['PUBLIC_URL', values.readPublicUrl, { words: 'http://HOST:PORT' },
      "the service's address as people see it, for links to it; if `HOST` is a wildcard, the " +
      "default has the machine's address in its network"],
    basePath: ['BASE_PATH', values.readBasePath, '/',
      'the prefix that the service sees, see [Below a prefix](#below-a-prefix)'],
    dataDir: ['DATA_DIR', values.readText, './data',
      'the folder, on a local disk, where everything is kept, readable only by its owner; one ' +
      'process at a time owns it'],
  },
  influx: {
    url: ['INFLUX_URL', values.readHttpUrl, NEEDED,
      'InfluxDB 2 as the measurement store, instead of the one embedded in `DATA_DIR`: all four ' +
      'of `INFLUX_…`, or none; refused with `DATABASE_URL`'],
    organization: ['INFLUX_ORG', values.readText, NEEDED, 'its organization'],
    influxBucket: ['INFLUX_BUCKET', values.readText, NEEDED, 'its bucket, for measurements'],
    influxToken: ['INFLUX_TOKEN', values.readSecretText, NEEDED, 'a token for it'],
  },
  database: {
    url: ['DATABASE_URL', values.readDatabaseUrl, undefined,
      'keeps everything in PostgreSQL, for any number of processes, instead of `DATA_DIR`; may ' +
      'have several hosts separated by commas: [scaling.md](scaling.md)'],
    durability: ['DURABILITY', values.choiceReader('local', 'replicated'), 'local',
      "with `DATABASE_URL`: acknowledged means on the primary's disk, or also on a synchronous " +
      "standby's"],
  },
  ingest: {
    mayRegisterSensors: ['AUTO_REGISTER', values.readBoolean, 'true',
      'whether a new serial number registers a sensor; if not, 403 `unknown_sensor` until ' +
      '`sensor create`'],
    sensorsPerUserMax: ['MAX_SENSORS_PER_USER', values.integerReader(1, 10_000_000), '10000',
      'beyond it 403 `sensor_quota`'],
    futureMsMax: ['MAX_FUTURE', values.readDuration, '5m',
      "how far ahead of the server's clock a measurement may be"],
    measuredAtMsMin: ['MIN_TIMESTAMP', values.readMoment, '2010-01-01T00:00:00Z',
      'the earliest time a measurement may have'],
    offlineAfterMs: ['OFFLINE_AFTER', values.readDuration, '15m',
      'a sensor not heard from for this long is offline'],
    lineFields: ['LINE_FIELDS', values.readNames, '',
      'more fields that are temperatures in line protocol, see [senders.md](senders.md)'],
    lineSerialTags: ['LINE_SERIAL_TAGS', values.readNames, '',
      'more tags that are serial numbers there'],
    requestsPerMinute: ['RATE_LIMIT_REQUESTS', rateReader, '6000',
      'requests per token and minute, where all tokens that one person made count as one; 0: no ' +
      'limit; beyond it 429'],
    measurementsPerMinute: ['RATE_LIMIT_MEASUREMENTS', rateReader, '600000',
      'measurements per token and minute; 0: no limit; a batch is accepted whole while any ' +
      'allowance is left'],
    signInsPerMinute: ['RATE_LIMIT_SIGN_IN', rateReader, '60',
      'sign-ins per address and minute; 0: no limit'],
    trustedProxies: ['TRUST_PROXY', values.readNetworks, '',
      'proxies whose `X-Forwarded-For` and `-Proto` are trusted, see ' +
      '[Behind a proxy](#behind-a-proxy)'],
    connectionsMax: ['MAX_CONNECTIONS', values.integerReader(1, 1_000_000), '8192',
      'open connections, of which 512 per address; see [Behind a proxy](#behind-a-proxy)'],
    journalBytesMax: ['MAX_JOURNAL_SIZE', values.readSize, '4GiB',
      'what may wait for the measurement store; beyond it 503 `overloaded`'],
    freeDiskMin: ['MIN_FREE_DISK', values.readFreeSpace, '2%, 256MiB',
      'with less free space 503 `storage_full`; of two values the smaller counts, and at least ' +
      '218MiB; 0: no check; see [Small volumes](#small-volumes)'],
  },
  provider: {
    issuer: ['IDP_<NAME>_ISSUER', values.readSecureUrl, NEEDED,
      'an identity provider; `<NAME>` in lower case is its name in the API'],
    clientId: ['IDP_<NAME>_CLIENT_ID', values.readText, NEEDED, 'what it calls the service'],
    clientSecret: ['IDP_<NAME>_CLIENT_SECRET', values.readSecretText, undefined,
      'without it the service is a public client'],
    label: ['IDP_<NAME>_LABEL', values.readText, '<NAME>', "the button's label"],
    scopes: ['IDP_<NAME>_SCOPES', values.readScopes, 'openid email profile', 'what to request'],
    callbackUrl: ['IDP_<NAME>_CALLBACK_URL', values.readHttpUrl, { words: '`MOBILE_CALLBACK_URL`' },
      'where the provider sends the person back'],
  },
  people: {
    mobileRedirectUris: ['MOBILE_REDIRECT_URIS', values.readAnyUrls, '',
      'where apps receive their users after sign-in, compared byte for byte; required with an ' +
      'identity provider'],
    mobileCallbackUrl: ['MOBILE_CALLBACK_URL', values.readAnyUrl,
      { words: 'the first of them',
        from: (text) => values.readNames(text('MOBILE_REDIRECT_URIS'))[0] },
      'where the relay sends a sign-in'],
    allowSignUp: ['ALLOW_SIGN_UP', values.readSignUp, 'false',
      'who may become a user by signing in: anyone, nobody, or people with addresses in one of ' +
      'these domains'],
    mayEditOnPhones: ['MOBILE_EDITS', values.readBoolean, 'true',
      'whether people may change alias and compensation from a phone'],
    mayMakeTokens: ['MOBILE_TOKENS', values.readBoolean,
      { words: 'true without `ALLOW_SIGN_UP`, else false',
        from: (text) => String(text('ALLOW_SIGN_UP') === 'false') },
      'whether people may make their own daemon tokens; with `MOBILE_EDITS=false` these cannot ' +
      'have `sensors:write`'],
    mayDeleteAccounts: ['ALLOW_ACCOUNT_DELETION', values.readBoolean, 'false',
      'whether people who signed up may delete their account, with everything in it, from the ' +
      'app; not with `MOBILE_EDITS=false`'],
    mobileTokenIdleMs: ['MOBILE_TOKEN_IDLE', values.readDuration, '90d',
      'how long a mobile token lives unused'],
    mobileTokenLifetimeMs: ['MOBILE_TOKEN_LIFETIME', values.readDuration, '365d',
      'how long it lives in total'],
    appName: ['APP_NAME', values.readText, 'Thermolog',
      'what the mobile app and the page call the service'],
    appMinimumVersion: ['APP_MINIMUM_VERSION', values.readText, undefined,
      'older versions of the mobile app ask their users to update'],
  },
  appLinks: {
    android: ['APP_LINKS_ANDROID', values.readAndroidApps, '',
      'the apps that open `/app/callback/…`, with the SHA-256 of their certificates: ' +
      '[App Links](mobile.md#app-links-and-universal-links)'],
    apple: ['APP_LINKS_APPLE', values.readAppleApps, '', 'the same, for iOS'],
  },
  links: {
    website: ['LINK_WEBSITE', values.readHttpUrl, undefined, 'a link for the app'],
    privacy: ['LINK_PRIVACY', values.readHttpUrl, undefined, 'the same'],
    terms: ['LINK_TERMS', values.readHttpUrl, undefined, 'the same'],
    support: ['LINK_SUPPORT', values.readHttpUrl, undefined, 'the same'],
  },
  watching: {
    metricsToken: ['METRICS_TOKEN', values.readSecretText, undefined,
      'if set, `/metrics` requires it as Bearer'],
    logLevel: ['LOG_LEVEL', values.choiceReader('debug', 'info', 'warn', 'error', 'silent'), 'info',
      'what is logged: JSON lines on standard output; on a terminal, plain text from `warn` on'],
  },
} as const satisfies Readonly<Record<string, Section>>

/** The rows in their order. */
export function allSettings(): readonly Setting[] {
  return Object.values<Section>(SETTINGS).flatMap((section) => Object.values(section))
}

/** The names of the rows, and those of the files that secrets may be in. */
export function settingNames(): readonly string[] {
  return allSettings().flatMap(([name, { isSecret }]) => (isSecret ? [name, `${name}_FILE`] : name))
}
