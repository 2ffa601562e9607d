import { expect } from 'chai'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { prepareInfluxdb } from '../../docker/prepare-influxdb.ts'
import { loadConfig } from '../../src/config.ts'
import { checkInfluxBucket } from '../../src/influx/bucket-check.ts'
import { connect } from '../support/influx.ts'
import { hasInfluxd, InfluxServer } from '../support/influxd.ts'

const SECRETS = [
  'influxdb/admin-password',
  'influxdb/admin-token',
  'thermolog/.env',
  'grafana/admin-password',
  'prometheus/metrics-token',
  'grafana/influx-read-token',
]

describe('prepareInfluxdb', () => {
  let server: InfluxServer
  let directory: string
  before(async function () {
    this.timeout(30_000)
    if (!hasInfluxd()) this.skip()
    server = await InfluxServer.startEmpty()
    directory = await mkdtemp(join(tmpdir(), 'thermolog-secrets-'))
    await prepare()
  })
  after(async () => {
    await server?.stop()
    if (directory !== undefined) await rm(directory, { recursive: true })
  })

  const prepare = (url = server.url) =>
    prepareInfluxdb({ url, organization: 'thermolog', influxBucket: 'thermolog', directory })
  const read = (file: string) => readFile(join(directory, file), 'utf8')
  const readAll = () => Promise.all(SECRETS.map(read))

  async function callAs(token: string, path: string, body?: string) {
    return await fetch(`${server.url}/api/v2/${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Token ${token.trim()}` },
      body: body ?? null,
    })
  }

  it('leaves settings with which the service finds its bucket in order', async () => {
    const { influx } = loadConfig(parseEnv(await read('thermolog/.env')))
    if (influx === undefined) throw new Error('the settings name no InfluxDB')
    expect(await checkInfluxBucket(connect(influx))).to.deep.equal({ kind: 'ready' })
  })

  it('makes shards of thirty days in a bucket that keeps everything', async () => {
    const answer = await callAs(await read('influxdb/admin-token'), 'buckets?name=thermolog')
    const { buckets } = (await answer.json()) as { buckets: { retentionRules: object[] }[] }
    const rule = { type: 'expire', everySeconds: 0, shardGroupDurationSeconds: 30 * 86_400 }
    expect(buckets[0]?.retentionRules).to.deep.equal([rule])
  })

  it('gives Grafana a token that reads and does not write', async () => {
    const token = await read('grafana/influx-read-token')
    const place = 'org=thermolog&bucket=thermolog'
    expect((await callAs(token, 'buckets?name=thermolog')).status).to.equal(200)
    expect((await callAs(token, `write?${place}`, 'x y=1')).status).to.equal(403)
    const { influxToken = '' } = loadConfig(parseEnv(await read('thermolog/.env'))).influx ?? {}
    expect((await callAs(influxToken, `write?${place}`, 'x y=1')).status).to.equal(204)
  })

  it('shows secrets to nobody but those they are for', async () => {
    const secrets = await readAll()
    expect(new Set(secrets).size).to.equal(SECRETS.length)
    const modes = await Promise.all(SECRETS.map((file) => stat(join(directory, file))))
    const isPrivate = modes.map(({ mode }) => (mode & 0o077) === 0)
    expect(isPrivate).to.deep.equal([true, true, true, false, false, false])
  })

  it('changes nothing when it runs again', async () => {
    const secrets = await readAll()
    await prepare()
    expect(await readAll()).to.deep.equal(secrets)
  })

  it('makes again what a crash has kept from being written', async () => {
    const secrets = await readAll()
    await rm(join(directory, 'grafana/influx-read-token'))
    await prepare()
    const again = await readAll()
    expect(again.slice(0, -1)).to.deep.equal(secrets.slice(0, -1))
    expect(await callAs(again.at(-1) ?? '', 'buckets')).to.have.property('status', 200)
  })

  it('has Prometheus and the service know the same token, also after an upgrade', async () => {
    const withoutToken = (await read('thermolog/.env')).replace(/^METRICS_TOKEN.*\n/m, '')
    await writeFile(join(directory, 'thermolog/.env'), withoutToken)
    await prepare()
    const { metricsToken } = loadConfig(parseEnv(await read('thermolog/.env')))
    expect(metricsToken).to.equal(await read('prometheus/metrics-token'))
  })

  it('says that it does not know an InfluxDB that someone else has set up', async () => {
    await rm(join(directory, 'influxdb/admin-token'))
    const failure = await prepare().then(
      () => undefined,
      (error: Error) => error.message,
    )
    expect(failure).to.include('was it set up by someone else?')
  })
})
