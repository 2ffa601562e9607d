import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { ConfigError } from '../src/config-settings.ts'
import { loadConfig } from '../src/config.ts'
import type { Environment } from '../src/config-settings.ts'
import { startCommand } from './support/command.ts'
import { text } from 'node:stream/consumers'

const INFLUX = { INFLUX_URL: 'http://influx:8086', INFLUX_ORG: 'home', INFLUX_BUCKET: 'readings' }
const PROVIDER = {
  IDP_HOME_ISSUER: 'https://id.example.org',
  IDP_HOME_CLIENT_ID: 'app',
  MOBILE_REDIRECT_URIS: 'org.example.app:/callback',
}

describe('a secret', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'thermolog-secrets-'))
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  const file = (name: string, content: string) => {
    writeFileSync(join(folder, name), content)
    return join(folder, name)
  }
  const problemsOf = (environment: Environment) => {
    try {
      loadConfig(environment)
      return []
    } catch (error) {
      expect(error).to.be.instanceOf(ConfigError)
      return (error as ConfigError).problems
    }
  }

  it('may be in a file, but for the line break at its end', () => {
    const config = loadConfig({
      ...INFLUX,
      ...PROVIDER,
      INFLUX_TOKEN_FILE: file('influx', 'of the bucket\n'),
      METRICS_TOKEN_FILE: file('metrics', ' spaces count \r\n'),
      IDP_HOME_CLIENT_SECRET_FILE: file('client', 'two\n\n'),
    })
    const url = 'postgresql://u:p@host:5432/name'
    const { database } = loadConfig({ DATABASE_URL_FILE: file('database', url) })
    expect(config.influx?.influxToken).to.equal('of the bucket')
    expect(config.metricsToken).to.equal(' spaces count ')
    expect(config.identityProviders[0]?.clientSecret).to.equal('two\n')
    expect(database?.url).to.equal(url)
  })

  it('may be a credential of systemd, which counts last', () => {
    file('METRICS_TOKEN', 'of the credential\n')
    const environment = { CREDENTIALS_DIRECTORY: folder, ...PROVIDER }
    const config = loadConfig(environment)
    expect(config.metricsToken).to.equal('of the credential')
    expect(config.identityProviders[0]?.clientSecret).to.equal(undefined)
    const METRICS_TOKEN_FILE = file('metrics', 'of the file')
    expect(loadConfig({ ...environment, METRICS_TOKEN_FILE }).metricsToken).to.equal('of the file')
    expect(loadConfig({ ...environment, METRICS_TOKEN: 'plain' }).metricsToken).to.equal('plain')
  })

  it('may come through a pipe, which is read once', async () => {
    const pipe = join(folder, 'pipe')
    execFileSync('mkfifo', [pipe])
    const child = startCommand(join(folder, 'data'), ['user', 'list'], {
      DATABASE_URL_FILE: pipe,
      RATE_LIMIT_REQUEST: '1',
    })
    writeFileSync(pipe, 'mysql://host/very-secret\n')
    const said = await text(child.stderr)
    expect(said).to.include('DATABASE_URL must be like postgresql://')
    expect(said).not.to.include('very-secret')
  })

  it('is refused when its file is not one, empty, too large, or beside the plain setting', () => {
    const many = 'x'.repeat(64 * 1024 + 1)
    mkdirSync(join(folder, 'folder'))
    const faults: readonly (readonly [Environment, RegExp])[] = [
      [{ METRICS_TOKEN_FILE: join(folder, 'none') }, /none cannot be read \(ENOENT\)$/],
      [{ METRICS_TOKEN_FILE: join(folder, 'folder') }, /folder is not a file$/],
      [{ METRICS_TOKEN_FILE: '/dev/zero' }, /zero is not a file$/],
      [{ METRICS_TOKEN_FILE: file('empty', '\n') }, /^METRICS_TOKEN_FILE .*empty is empty$/],
      [{ METRICS_TOKEN_FILE: file('large', many) }, /large is larger than 64 KiB$/],
      [{ METRICS_TOKEN: 'x', METRICS_TOKEN_FILE: file('file', 'y') }, /are both set/],
      [{ ...INFLUX, INFLUX_TOKEN_FILE: join(folder, 'none') }, /^INFLUX_TOKEN_FILE .*ENOENT/],
      [{ ...PROVIDER, IDP_HOME_LABEL_FILE: '/label' }, /^IDP_HOME_LABEL_FILE is not a setting/],
    ]
    for (const [environment, problem] of faults) {
      const problems = problemsOf(environment)
      expect(problems).to.have.lengthOf(1)
      expect(problems[0]).to.match(problem)
    }
    file('INFLUX_TOKEN', '')
    const problems = problemsOf({ ...INFLUX, CREDENTIALS_DIRECTORY: folder })
    expect(problems).to.deep.equal([`the credential ${join(folder, 'INFLUX_TOKEN')} is empty`])
  })
})
