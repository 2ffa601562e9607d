// Goal: whatever the first step of docker-compose.yml finds, in the end InfluxDB, its bucket and
// every secret are as they should be. Method: a real influxd, empty, half set up by a step that was
// killed at each of its requests, or changed by hand.

import { expect } from 'chai'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { parseEnv } from 'node:util'
import { prepareInfluxdb } from '../../docker/prepare-influxdb.ts'
import { loadConfig } from '../../src/config.ts'
import { checkInfluxBucket } from '../../src/influx/bucket-check.ts'
import { FaultProxy } from '../support/fault-proxy.ts'
import { connect } from '../support/influx.ts'
import { hasInfluxd, InfluxServer } from '../support/influxd.ts'
import { leaveOut } from '../support/left-out.ts'

const PROGRAM = fileURLToPath(new URL('../../docker/prepare-influxdb.ts', import.meta.url))
const SECRETS = [
  'influxdb/admin-password',
  'influxdb/admin-token',
  'thermolog/.env',
  'grafana/admin-password',
  'prometheus/metrics-token',
  'grafana/influx-read-token',
  'grafana/thermolog-token',
]
const NAMES = { organization: 'thermolog', influxBucket: 'thermolog' }
const PLACE = 'org=thermolog&bucket=thermolog'

describe('prepareInfluxdb', () => {
  let server: InfluxServer
  let directory: string
  before(function () {
    if (!hasInfluxd()) leaveOut(this, 'influxd to pause and kill')
  })
  beforeEach(async () => {
    server = await InfluxServer.startEmpty()
    directory = await mkdtemp(join(tmpdir(), 'thermolog-secrets-'))
  })
  afterEach(async () => {
    await server.stop()
    await rm(directory, { recursive: true })
  })

  const prepare = (url = server.url) => prepareInfluxdb({ ...NAMES, url, directory, patienceMs: 0 })
  const read = (file: string) => readFile(join(directory, file), 'utf8')
  const readAll = async () =>
    Object.fromEntries(
      await Promise.all(SECRETS.map(async (file) => [file, await read(file)] as const)),
    )
  const serviceSettings = async () => loadConfig(parseEnv(await read('thermolog/.env')))
  const asAdmin = async (path: string, order: { method?: string; body?: string } = {}) =>
    await callAs(await read('influxdb/admin-token'), path, order)

  async function callAs(
    token: string,
    path: string,
    { method = 'GET', body }: { readonly method?: string; readonly body?: string } = {},
  ) {
    return await fetch(`${server.url}/api/v2/${path}`, {
      method,
      headers: { authorization: `Token ${token.trim()}` },
      body: body ?? null,
    })
  }

  async function listAs<Item>(path: string, name: string): Promise<Item[]> {
    const answer = (await (await asAdmin(path)).json()) as Record<string, Item[]>
    return answer[name] ?? []
  }

  interface Bucket {
    readonly id: string
    readonly orgID: string
    readonly retentionRules: object[]
  }
  const findBucket = async () => (await listAs<Bucket>('buckets?name=thermolog', 'buckets'))[0]
  const listTokens = async () => {
    const tokens = await listAs<{ id: string; description: string }>(
      'authorizations',
      'authorizations',
    )
    return tokens.filter(({ description }) => /^(thermolog|Grafana): /.test(description))
  }

  async function expectInOrder(url = server.url) {
    const { influx, metricsToken } = await serviceSettings()
    if (influx === undefined) throw new Error('the settings name no InfluxDB')
    expect(influx.url).to.equal(url)
    expect(await checkInfluxBucket(connect({ ...influx, url: server.url }))).to.deep.equal({
      kind: 'ready',
    })
    expect(metricsToken).to.equal(await read('prometheus/metrics-token'))
    const readToken = await read('grafana/influx-read-token')
    expect((await callAs(readToken, 'buckets?name=thermolog')).status).to.equal(200)
    const order = { method: 'POST', body: 'x y=1' }
    expect((await callAs(readToken, `write?${PLACE}`, order)).status).to.equal(403)
    const rule = { type: 'expire', everySeconds: 0, shardGroupDurationSeconds: 30 * 86_400 }
    expect((await findBucket())?.retentionRules).to.deep.equal([rule])
    const descriptions = (await listTokens()).map(({ description }) => description)
    expect(descriptions).to.have.members(['thermolog: the service', 'Grafana: reads only'])
  }

  it('sets everything up, shows secrets to those alone whom they are for', async () => {
    const umask = process.umask(0o077)
    await prepare()
    process.umask(umask)
    await expectInOrder()
    expect(new Set(Object.values(await readAll())).size).to.equal(SECRETS.length)
    const modes = await Promise.all(SECRETS.map((file) => stat(join(directory, file))))
    const isPrivate = modes.map(({ mode }) => (mode & 0o077) === 0)
    expect(isPrivate).to.deep.equal([true, true, true, false, false, false, false])
  })

  it('changes nothing when everything is in place', async () => {
    await prepare()
    const secrets = await readAll()
    expect(await prepare()).to.deep.equal(['everything is in place'])
    expect(await readAll()).to.deep.equal(secrets)
  })

  for (const kind of ['cut', 'lose_reply'] as const) {
    const moment = kind === 'cut' ? 'before' : 'after'
    it(`makes good what is left when it is killed, ${moment} each of its requests`, async () => {
      let isThrough = false
      for (let at = 1; !isThrough; at++) {
        await server.stop()
        await rm(directory, { recursive: true })
        server = await InfluxServer.startEmpty()
        directory = await mkdtemp(join(tmpdir(), 'thermolog-secrets-'))
        const proxy = await FaultProxy.start(server.url)
        const child = run(proxy.url)
        proxy.decide = () => {
          if (proxy.requests.length < at) return { kind: 'pass' }
          child.kill('SIGKILL')
          return { kind }
        }
        const [exitCode] = (await once(child, 'exit')) as [number | null]
        isThrough = exitCode === 0
        await proxy.close()
        await prepare()
        await expectInOrder()
        if (isThrough) expect(at, 'requests').to.be.greaterThan(6)
      }
    })
  }

  for (const file of SECRETS.filter((name) => name !== 'influxdb/admin-token')) {
    it(`makes ${file} anew when it is removed, or was never finished`, async () => {
      await prepare()
      const secrets = await readAll()
      await rm(join(directory, file))
      await writeFile(join(directory, `${file}.unfinished`), 'of a')
      await prepare()
      await writeFile(join(directory, file), '')
      await prepare()
      await expectInOrder()
      const again = await readAll()
      const changed = SECRETS.filter((name) => again[name] !== secrets[name])
      const isInSettings = file === 'prometheus/metrics-token'
      expect(changed).to.have.members(isInSettings ? [file, 'thermolog/.env'] : [file])
    })
  }

  it('makes tokens anew that InfluxDB does not know any more', async () => {
    await prepare()
    for (const { id } of await listTokens()) {
      await asAdmin(`authorizations/${id}`, { method: 'DELETE' })
    }
    expect(await prepare()).to.include('created a token: thermolog: the service')
    await expectInOrder()
  })

  it('makes tokens anew for another bucket of the same name, as a restore makes one', async () => {
    await prepare()
    const bucket = await findBucket()
    await asAdmin(`buckets/${bucket?.id}`, { method: 'DELETE' })
    const body = JSON.stringify({ orgID: bucket?.orgID, name: 'thermolog', retentionRules: [] })
    await asAdmin('buckets', { method: 'POST', body })
    await prepare()
    await expectInOrder()
  })

  it('makes a bucket where there is none, and has one that expires keep everything', async () => {
    await prepare()
    await asAdmin(`buckets/${(await findBucket())?.id}`, { method: 'DELETE' })
    await prepare()
    await expectInOrder()
    const body = JSON.stringify({ retentionRules: [{ type: 'expire', everySeconds: 86_400 }] })
    await asAdmin(`buckets/${(await findBucket())?.id}`, { method: 'PATCH', body })
    await prepare()
    await expectInOrder()
  })

  it('gives new tokens to an InfluxDB that has lost everything', async () => {
    await prepare()
    await server.stop()
    server = await InfluxServer.startEmpty()
    await prepare()
    await expectInOrder()
  })

  it('lets the others start without InfluxDB when every secret is there', async () => {
    await prepare()
    await server.kill()
    const [warning] = await prepare()
    expect(warning).to.match(/^WARNING: .* does not answer; all secrets exist/)
    await rm(join(directory, 'grafana/influx-read-token'))
    const failure = await prepare().then(() => '', String)
    expect(failure).to.include('and grafana/influx-read-token cannot be created without it')
    await server.restart()
  })

  it('waits for an InfluxDB that starts later', async () => {
    await server.kill()
    const preparing = prepareInfluxdb({ ...NAMES, url: server.url, directory, patienceMs: 60_000 })
    await server.restart()
    expect(await preparing).to.include('set up InfluxDB')
    await expectInOrder()
  })

  it('says in one line that someone else has set InfluxDB up', async () => {
    await prepare()
    await rm(join(directory, 'influxdb/admin-token'))
    const child = run(server.url)
    const [errors, [exitCode]] = await Promise.all([text(child.stderr), once(child, 'exit')])
    expect(exitCode).to.equal(1)
    expect(errors).to.match(/^prepare: InfluxDB does not know the token [^\n]*\n$/)
  })

  function run(url: string) {
    const args = [`--url=${url}`, '--org=thermolog', '--bucket=thermolog']
    return spawn(process.execPath, [PROGRAM, ...args, `--directory=${directory}`])
  }
})
