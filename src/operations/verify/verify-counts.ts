// Compares the measurement store with the control data, sensor by sensor: the number of
// measurements on each day, and whether the latest value is the newest of them. Sensors are checked
// in groups, because finding what is on its way means reading all of it. Whatever a look finds
// wrong, or cannot decide, is looked at again a little later, so that movement is not reported as a
// fault.

import type { Finding, Report } from '../../domain/finding.ts'
import type { RawPoint } from '../../domain/history.ts'
import { newestAtMs } from '../../domain/sensor-account.ts'
import type { DayCounts, LatestEvidence, SensorAccount } from '../../domain/sensor-account.ts'
import { DAY_MS, EVER, formatInstant } from '../../domain/time.ts'
import type { TimeRange } from '../../domain/time.ts'
import type { MeasurementReader } from '../../ports/measurement-store.ts'
import { compareDays, compareLatest } from './compare-account.ts'
import type { Looked, WrongDay } from './compare-account.ts'

const SENSORS_AT_ONCE = 500

/** The watermark of forwarding is saved within a second; this is three times as long. */
const PAUSES_MS = [20, 50, 100, 200, 400, 800, 1_600]

/** Something found wrong this many times in a row, with nothing moving, is wrong. */
const EQUAL_LOOKS = 3

export interface SensorCheckCollaborators {
  readonly control: {
    /** Their name in findings. */
    readonly name: string
    sensorsAfter(sensorId: number, limit: number): Promise<readonly number[]>
    /** The accounts of the live sensors among these, all read at one moment. */
    read(sensorIds: readonly number[]): Promise<ReadonlyMap<number, SensorAccount>>
    mayHaveDropped(): Promise<boolean>
  }
  readonly store: {
    /** Its name in findings. */
    readonly name: string
    /** What to do if it lacks measurements. */
    readonly missingRemedy: string
    /** @throws StoreUnavailable */
    countByDay(sensorId: number, range: TimeRange): Promise<DayCounts>
  }
  readonly reader: Pick<MeasurementReader, 'readRaw'>
  readonly pause: (durationMs: number) => Promise<unknown>
  readonly report: Report
  /** Reports how many more measurements have been counted. */
  readonly advance: (measurements: number) => void
}

/** What is still undecided about a sensor after a look. */
interface Open {
  readonly range: TimeRange
  /** The undecided days; `undefined`: all. */
  readonly days: ReadonlySet<number> | undefined
  readonly isLatestOpen: boolean
}

/** What a look has found in the store. */
interface Found {
  readonly stored: DayCounts
  readonly newest: LatestEvidence
  readonly mayHaveDropped: boolean
}

const ALL_OPEN: Open = { range: EVER, days: undefined, isLatestOpen: true }

export interface SensorsChecked {
  readonly sensors: number
  /** How many of them were accepted. */
  readonly measurements: number
  /**
   * Sensors that kept receiving measurements: the difference is no larger than what is on its way.
   */
  readonly moving: number
}

/** Checks every sensor that still exists when its turn comes. */
export async function verifySensors(
  collaborators: SensorCheckCollaborators,
): Promise<SensorsChecked> {
  const checked = { sensors: 0, measurements: 0, moving: 0 }
  let lastId = 0
  for (;;) {
    const ids = await collaborators.control.sensorsAfter(lastId, SENSORS_AT_ONCE)
    const group = new SensorGroup(collaborators, ids)
    await group.check()
    checked.sensors += ids.length
    checked.measurements += group.measurements
    checked.moving += group.moving
    if (ids.length < SENSORS_AT_ONCE) return checked
    lastId = ids.at(-1) ?? lastId
  }
}

class SensorGroup {
  readonly #with: SensorCheckCollaborators
  #open: Map<number, Open>
  /** What was wrong at the last look. */
  #findings: Finding[] = []
  /** Whether the last look left something undecided. */
  #isMoving = false
  measurements = 0
  moving = 0

  constructor(collaborators: SensorCheckCollaborators, ids: readonly number[]) {
    this.#with = collaborators
    this.#open = new Map(ids.map((id) => [id, ALL_OPEN]))
  }

  async check(): Promise<void> {
    await this.#look(true)
    let equalLooks = 1
    for (const pauseMs of PAUSES_MS) {
      if (this.#open.size === 0 || equalLooks === EQUAL_LOOKS) break
      await this.#with.pause(pauseMs)
      const before = this.#findings
      await this.#look(false)
      const isEqual = JSON.stringify(this.#findings) === JSON.stringify(before)
      equalLooks = isEqual && !this.#isMoving ? equalLooks + 1 : 1
    }
    for (const finding of this.#findings) this.#with.report(finding)
    const wrong = new Set(this.#findings.map(({ sensorId }) => sensorId))
    this.moving = [...this.#open.keys()].filter((sensorId) => !wrong.has(sensorId)).length
  }

  async #look(isFirst: boolean): Promise<void> {
    const { control } = this.#with
    const ids = [...this.#open.keys()]
    const before = await control.read(ids)
    const looks = new Map<number, { stored: DayCounts; newest: LatestEvidence }>()
    for (const [sensorId, account] of before) {
      const { range } = this.#open.get(sensorId) ?? ALL_OPEN
      const stored = await this.#with.store.countByDay(sensorId, range)
      looks.set(sensorId, { stored, newest: await this.#readNewest(account) })
      if (isFirst) this.#count(account)
    }
    // A sensor deleted in the meantime is in none of these.
    const after = await control.read(ids)
    this.#findings = []
    this.#isMoving = false
    const open = this.#open
    this.#open = new Map()
    const mayHaveDropped = await control.mayHaveDropped()
    for (const [sensorId, { stored, newest }] of looks) {
      const accounts = { before: before.get(sensorId), after: after.get(sensorId) }
      if (accounts.before === undefined || accounts.after === undefined) continue
      const looked = { before: accounts.before, after: accounts.after }
      const found = { stored, newest, mayHaveDropped }
      this.#compare(looked, found, open.get(sensorId) ?? ALL_OPEN)
    }
  }

  #compare(
    looked: Looked,
    { stored, newest, mayHaveDropped }: Found,
    { days, isLatestOpen }: Open,
  ): void {
    const { sensorId } = looked.before
    const { name: where } = this.#with.store
    const { wrong, moving } = compareDays(looked, stored, (day) => days?.has(day) ?? true)
    const latest = isLatestOpen ? compareLatest(looked, newest, mayHaveDropped) : 'right'
    for (const day of wrong) {
      const described = describeDay(day, this.#with.store.missingRemedy)
      this.#findings.push({ where, sensorId, ...described })
    }
    if (typeof latest === 'object') {
      const described = describeLatest(latest.wrong, looked.before, newest)
      this.#findings.push({ where: this.#with.control.name, sensorId, ...described })
    }
    if (moving.length > 0 || latest === 'moving') this.#isMoving = true
    const openDays = new Set([...wrong.map(({ dayMs }) => dayMs), ...moving])
    if (openDays.size === 0 && latest === 'right') return
    const range = rangeOf([...openDays])
    this.#open.set(sensorId, { range, days: openDays, isLatestOpen: latest !== 'right' })
  }

  async #readNewest({ sensorId, latest }: SensorAccount): Promise<LatestEvidence> {
    let atLatest: RawPoint | undefined
    if (latest === undefined) return { atLatest, later: undefined }
    const range = { sensorIds: [sensorId], startMs: latest.measuredAtMs, stopMs: EVER.stopMs }
    for await (const points of this.#with.reader.readRaw(range)) {
      const isAtLatest = ({ measuredAtMs }: RawPoint) => measuredAtMs === latest.measuredAtMs
      atLatest = points.findLast(isAtLatest) ?? atLatest
      const later = points.find(({ measuredAtMs }) => measuredAtMs > newestAtMs(latest))
      if (later !== undefined) return { atLatest, later }
    }
    return { atLatest, later: undefined }
  }

  #count({ accepted }: SensorAccount): void {
    const measurements = accepted.values().reduce((sum, count) => sum + count, 0)
    this.measurements += measurements
    this.#with.advance(measurements)
  }
}

function rangeOf(days: readonly number[]): TimeRange {
  if (days.length === 0) return { startMs: EVER.startMs, stopMs: EVER.startMs + DAY_MS }
  return { startMs: Math.min(...days), stopMs: Math.max(...days) + DAY_MS }
}

function describeDay({ dayMs, kind, expected, found }: WrongDay, missingRemedy: string) {
  const isMissing = kind === 'missing'
  const accepted = `${expected} measurements were accepted${isMissing ? ' and forwarded' : ''}`
  const surplus =
    'Delete none of them: if the accounts were restored to an earlier time than the store, they ' +
    'were acknowledged, and are counted when daemons send them again. Else somebody else writes ' +
    'to the store: keep them from it.'
  return {
    check: 'counts' as const,
    dayMs,
    problem: `${accepted}, ${found} are stored`,
    remedy: isMissing ? missingRemedy : surplus,
  }
}

function describeLatest(problem: string, { latest }: SensorAccount, { later }: LatestEvidence) {
  const time = latest === undefined ? 'there is none' : formatInstant(latest.measuredAtMs)
  const stored =
    later === undefined ? '' : `, one of ${formatInstant(later.measuredAtMs)} is stored`
  return {
    check: 'latest' as const,
    problem: `${problem} (latest: ${time}${stored})`,
    remedy:
      'The next newer measurement of the sensor puts it right; till then, believe its history.',
  }
}
