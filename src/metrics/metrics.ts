// The service's metrics in Prometheus format. Counting is part of every request: it adds to a plain
// number, and only a scrape turns these into series. Label values are bounded: route patterns,
// statuses, codes.
//
// Gauges are read on each scrape, and process metrics start with the first one, so a service
// without Prometheus does not pay for them. A restart counts from zero.

import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { ErrorCode } from '../domain/errors.ts'
import { SECOND_MS } from '../domain/time.ts'
import type {
  CommittedGroup,
  ForwardedCount,
  LinePoints,
  Metrics,
  MetricsSource,
} from '../ports/system.ts'
import { addGauges, addStateGauges } from './state-gauges.ts'
import type { WatchedState } from './state-gauges.ts'

const PREFIX = 'thermolog_'
const STATUS_END = 600

// prettier-ignore
const GROUP_MEASUREMENTS = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000,
]
// prettier-ignore
const COMMIT_SECONDS = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
]
const FORWARD_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

/** Gauges named like counters; each has a twin with the same values and a proper name. */
const MISNAMED = ['handles', 'requests', 'resources'].map((what) => `nodejs_active_${what}_total`)

export class PrometheusMetrics implements Metrics, MetricsSource {
  readonly #registry = new Registry()
  readonly #outcomes = { created: 0, duplicate: 0, conflict: 0 }
  readonly #linePoints = { created: 0, duplicate: 0, skipped: 0, unkeyed: 0, refused: 0 }
  readonly #forwarded = { accepted: 0, rejected: 0 }
  /** Responses by pattern; the array index is the status. */
  readonly #answers = new Map<string, Float64Array>()
  readonly #refusals = new Map<ErrorCode, number>()
  readonly #groupMeasurements: Histogram
  readonly #commitSeconds: Histogram
  readonly #forwardSeconds: Histogram
  #isProcessWatched = false
  #rendering: Promise<{ type: string; text: string }> | undefined

  constructor() {
    const registers = [this.#registry]
    this.#groupMeasurements = new Histogram({
      name: `${PREFIX}commit_measurements`,
      help: 'Measurements stored in one commit',
      buckets: GROUP_MEASUREMENTS,
      registers,
    })
    this.#commitSeconds = new Histogram({
      name: `${PREFIX}commit_duration_seconds`,
      help: 'Time from handing a group to the commit thread until it is on disk',
      buckets: COMMIT_SECONDS,
      registers,
    })
    this.#forwardSeconds = new Histogram({
      name: `${PREFIX}forward_duration_seconds`,
      help: 'Time to write a batch into the measurement store',
      buckets: FORWARD_SECONDS,
      registers,
    })
    this.#addMeasurementCounts()
    this.#addAnswerCounts()
  }

  noteGroup({ created, duplicate, conflict, durationMs }: CommittedGroup): void {
    this.#outcomes.created += created
    this.#outcomes.duplicate += duplicate
    this.#outcomes.conflict += conflict
    // If nothing is new, nothing is written.
    if (created === 0) return
    this.#groupMeasurements.observe(created)
    this.#commitSeconds.observe(durationMs / SECOND_MS)
  }

  noteLinePoints({ created, duplicates, skipped, unkeyed, refused }: LinePoints): void {
    this.#linePoints.created += created
    this.#linePoints.duplicate += duplicates
    this.#linePoints.skipped += skipped
    this.#linePoints.unkeyed += unkeyed
    this.#linePoints.refused += refused
  }

  noteForwarded({ accepted, setAside }: ForwardedCount): void {
    this.#forwarded.accepted += accepted
    this.#forwarded.rejected += setAside
  }

  noteAnswer(route: string, status: number): void {
    let byStatus = this.#answers.get(route)
    if (byStatus === undefined) {
      byStatus = new Float64Array(STATUS_END)
      this.#answers.set(route, byStatus)
    }
    byStatus[status]!++
  }

  noteRefusedSubmission(code: ErrorCode): void {
    this.#refusals.set(code, (this.#refusals.get(code) ?? 0) + 1)
  }

  noteForwardDuration(durationMs: number): void {
    this.#forwardSeconds.observe(durationMs / SECOND_MS)
  }

  /** Adds the gauges of the service's state. Called once, when everything is open. */
  watch(state: WatchedState): void {
    addStateGauges(this.#registry, state)
  }

  /** Adds the gauge of open subscriptions. */
  watchSubscriptions(count: () => number): void {
    addGauges(this.#registry, count, [
      { name: 'event_streams', help: 'Open streams of live events', read: (open) => open },
    ])
  }

  nameBuild(version: string): void {
    const info = new Gauge({
      name: `${PREFIX}build_info`,
      help: 'Which version this is; always 1',
      labelNames: ['version'],
      registers: [this.#registry],
    })
    info.set({ version }, 1)
  }

  /** All series as Prometheus text. Concurrent callers get the same text. */
  render(): Promise<{ type: string; text: string }> {
    this.#rendering ??= this.#render().finally(() => (this.#rendering = undefined))
    return this.#rendering
  }

  async #render(): Promise<{ type: string; text: string }> {
    if (!this.#isProcessWatched) this.#watchProcess()
    return { type: this.#registry.contentType, text: await this.#registry.metrics() }
  }

  #watchProcess(): void {
    this.#isProcessWatched = true
    collectDefaultMetrics({ register: this.#registry })
    for (const name of MISNAMED) this.#registry.removeSingleMetric(name)
  }

  #addMeasurementCounts(): void {
    const byOutcome = ['outcome']
    this.#addCounter('measurements', 'Measurements by outcome', byOutcome, (add) => {
      for (const [outcome, count] of Object.entries(this.#outcomes)) add({ outcome }, count)
    })
    const ofLines =
      'Line protocol: measurements created, duplicate and unkeyed; points skipped; lines refused'
    this.#addCounter('line_points', ofLines, byOutcome, (add) => {
      for (const [outcome, count] of Object.entries(this.#linePoints)) add({ outcome }, count)
    })
    const help = 'Measurements that the store took (accepted), or that were set aside (rejected)'
    this.#addCounter('forwarded_measurements', help, byOutcome, (add) => {
      for (const [outcome, count] of Object.entries(this.#forwarded)) add({ outcome }, count)
    })
  }

  #addAnswerCounts(): void {
    const labels = ['method', 'route', 'status']
    this.#addCounter('http_requests', 'Requests answered', labels, (add) => {
      for (const [address, byStatus] of this.#answers) {
        const [method = '', route = ''] = address.split(' ')
        byStatus.forEach((count, status) => {
          if (count > 0) add({ method, route, status: String(status) }, count)
        })
      }
    })
    const help = 'Submissions rejected'
    this.#addCounter('refused_submissions', help, ['code'], (add) => {
      for (const [code, count] of this.#refusals) add({ code }, count)
    })
  }

  #addCounter(
    name: string,
    help: string,
    labelNames: readonly string[],
    read: (add: (labels: Readonly<Record<string, string>>, count: number) => void) => void,
  ): void {
    const counter = new Counter({
      name: `${PREFIX}${name}_total`,
      help,
      labelNames,
      registers: [this.#registry],
      collect: () => {
        counter.reset()
        read((labels, count) => counter.inc(labels, count))
      },
    })
  }
}
