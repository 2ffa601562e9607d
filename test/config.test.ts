import { expect } from 'chai'
import { ConfigError } from '../src/config-settings.ts'
import { loadConfig, settingTest } from '../src/config.ts'
import type { Config } from '../src/config.ts'
import type { Environment } from '../src/config-settings.ts'
import { DAY_MS, MINUTE_MS, SECOND_MS } from '../src/domain/time.ts'

const INFLUX = {
  INFLUX_URL: 'http://influx:8086',
  INFLUX_ORG: 'home',
  INFLUX_BUCKET: 'temperatures',
  INFLUX_TOKEN: 'very-secret',
}
const PROVIDER = {
  IDP_MY_IDP_ISSUER: 'https://id.example.org',
  IDP_MY_IDP_CLIENT_ID: 'app',
  MOBILE_REDIRECT_URIS: 'org.example.app:/callback, https://example.org/cb',
}

interface Row {
  readonly environment: Environment
  readonly key: keyof Config
  readonly value: unknown
}

const VALUES: readonly Row[] = [
  { environment: {}, key: 'host', value: '127.0.0.1' },
  { environment: {}, key: 'port', value: 8080 },
  { environment: { PORT: '0' }, key: 'port', value: 0 },
  { environment: { PORT: ' ' }, key: 'port', value: 8080 },
  { environment: {}, key: 'listenFd', value: undefined },
  { environment: { LISTEN_FDS: '1', LISTEN_PID: String(process.pid) }, key: 'listenFd', value: 3 },
  { environment: { LISTEN_FDS: '2', LISTEN_PID: '1' }, key: 'listenFd', value: undefined },
  { environment: {}, key: 'influx', value: undefined },
  { environment: {}, key: 'database', value: undefined },
  {
    environment: { DATABASE_URL: 'postgresql://u:p@a:1,b:2/thermolog', DURABILITY: 'replicated' },
    key: 'database',
    value: { url: 'postgresql://u:p@a:1,b:2/thermolog', durability: 'replicated' },
  },
  {
    environment: { DATABASE_URL: 'postgres:///thermolog?host=/run/postgresql' },
    key: 'database',
    value: { url: 'postgres:///thermolog?host=/run/postgresql', durability: 'local' },
  },
  { environment: { ALLOW_ACCOUNT_DELETION: 'true' }, key: 'mayDeleteAccounts', value: true },
  { environment: {}, key: 'appLinks', value: { android: [], apple: [] } },
  { environment: { AUTO_REGISTER: 'false' }, key: 'mayRegisterSensors', value: false },
  { environment: { MAX_FUTURE: '30s' }, key: 'futureMsMax', value: 30 * SECOND_MS },
  { environment: {}, key: 'offlineAfterMs', value: 15 * MINUTE_MS },
  { environment: {}, key: 'measuredAtMsMin', value: Date.UTC(2010, 0, 1) },
  { environment: { MAX_JOURNAL_SIZE: '512MiB' }, key: 'journalBytesMax', value: 2 ** 29 },
  {
    environment: {},
    key: 'freeDiskMin',
    value: { volumePercent: 2, bytes: 2 ** 28 },
  },
  {
    environment: { MIN_FREE_DISK: '5%' },
    key: 'freeDiskMin',
    value: { volumePercent: 5, bytes: Infinity },
  },
  {
    environment: { MIN_FREE_DISK: '1GiB' },
    key: 'freeDiskMin',
    value: { volumePercent: 100, bytes: 2 ** 30 },
  },
  { environment: { ALLOW_SIGN_UP: 'true' }, key: 'allowSignUp', value: true },
  {
    environment: { ALLOW_SIGN_UP: 'Example.org, example.com' },
    key: 'allowSignUp',
    value: ['example.org', 'example.com'],
  },
  { environment: {}, key: 'mayMakeTokens', value: true },
  { environment: { ALLOW_SIGN_UP: 'example.org' }, key: 'mayMakeTokens', value: false },
  {
    environment: { TRUST_PROXY: '10.0.0.0/8, ::1' },
    key: 'trustedProxies',
    value: ['10.0.0.0/8', '::1'],
  },
  { environment: { MOBILE_TOKEN_IDLE: '30d' }, key: 'mobileTokenIdleMs', value: 30 * DAY_MS },
  {
    environment: { LINK_PRIVACY: 'https://example.org/privacy' },
    key: 'links',
    value: { privacy: 'https://example.org/privacy' },
  },
  { environment: PROVIDER, key: 'mobileCallbackUrl', value: 'org.example.app:/callback' },
]

const FAULTS: readonly (readonly [Environment, RegExp])[] = [
  [{ PORT: '65536' }, /^PORT must be a whole number from 0 to 65535, not "65536"$/],
  [{ PORT: '1e3' }, /^PORT /],
  [{ AUTO_REGISTER: 'yes' }, /^AUTO_REGISTER must be true or false/],
  [{ MAX_FUTURE: '5' }, /^MAX_FUTURE must be a duration like 30s/],
  [{ OFFLINE_AFTER: '0m' }, /^OFFLINE_AFTER /],
  [{ MIN_TIMESTAMP: 'yesterday' }, /^MIN_TIMESTAMP must be a time/],
  [{ MAX_JOURNAL_SIZE: '4GB' }, /^MAX_JOURNAL_SIZE must be a size/],
  [{ MIN_FREE_DISK: '200%' }, /^MIN_FREE_DISK /],
  [{ APP_LINKS_ANDROID: 'org.example.app/14:6D' }, /^APP_LINKS_ANDROID must be apps like/],
  [{ APP_LINKS_APPLE: 'org.example.app' }, /^APP_LINKS_APPLE must be apps like ABCDE12345/],
  [{ TRUST_PROXY: '10.0.0.0/33' }, /^TRUST_PROXY /],
  [{ LOG_LEVEL: 'loud' }, /^LOG_LEVEL must be one of: debug, info/],
  [{ LINK_TERMS: 'javascript:alert(1)' }, /^LINK_TERMS /],
  [
    { DATABASE_URL: 'postgresql://u:p@host' },
    /^DATABASE_URL must be like postgresql:.* its value$/,
  ],
  [{ DATABASE_URL: 'postgresql:///name' }, /^DATABASE_URL must be like/],
  [{ DATABASE_URL: 'postgresql://a:x/name' }, /^DATABASE_URL must be like/],
  [{ DURABILITY: 'local' }, /^DURABILITY needs DATABASE_URL/],
  [
    { DATABASE_URL: 'postgresql://db/name', INFLUX_ORG: 'home', INFLUX_TOKEN: 'secret' },
    /^INFLUX_ORG, INFLUX_TOKEN beside DATABASE_URL: .* can be used only without DATABASE_URL$/,
  ],
  [
    { DATABASE_URL: 'postgresql://db/name', ...INFLUX, INFLUX_URL: 'x' },
    /^INFLUX_URL, INFLUX_ORG, INFLUX_BUCKET, INFLUX_TOKEN beside DATABASE_URL: /,
  ],
  [{ ...INFLUX, INFLUX_TOKEN: undefined }, /^INFLUX_TOKEN missing: InfluxDB needs all of /],
  [{ ...PROVIDER, IDP_MY_IDP_ISSUER: 'http://id.example.org' }, /^IDP_MY_IDP_ISSUER must be an/],
  [{ ...PROVIDER, IDP_MY_IDP_CLIENT_ID: '' }, /^IDP_MY_IDP_CLIENT_ID is missing$/],
  [{ ...PROVIDER, IDP_MY_IDP_SCOPES: 'email' }, /^IDP_MY_IDP_SCOPES must be scopes with openid/],
  [{ ...PROVIDER, MOBILE_REDIRECT_URIS: '' }, /^MOBILE_REDIRECT_URIS is required/],
  [{ ALLOW_SIGN_UP: 'maybe' }, /^ALLOW_SIGN_UP must be true, false or e-mail domains .*"maybe"$/],
  [{ IDP_HOME_ISUER: 'x' }, /^IDP_HOME_ISUER is not .*: did you mean IDP_HOME_ISSUER\?$/],
  [{ ...PROVIDER, IDP_MY_IDP_SCOPE: 'x' }, /^IDP_MY_IDP_SCOPE .* mean IDP_MY_IDP_SCOPES\?$/],
  [{ IDP_HOME_CLIENTID: 'x' }, /^IDP_HOME_CLIENTID .* mean IDP_HOME_CLIENT_ID\?$/],
  [{ ...PROVIDER, IDP_MY_IDP_PROMPT: 'x' }, /^IDP_MY_IDP_PROMPT .* provider has ISSUER, CLIENT_ID/],
]

function problemsOf(environment: Environment): readonly string[] {
  try {
    loadConfig(environment)
    return []
  } catch (error) {
    expect(error).to.be.instanceOf(ConfigError)
    return (error as ConfigError).problems
  }
}

function warningsOf(environment: Environment): readonly string[] {
  const warnings: string[] = []
  loadConfig(environment, (warning) => warnings.push(warning))
  return warnings
}

describe('loadConfig', () => {
  for (const { environment, key, value } of VALUES) {
    it(`reads ${key} from ${JSON.stringify(environment).slice(0, 60)}`, () => {
      expect(loadConfig(environment)[key]).to.deep.equal(value)
    })
  }

  for (const [environment, problem] of FAULTS) {
    it(`reports ${problem.source.slice(0, 60)}`, () => {
      const problems = problemsOf(environment)
      expect(problems).to.have.lengthOf(1)
      expect(problems[0]).to.match(problem)
    })
  }

  it('reads an identity provider with the name that its settings have', () => {
    const [provider] = loadConfig({ ...PROVIDER, IDP_MY_IDP_LABEL: 'Mine' }).identityProviders
    expect(provider).to.deep.equal({
      id: 'my_idp',
      issuer: 'https://id.example.org',
      clientId: 'app',
      clientSecret: undefined,
      label: 'Mine',
      scopes: ['openid', 'email', 'profile'],
      callbackUrl: undefined,
    })
  })

  it('reports everything that is wrong at once', () => {
    expect(problemsOf({ PORT: 'x', LOG_LEVEL: 'y', ...INFLUX, INFLUX_URL: 'z' })).to.have.lengthOf(
      3,
    )
  })

  it('never shows a secret', () => {
    const environment = { ...INFLUX, INFLUX_URL: 'x', PORT: 'x' }
    expect(problemsOf(environment).join()).not.to.include('very-secret')
  })

  it('does not care for settings of others', () => {
    const environment = {
      PATH: '/bin',
      IDP: 'x',
      HOME: '/',
      HOSTNAME: 'x',
      LANG: 'C',
      IDP_X_ISUER: '',
    }
    expect(problemsOf(environment)).to.deep.equal([])
    expect(warningsOf(environment)).to.deep.equal([])
  })

  const warnings: readonly (readonly [Environment, RegExp])[] = [
    [{ RATE_LIMIT_REQUEST: '5' }, /^RATE_LIMIT_REQUEST .*: did you mean RATE_LIMIT_REQUESTS\?$/],
    [{ PROT: '80' }, /^PROT is not a setting and is ignored: did you mean PORT\?$/],
    [{ DATADIR: 'x' }, /did you mean DATA_DIR\?$/],
    [{ MOBILE_COLOUR: 'x' }, /^MOBILE_COLOUR .*; available: MOBILE_REDIRECT_URIS, MOBILE_CALLB/],
    [{ INFLUX_HOST: 'x' }, /^INFLUX_HOST .*; available: INFLUX_URL, INFLUX_ORG, /],
    [{ IDP_ISSUER: 'x' }, /^IDP_ISSUER .*; available: IDP_<NAME>_ISSUER, /],
    [{ IDP_BASE_PATH: 'x' }, /^IDP_BASE_PATH /],
  ]
  for (const [environment, warning] of warnings) {
    it(`warns of ${Object.keys(environment).join()}, which may belong to another program`, () => {
      expect(problemsOf(environment)).to.deep.equal([])
      const found = warningsOf(environment)
      expect(found).to.have.lengthOf(1)
      expect(found[0]).to.match(warning)
    })
  }
})

describe('settingTest', () => {
  const isSetting = settingTest()
  for (const name of ['PORT', 'METRICS_TOKEN_FILE', 'IDP_HOME_ISSUER', 'IDP_HOME_ISUER', 'PROT']) {
    it(`takes ${name} for a setting`, () => expect(isSetting(name)).to.equal(true))
  }

  for (const name of ['PATH', 'HOME', 'LOG', 'CREDENTIALS_DIRECTORY']) {
    it(`leaves ${name} to others`, () => expect(isSetting(name)).to.equal(false))
  }
})
