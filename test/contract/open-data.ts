// What a journal and the control data of one engine look like to the suites that hold every engine
// to the same promises.

import type { AcceptanceRules } from '../../src/domain/acceptance.ts'
import type { Receipt, Submission, SubmittedMeasurement } from '../../src/domain/measurement.ts'
import type { MeasurementColumns } from '../../src/domain/measurement-columns.ts'
import type { SensorAccount } from '../../src/domain/sensor-account.ts'
import type { ControlReader } from '../../src/ports/control-reader.ts'
import type { ControlWriter } from '../../src/ports/control-writer.ts'
import type { JournalQueue, QueueFigures, ReadBarrier } from '../../src/ports/journal-queue.ts'
import type { SensorDeletionJobs, StoreUpkeep } from '../../src/ports/store-upkeep.ts'
import type {
  RejectedSubmission,
  SubmissionCommitter,
  SubmissionOutcome,
} from '../../src/ports/submissions.ts'

/** One process that works on the data. */
export interface OpenData {
  readonly committer: SubmissionCommitter
  readonly queue: JournalQueue
  readonly jobs: SensorDeletionJobs
  readonly barrier: ReadBarrier
  readonly figures: QueueFigures
  readonly control: ControlReader
  readonly controlWriter: ControlWriter
  readonly storeUpkeep: StoreUpkeep
  readonly accounts: {
    read(sensorIds: readonly number[]): Promise<ReadonlyMap<number, SensorAccount>>
  }
  close(): Promise<void>
}

/** New data of an engine. */
export interface TestData<Open extends OpenData = OpenData> {
  /** Opens them; who had them open before has closed them. */
  open(): Promise<Open>
  /** Copies them while they are closed. @returns puts them back as a restore does */
  backUp?(): Promise<() => Promise<void>>
  remove(): Promise<void>
}

export type NewData<Open extends OpenData = OpenData> = (
  rules: AcceptanceRules,
) => Promise<TestData<Open>>

export const PERMISSIVE: AcceptanceRules = {
  mayRegisterSensors: true,
  sensorsPerUserMax: 3,
  futureMsMax: 300_000,
  measuredAtMsMin: Date.UTC(2010, 0, 1),
}

export const NOW_MS = Date.UTC(2026, 10, 20)

export function measurement(change: Partial<SubmittedMeasurement> = {}): SubmittedMeasurement {
  const plain = { eventId: null, serialNumber: 'cellar', tempCelsius: 11.75, measuredAtMs: NOW_MS }
  return { ...plain, ...change }
}

export function submission(
  userId: number,
  ...measurements: readonly SubmittedMeasurement[]
): Submission {
  return { userId, receivedAtMs: NOW_MS, measurements }
}

/** Commits submissions in one group. */
export async function commit(
  { committer }: OpenData,
  ...submissions: readonly Submission[]
): Promise<readonly SubmissionOutcome[]> {
  const group = committer.beginGroup()
  for (const one of submissions) group.add(one, false)
  return committer.commit(group)
}

/** Commits one submission that is to be accepted. */
export async function accept(data: OpenData, one: Submission): Promise<Receipt> {
  const [outcome] = await commit(data, one)
  if (outcome === undefined || 'code' in outcome) throw new Error(`refused: ${outcome?.code}`)
  return outcome
}

export function statuses(receipt: Receipt): string[] {
  return Array.from({ length: receipt.count }, (_, at) => receipt.at(at).status)
}

export function asRefused(outcome: SubmissionOutcome | undefined): RejectedSubmission {
  if (outcome !== undefined && 'code' in outcome) return outcome
  throw new Error('it was accepted')
}

/** Rows as `sensor:milliseconds after NOW_MS:tie-break`. */
export function placesOf({ count, sensorId, measuredAtMs, tieBreakNs }: MeasurementColumns) {
  return Array.from({ length: count }, (_, at) => {
    return `${sensorId[at]}:${(measuredAtMs[at] ?? 0) - NOW_MS}:${tieBreakNs[at]}`
  })
}

let users = 0

export async function newUser({ controlWriter }: OpenData): Promise<number> {
  const user = await controlWriter.createUser(`user-${++users}@example.org`, '')
  if (user === undefined) throw new Error('the address is taken')
  return user.id
}

/**
 * Gives each test of a suite new data with a user.
 *
 * @param use is handed both, again when the data are opened again
 * @returns closes the data and opens them again
 */
export function openForEach<Open extends OpenData>(
  newData: NewData<Open>,
  use: (data: Open, userId: number) => void,
): () => Promise<void> {
  let files: TestData<Open>
  let data: Open
  let userId: number
  beforeEach(async () => {
    files = await newData(PERMISSIVE)
    data = await files.open()
    userId = await newUser(data)
    use(data, userId)
  })
  afterEach(async () => {
    await data.close()
    await files.remove()
  })
  return async () => {
    await data.close()
    data = await files.open()
    use(data, userId)
  }
}
