// Goal: `thermolog doctor` says what is wrong with the settings and with what the service talks to,
// first, with what to do about it; and finds nothing where nothing is wrong. Method: the real
// command on set-ups that are broken for real: wrong tokens, servers that are away, a port taken.

import { existsSync, readdirSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { createServer } from 'node:net'
import type { AddressInfo, Server } from 'node:net'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect } from 'chai'
import pg from 'pg'
import { runCommand, servingHere } from '../support/command.ts'
import { answering, expectFirst, useDoctor } from '../support/doctor.ts'
import type { DoctorReport } from '../support/doctor.ts'
import { freePortOf } from '../support/free-port.ts'
import { hasInfluxd, InfluxServer } from '../support/influxd.ts'
import { leaveOut } from '../support/left-out.ts'
import { newMigratedDatabase, usePostgres } from '../support/postgres.ts'

/** By browsers, and by `fetch` with them. */
const REFUSED_PORTS = [10_080, 6_000, 6_566, 6_665, 6_666, 6_667, 6_668, 6_669, 6_679, 6_697]

describe('thermolog doctor', () => {
  const test = useDoctor()

  it('finds nothing where nothing is wrong, whether the service runs or not', async () => {
    const stopped = await test().examine()
    expect(stopped.exitCode, JSON.stringify(stopped.checks)).to.equal(0)
    const looked = ['clock', 'data', 'data_dir', 'disk', 'fsync', 'memory', 'port', 'settings']
    const names = (report: DoctorReport) => report.checks.map(({ check }) => check)
    expect(names(stopped)).to.include.members([...looked, 'backup'])
    expect(stopped.checks.filter(({ state }) => state === 'wrong')).to.deep.equal([])
    const port = String((await freePortOf(REFUSED_PORTS)) ?? expect.fail('all are in use'))
    await servingHere(test().dataDir, { PORT: port }, async (url) => {
      const running = await test().examine({ PORT: port, PUBLIC_URL: url })
      expect(running.exitCode, JSON.stringify(running.checks)).to.equal(0)
      expect(names(running)).to.include.members([...looked, 'service'])
      expect(running.checks[0]).to.include({ check: 'proxy', state: 'warning' })
      expect(running.checks[0]?.message).to.match(/:\d+ cannot be opened in browsers/)
    })
  })

  it('changes nothing, and makes nothing where there is nothing', async () => {
    const before = readdirSync(test().dataDir).toSorted()
    await test().examine()
    expect(readdirSync(test().dataDir).toSorted()).to.deep.equal(before)
    const none = join(test().folder, 'none')
    const report = await test().examine({}, none)
    expect(report.exitCode).to.equal(0)
    expect(existsSync(none)).to.equal(false)
  })

  it('tells people the same, with the remedy below what is wrong', async () => {
    const { exitCode, stdout, stderr } = await runCommand(test().dataDir, ['doctor'], {
      PORT: test().port,
      PUBLIC_URL: 'https://example.org',
      METRICS_TOKEN: 'a-secret-of-ours',
    })
    const lines = stdout.split('\n')
    expect(lines[2]).to.match(
      /^WRONG {4}proxy {5} PUBLIC_URL is https:\/\/example\.org, so a proxy/,
    )
    expect(lines[3]).to.match(/^ {9}→ set TRUST_PROXY to its address/)
    expect(stdout).to.match(/^PORT +\d+ +environment$/m)
    expect(stdout).to.match(/^METRICS_TOKEN +\(hidden\) +environment$/m)
    expect(stdout + stderr).not.to.include('a-secret')
    expect(stderr).to.equal('thermolog: 1 thing is wrong\n')
    expect(exitCode).to.equal(1)
  })

  it('says where each setting is from, and shows no secret', async () => {
    const secret = join(test().folder, 'token')
    await writeFile(secret, 'of-a-file\n')
    await mkdir(join(test().folder, 'credentials'))
    await writeFile(join(test().folder, 'credentials/IDP_HOME_CLIENT_SECRET'), 'of-a-credential\n')
    const report = await test().examine({
      OFFLINE_AFTER: '30m',
      METRICS_TOKEN_FILE: secret,
      CREDENTIALS_DIRECTORY: join(test().folder, 'credentials'),
      IDP_HOME_ISSUER: 'http://127.0.0.1:9',
      IDP_HOME_CLIENT_ID: 'app',
      MOBILE_REDIRECT_URIS: 'org.example.app:/callback',
    })
    const found = (name: string) => report.settings.find((setting) => setting.name === name)
    expect(found('OFFLINE_AFTER')).to.include({ value: '30m', source: 'environment' })
    expect(found('MAX_FUTURE')).to.include({ value: '5m', source: 'default' })
    const callback = { value: 'org.example.app:/callback', source: 'default' }
    expect(found('MOBILE_CALLBACK_URL')).to.include(callback)
    expect(found('IDP_HOME_LABEL')).to.include({ value: 'HOME', source: 'default' })
    expect(found('METRICS_TOKEN')).to.include({ value: null, source: secret })
    expect(found('IDP_HOME_CLIENT_SECRET')).to.include({ value: null, source: 'credential' })
    expect(JSON.stringify(report)).not.to.match(/of-a-(file|credential)/)
  })

  it('names settings that are not valid', async () => {
    const report = await test().examine({ MAX_FUTURE: '5 minutes' })
    expectFirst(report, 'settings', /^MAX_FUTURE must be a duration like 30s/)
  })

  it('names a port that another program has', async () => {
    const other: Server = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const taken = String((other.address() as AddressInfo).port)
    try {
      expectFirst(await test().examine({ PORT: taken }), 'port', /is in use by another program/)
    } finally {
      other.close()
    }
  })

  it('names a proxy that TRUST_PROXY does not', async () => {
    const report = await test().examine({ PUBLIC_URL: 'https://example.org' })
    expectFirst(report, 'proxy', /TRUST_PROXY does not name it/)
  })

  it('names a proxy that is not named, though PUBLIC_URL says nothing of it', async () => {
    await servingHere(test().dataDir, { PORT: test().port }, async (url) => {
      await fetch(`${url}/api/v1/sensors`, { headers: { 'x-forwarded-for': '198.51.100.1' } })
      const report = await test().examine()
      expect(report.checks[0]).to.include({ check: 'proxy', state: 'warning' })
      expect(report.checks[0]?.message).to.match(/^Requests come through a proxy/)
      expect(report.exitCode).to.equal(0)
    })
  })

  it('names a provider that is away', async () => {
    const report = await test().examine({
      IDP_HOME_ISSUER: 'http://127.0.0.1:9',
      IDP_HOME_CLIENT_ID: 'app',
      MOBILE_REDIRECT_URIS: 'org.example.app:/callback',
    })
    expectFirst(report, 'provider', /HOME at http:\/\/127\.0\.0\.1:9 cannot be used: it cannot be/)
  })

  it('shows no password that somebody has put into a URL', async () => {
    const report = await test().examine({
      INFLUX_URL: 'http://admin:hunter2@influx:8086',
      INFLUX_ORG: 'o',
      INFLUX_BUCKET: 'b',
      INFLUX_TOKEN: 't',
    })
    expectFirst(
      report,
      'settings',
      /^INFLUX_URL must be an http or https URL, not "http:\/\/…@influx/,
    )
    expect(JSON.stringify(report)).not.to.include('hunter2')
  })

  it('names a token that cannot be sent', async () => {
    const report = await test().examine(
      {
        INFLUX_URL: 'http://127.0.0.1:9',
        INFLUX_ORG: 'o',
        INFLUX_BUCKET: 'b',
        INFLUX_TOKEN: 'one\nother',
      },
      join(test().folder, 'none'),
    )
    expectFirst(report, 'influxdb', /cannot be asked: Invalid character in header/)
  })

  for (const [name, answer] of [
    ['takes no more than it needs of an answer without end', answerWithoutEnd],
    ['is not taken in by an answer that looks like ours', answerLikeOurs],
  ] as const) {
    it(name, async () => {
      await answering(answer, async (url) => {
        // A database has the data, so whose the port is can only be asked.
        const database = 'postgresql://u@127.0.0.1:9/none'
        const report = await test().examine({ PORT: new URL(url).port, DATABASE_URL: database })
        expect(report.checks.find(({ check }) => check === 'port')?.state).to.equal('wrong')
      })
    })
  }

  it('does not take the time of answers that a cache has kept', async () => {
    const asked: string[] = []
    const cached: RequestListener = ({ url = '', headers: { host } }, response) => {
      asked.push(url)
      const issuer = `http://${host}`
      const endpoints = { authorization_endpoint: issuer, token_endpoint: issuer, jwks_uri: issuer }
      const date = new Date(Date.now() - 3_600_000).toUTCString()
      response.writeHead(200, { date, age: '3600' })
      response.end(JSON.stringify({ issuer, ...endpoints, buckets: [{}] }))
    }
    await answering(cached, async (url) => {
      const { checks } = await test().examine({
        IDP_HOME_ISSUER: url,
        IDP_HOME_CLIENT_ID: 'app',
        MOBILE_REDIRECT_URIS: 'org.example.app:/callback',
        INFLUX_URL: url,
        INFLUX_ORG: 'o',
        INFLUX_BUCKET: 'b',
        INFLUX_TOKEN: 't',
      })
      expect(asked).to.include.members(['/ping', '/.well-known/openid-configuration'])
      const clock = checks.find(({ check }) => check === 'clock')
      expect(clock?.state, clock?.message).not.to.equal('wrong')
    })
  })

  describe('with PostgreSQL', () => {
    const postgres = usePostgres()

    it('names a standby that is not there', async () => {
      const database = await newMigratedDatabase(postgres())
      try {
        const right = await test().examine({ DATABASE_URL: database.url })
        expect(right.exitCode, JSON.stringify(right.checks)).to.equal(0)
        const wrong = await test().examine({ DATABASE_URL: database.url, DURABILITY: 'replicated' })
        expectFirst(wrong, 'database', /synchronous_standby_names/)
      } finally {
        await database.remove()
      }
    })

    it('waits no longer than five seconds for what others have locked', async () => {
      const database = await newMigratedDatabase(postgres())
      const other = new pg.Client(database.url)
      await other.connect()
      try {
        await other.query('BEGIN; LOCK TABLE ledger IN ACCESS EXCLUSIVE MODE')
        const report = await test().examine({ DATABASE_URL: database.url })
        expectFirst(report, 'database', /cannot be used: canceling statement due to statement/)
      } finally {
        await other.end()
        await database.remove()
      }
    })

    it('names a server that is away', async () => {
      const report = await test().examine({
        DATABASE_URL: 'postgresql://u:a-secret@127.0.0.1:9/none',
      })
      expectFirst(
        report,
        'database',
        /^the database of DATABASE_URL cannot be used: .*ECONNREFUSED/,
      )
      expect(JSON.stringify(report)).not.to.include('a-secret')
    })
  })

  describe('with InfluxDB', () => {
    let influx: InfluxServer
    before(async function () {
      if (!hasInfluxd()) leaveOut(this, 'influxd to pause and kill')
      influx = await InfluxServer.start()
    })
    after(() => influx?.stop())

    const settings = (token: string, bucket: string) => ({
      INFLUX_URL: influx.url,
      INFLUX_ORG: influx.organization,
      INFLUX_BUCKET: bucket,
      INFLUX_TOKEN: token,
    })

    it('names a token that it does not take, and makes no bucket', async () => {
      const where = join(test().folder, 'with-influx')
      const wrong = await test().examine(settings('not-its-token', 'temperatures'), where)
      expectFirst(wrong, 'influxdb', /^InfluxDB does not accept INFLUX_TOKEN/)
      const right = settings(influx.influxToken, 'temperatures')
      for (let time = 1; time <= 2; time++) {
        const report = await test().examine(right, where)
        expect(report.checks[0]).to.include({ check: 'influxdb', state: 'warning' })
        expect(report.checks[0]?.message).to.match(/has no bucket "temperatures"/)
      }
      await servingHere(where, right, async () => {})
      const report = await test().examine(right, where)
      expect(report.exitCode, JSON.stringify(report.checks)).to.equal(0)
      expect(report.checks.find(({ check }) => check === 'influxdb')?.state).to.equal('ok')
    })

    it('names one that is away', async () => {
      const away = { ...settings('any', 'any'), INFLUX_URL: 'http://127.0.0.1:9' }
      expectFirst(
        await test().examine(away, join(test().folder, 'none')),
        'influxdb',
        /^no answer from InfluxDB/,
      )
    })
  })
})

function answerWithoutEnd(_request: IncomingMessage, response: ServerResponse): void {
  const more = () => {
    while (response.write(Buffer.alloc(2 ** 16, 32)));
    response.once('drain', more)
  }
  more()
}

function answerLikeOurs(_request: IncomingMessage, response: ServerResponse): void {
  response.end('{"backlog":null}')
}
