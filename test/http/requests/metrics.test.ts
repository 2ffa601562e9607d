import { expect } from 'chai'
import manifest from '../../../package.json' with { type: 'json' }
import { PrometheusMetrics } from '../../../src/metrics/metrics.ts'
import { send } from '../../support/http.ts'
import { needPromtool, promtool } from '../../support/promtool.ts'
import { startService } from '../../support/service.ts'
import type { TestService } from '../../support/service.ts'
import { until } from '../../support/until.ts'

describe('GET /metrics', () => {
  let service: TestService
  let token: string

  before(async () => {
    service = await startService()
    token = await service.createToken('a@example.org')
  })

  after(() => service.stop())

  /** The series of a scrape: name with its labels → value. */
  async function scrape(): Promise<Map<string, number>> {
    const { status, headers, text } = await send(service.url, { path: '/metrics' })
    expect(status).to.equal(200)
    expect(headers['content-type']).to.equal('text/plain; version=0.0.4; charset=utf-8')
    const series = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
    return new Map(
      series.map((line) => {
        const end = line.lastIndexOf(' ')
        return [line.slice(0, end), Number(line.slice(end + 1))]
      }),
    )
  }

  function submit(body: unknown) {
    return send(service.url, { method: 'POST', path: '/api/v1/measurements', token, body })
  }

  it('counts measurements by what was decided about them', async () => {
    await submit({ event_id: 'one', sn: 'cellar', temp: 11 })
    await submit({ event_id: 'one', sn: 'cellar', temp: 11 })
    await submit({ event_id: 'one', sn: 'cellar', temp: 12 })
    const series = await scrape()
    for (const outcome of ['created', 'duplicate', 'conflict']) {
      const name = `thermolog_measurements_total{outcome="${outcome}"}`
      expect(series.get(name), name).to.equal(1)
    }
    expect(series.get('thermolog_commit_measurements_sum')).to.equal(1)
    expect(series.get('thermolog_commit_duration_seconds_count')).to.equal(1)
  })

  it('is made once for all who ask while it is made, and anew for the next', async () => {
    const metrics = new PrometheusMetrics()
    const [one, other] = await Promise.all([metrics.render(), metrics.render()])
    expect(one).to.equal(other)
    expect(await metrics.render()).not.to.equal(one)
  })

  it('counts answers by the pattern of their address, never by the address', async () => {
    await send(service.url, { path: '/api/v1/sensors/4711/measurements', token })
    await send(service.url, { path: '/api/v1/secret', token })
    await send(service.url, { path: '/api/v1/secret' })
    await send(service.url, { path: '/secret' })
    const series = await scrape()
    const answers = (labels: string) => series.get(`thermolog_http_requests_total{${labels}}`)
    const history = 'route="/api/v1/sensors/{id}/measurements"'
    expect(answers(`method="GET",${history},status="404"`)).to.equal(1)
    expect(answers('method="other",route="/api/v1",status="404"')).to.equal(1)
    expect(answers('method="other",route="/api/v1",status="401"')).to.equal(1)
    expect(answers('method="other",route="/",status="404"')).to.equal(1)
    expect([...series.keys()].join('\n')).not.to.match(/4711|secret/)
  })

  it('counts submissions that were refused by their code', async () => {
    await submit({ sn: 'cellar', temp: 'warm' })
    await send(service.url, { method: 'POST', path: '/api/v1/measurements/batch', body: {} })
    const series = await scrape()
    for (const code of ['validation_failed', 'missing_token', 'event_id_conflict']) {
      const name = `thermolog_refused_submissions_total{code="${code}"}`
      expect(series.get(name), name).to.equal(1)
    }
  })

  it('tells the backlog, the state of the store, and how the process fares', async () => {
    const series = await scrape()
    expect(series.get('thermolog_store_working')).to.equal(1)
    const names = [
      'thermolog_journal_backlog_entries',
      'thermolog_journal_backlog_bytes',
      'thermolog_journal_backlog_oldest_age_seconds',
      'thermolog_set_aside_measurements',
      'thermolog_pending_sensor_deletions',
      'thermolog_pending_sensor_deletions_oldest_age_seconds',
      'thermolog_forward_failures_total',
      'thermolog_ledger_sealed_events',
      'thermolog_damaged_places',
      'thermolog_forwarded_measurements_total{outcome="accepted"}',
      'nodejs_eventloop_lag_p99_seconds',
      'process_resident_memory_bytes',
    ]
    expect([...series.keys()]).to.include.members(names)
  })

  it('tells how long the store takes for a batch', async () => {
    const count = async () => (await scrape()).get('thermolog_forward_duration_seconds_count') ?? 0
    await until('a batch was forwarded', async () => (await count()) > 0)
    expect((await scrape()).get('thermolog_forward_failures_total')).to.equal(0)
  })

  it('counts sensors, and those that are online now', async () => {
    await submit({ sn: 'attic', temp: 30 })
    const sensors = async () => {
      const series = await scrape()
      return [series.get('thermolog_sensors'), series.get('thermolog_sensors_online')]
    }
    expect(await sensors()).to.deep.equal([2, 2])
    service.clock.advanceMs(14 * 60_000)
    await submit({ sn: 'attic', temp: 30 })
    service.clock.advanceMs(60_001)
    expect(await sensors()).to.deep.equal([2, 1])
  })

  it('says when a measurement last came, a new one', async () => {
    const receivedAtMs = service.clock.nowMs()
    await submit({ event_id: 'last', sn: 'attic', temp: 30 })
    service.clock.advanceMs(60_000)
    await submit({ event_id: 'last', sn: 'attic', temp: 30 })
    const lastSeconds = (await scrape()).get('thermolog_last_measurement_timestamp_seconds')
    expect(lastSeconds).to.equal(receivedAtMs / 1000)
  })

  it('says which version it is', async () => {
    expect((await scrape()).get(`thermolog_build_info{version="${manifest.version}"}`)).to.equal(1)
  })

  it('says what room is left, and what has to be', async () => {
    const series = await scrape()
    const free = series.get('thermolog_disk_free_bytes') ?? 0
    expect(free).to.be.greaterThan(series.get('thermolog_disk_free_min_bytes') ?? Infinity)
    expect(series.get('thermolog_journal_backlog_max_bytes')).to.equal(4 * 2 ** 30)
  })

  it('is as Prometheus would have it', async function () {
    needPromtool(this)
    const { text } = await send(service.url, { path: '/metrics' })
    expect(promtool(['check', 'metrics'], text)).to.deep.equal({ exitCode: 0, output: '' })
  })

  it('gives gauges no names of counters', async () => {
    const { text } = await send(service.url, { path: '/metrics' })
    expect(text).not.to.match(/^# TYPE \w+_total (?!counter)/m)
  })
})

describe('GET /metrics with METRICS_TOKEN', () => {
  let service: TestService

  before(async () => {
    service = await startService({ METRICS_TOKEN: 'of-the-operator' })
  })

  after(() => service.stop())

  it('answers that token alone', async () => {
    const path = '/metrics'
    const missing = await send(service.url, { path })
    expect([missing.status, missing.body.code]).to.deep.equal([401, 'missing_token'])
    const daemon = await service.createToken('a@example.org')
    for (const token of ['of-the-operato', 'of-the-operators', daemon]) {
      const { status, body, headers } = await send(service.url, { path, token })
      expect([status, body.code]).to.deep.equal([401, 'invalid_token'])
      expect(headers['www-authenticate']).to.match(/^Bearer /)
    }
    const answer = await send(service.url, { path, token: 'of-the-operator' })
    expect(answer.status).to.equal(200)
  })

  it('leaves the other public endpoints open', async () => {
    expect((await send(service.url, { path: '/healthz' })).status).to.equal(200)
  })
})
