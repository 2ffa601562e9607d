// Goal: what docs/grafana.md says of the containers is so. Method: image and compose file on a real
// engine, with the service and InfluxDB: built, started, killed, stopped, given new secrets, saved,
// restored and upgraded with the commands of the document.

import { expect } from 'chai'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Containers, needDocker } from '../support/containers.ts'
import { freePort } from '../support/free-port.ts'
import { sendUnchecked } from '../support/http.ts'
import { until } from '../support/until.ts'

const MINUTE_MS = 60_000
const SETTINGS = {
  IDP_HOME_ISSUER: 'https://id.example.org',
  IDP_HOME_CLIENT_ID: 'thermolog',
  MOBILE_REDIRECT_URIS: 'https://app.example.org/',
  RATE_LIMIT_SIGN_IN: '1',
}
const ADMIN_TOKEN = ['run', '--rm', '--no-deps', '-T', '--entrypoint', 'cat', 'prepare']
const READY = '{"status":"ready","measurement_store":"ok"}'

describe('the containers of docker-compose.yml', function () {
  this.timeout(5 * MINUTE_MS)
  let containers: Containers
  let folder: string
  let token: string
  let sent = 0

  before(async function () {
    needDocker(this)
    folder = await mkdtemp(join(tmpdir(), 'thermolog-saved-'))
    containers = new Containers(await freePort(), SETTINGS)
    await containers.build('first', false)
    await containers.compose('up', '--detach', '--wait', 'thermolog')
    await containers.thermolog('user', 'create', '--email', 'a@example.org', '--name', 'A')
    const order = ['token', 'create', '--user', 'a@example.org', '--name', 'gateway-1']
    token = await containers.thermolog(...order)
  })
  after(async () => {
    await containers?.remove()
    if (folder !== undefined) await rm(folder, { recursive: true, force: true })
  })

  const post = (eventId: string) =>
    sendUnchecked(containers.url, {
      method: 'POST',
      path: '/api/v1/measurements',
      token,
      body: { event_id: eventId, sn: 'CELLAR', temp: 21.5, timestamp: '2026-01-01T00:00:00Z' },
    })

  async function sendNew() {
    expect((await post(`event-${++sent}`)).status).to.equal(201)
  }

  async function expectEverything() {
    await untilReady()
    for (let at = 1; at <= sent; at++) expect((await post(`event-${at}`)).status).to.equal(200)
    const verified = await containers.tryCompose('exec', '-T', 'thermolog', 'thermolog', 'verify')
    const said = verified.stdout + verified.stderr
    expect(verified.exitCode, said).to.equal(0)
    expect(said).to.include(`checked ${sent} ${sent === 1 ? 'measurement' : 'measurements'} `)
  }

  async function readiness() {
    try {
      const { body } = await sendUnchecked(containers.url, { path: '/readyz' })
      const { status, measurement_store } = body
      return JSON.stringify({ status, measurement_store })
    } catch (error) {
      return String(error)
    }
  }

  async function untilReady(wanted = READY) {
    const isReady = async () => (await readiness()) === wanted
    await until(`the service is ${wanted}`, isReady, MINUTE_MS)
  }

  it('take measurements, as somebody who is not root and may write nowhere else', async () => {
    await sendNew()
    const order = [
      'exec',
      '-T',
      'thermolog',
      'sh',
      '-c',
      'id -u; touch /usr/lib/thermolog/x || echo refused',
    ]
    expect(await containers.compose(...order)).to.equal('1000\nrefused')
    await expectEverything()
  })

  it('have each sign-in counted for the client that the proxy before the port names', async () => {
    const from = async (address: string) => {
      const headers = { 'x-forwarded-for': address, 'content-type': 'application/json' }
      const path = '/api/mobile/v1/auth/home'
      return (await sendUnchecked(containers.url, { method: 'POST', path, headers, body: {} }))
        .status
    }
    expect(await from('192.0.2.1')).to.equal(422)
    expect(await from('192.0.2.2')).to.equal(422)
    expect(await from('192.0.2.1')).to.equal(429)
  })

  it('lose nothing and start again when the service is killed', async () => {
    await sendNew()
    await containers.tryCompose('exec', '-T', 'thermolog', 'sh', '-c', 'kill -9 -1')
    await expectEverything()
    expect(await containers.inspect('thermolog', '{{.RestartCount}}')).to.equal('1')
  })

  it('end by themselves when they are told to, each with its files closed', async () => {
    await containers.compose('stop')
    expect(await containers.inspect('thermolog', '{{.State.ExitCode}}')).to.equal('0')
    expect(await containers.inspect('influxdb', '{{.State.ExitCode}}')).to.equal('0')
    await containers.compose('up', '--detach', 'thermolog')
    await expectEverything()
  })

  it('have a secret made anew when its file is removed', async () => {
    const file = '/secrets/thermolog/.env'
    await containers.compose('run', '--rm', '--no-deps', '--entrypoint', 'rm', 'prepare', file)
    await containers.compose('up', '--detach', 'thermolog')
    await sendNew()
    await untilReady('{"status":"ready","measurement_store":"failing"}')
    await containers.compose('restart', 'thermolog')
    await expectEverything()
  })

  it('start without an InfluxDB that cannot start, and catch up when it can', async () => {
    const inInfluxdb = (script: string) =>
      containers.compose('run', '--rm', '--no-deps', '--entrypoint', 'sh', 'influxdb', '-c', script)
    await containers.compose('stop')
    const bolt = '/var/lib/influxdb2/influxd.bolt'
    await inInfluxdb(`mv ${bolt} ${bolt}.kept && echo broken >${bolt}`)
    await containers.compose('up', '--detach', 'thermolog')
    await untilReady('{"status":"ready","measurement_store":"failing"}')
    await sendNew()
    await containers.compose('stop', 'influxdb')
    await inInfluxdb(`mv ${bolt}.kept ${bolt}`)
    await containers.compose('start', 'influxdb')
    await expectEverything()
  })

  it('are saved, lost and restored with the commands of the document', async () => {
    const readAdminToken = () => containers.compose(...ADMIN_TOKEN, '/secrets/influxdb/admin-token')
    const influx = async (...args: string[]) => {
      const host = ['--host', 'http://influxdb:8086', '--token', await readAdminToken()]
      const run = ['run', '--rm', '--no-deps', '-T', '--user', String(process.getuid?.() ?? 0)]
      const mount = ['--volume', `${folder}:/backup`, '--entrypoint', 'influx', 'influxdb']
      await containers.compose(...run, ...mount, ...args, ...host)
    }
    await influx('backup', '/backup/influx')
    await containers.thermolog('backup', '/data/thermolog.tar')
    await containers.compose('cp', 'thermolog:/data/thermolog.tar', `${folder}/thermolog.tar`)
    await containers.compose('exec', '-T', 'thermolog', 'rm', '/data/thermolog.tar')
    await containers.compose('down', '--volumes')

    await containers.compose('run', '--rm', '-T', 'prepare')
    await influx('bucket', 'delete', '--name', 'thermolog', '--org', 'thermolog')
    await influx('restore', '/backup/influx', '--bucket', 'thermolog')
    await containers.compose('run', '--rm', '-T', 'prepare')
    await chmod(join(folder, 'thermolog.tar'), 0o644)
    await chmod(folder, 0o755)
    const mount = ['--volume', `${folder}:/backup:ro`]
    const restore = ['thermolog', 'restore', '/backup/thermolog.tar']
    await containers.compose('run', '--rm', '--no-deps', '-T', ...mount, ...restore)
    await containers.compose('up', '--detach', 'thermolog')
    await expectEverything()
    await sendNew()
  })

  it('are upgraded to an image made of a tarball, and keep what they have', async () => {
    await containers.build('second', true)
    await containers.compose('up', '--detach', 'thermolog')
    expect(await containers.inspect('thermolog', '{{.Config.Labels.test}}')).to.equal('second')
    await expectEverything()
  })
})
