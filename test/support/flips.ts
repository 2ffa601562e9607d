// A data directory with something of all there is, in files and in their logs, killed, of which one
// bit at a time is flipped: started again and asked for all that was answered before, it gives the
// same answer, or none.

import { randomInt, randomUUID } from 'node:crypto'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { ServiceError } from '../../src/domain/errors.ts'
import type { Finding } from '../../src/domain/finding.ts'
import type { Submission } from '../../src/domain/measurement.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/domain/time.ts'
import { createControlReader } from '../../src/sqlite/control/control-reader.ts'
import { DamagedData, isDamage, openTagged } from '../../src/sqlite/database.ts'
import { JournalReader } from '../../src/sqlite/journal/journal-reader.ts'
import { SqliteMeasurementReader } from '../../src/sqlite/measurements/measurement-reader.ts'
import { SqliteMeasurementWriter } from '../../src/sqlite/measurements/measurement-writer.ts'
import { checkFile } from '../../src/sqlite/verify/file-check.ts'
import { FilesAtRest } from '../../src/sqlite/verify/files-at-rest.ts'
import { CommitterBench } from './committer.ts'
import { collect } from './measurements.ts'

const NOW_MS = 1_800_000_000_000
const USER_ID = 1
const EPOCH_EVENTS = 256
const EPOCHS = 9
const SENSORS = 4
const EVER = { startMs: 0, stopMs: NOW_MS + DAY_MS }
const FILES = [
  'control.db',
  'control.db-wal',
  'ledger.db',
  'ledger.db-wal',
  'measurements.db',
  'measurements.db-wal',
] as const

type DataFile = (typeof FILES)[number]

/** In the first frame of a log, and in the first page of a file, which may lie in the log anew. */
const FIRST_AT = 100

/** A few can all be harmless by chance: so many more are tried until one is noticed. */
const MORE_FLIPS = 200

/** After so many epochs, the logs are moved into their files. */
const EPOCHS_IN_FILES = 7

/** An answer to each question. */
type Answers = ReadonlyMap<string, string>

/** Instead of an answer. */
const REFUSED = 'refused'

class FlippedData {
  readonly #bench = new CommitterBench({}, EPOCH_EVENTS)
  /** What has event ids, and so can be repeated. */
  readonly #repeatable: Submission[] = []
  /** All there is, by name. */
  readonly #whole = new Map<string, Buffer>()
  #answers: Answers = new Map()

  /** Sends measurements, seals and merges some, forwards some, and is killed. */
  async prepare(): Promise<void> {
    const bench = this.#bench
    bench.control.exec(
      `INSERT INTO users (email, email_key, name, created_at_ms) VALUES ('a', 'a', 'Ada', 1);
       INSERT INTO access_tokens (user_id, kind, name, rights, hash, created_at_ms)
         VALUES (1, 'daemon', 'attic', 'measurements:write', x'01', 1)`,
    )
    const writer = new SqliteMeasurementWriter(join(bench.dir, 'measurements.db'))
    for (let epoch = 0; epoch < EPOCHS; epoch++) {
      const submission = freshMeasurements(EPOCH_EVENTS - 1, epoch)
      expect(bench.commit([submission]).rejections).to.deep.equal([])
      this.#repeatable.push(withEventIds(submission))
      // The last merge stops half way.
      bench.seal(epoch === EPOCHS - 1 ? 1 : Infinity)
      await forward(bench, writer)
      if (epoch === EPOCHS_IN_FILES - 1) moveLogs(bench)
    }
    // As a killed process leaves them: what it closed would be without logs.
    for (const name of readdirSync(bench.dir)) {
      if (!name.endsWith('-shm')) this.#whole.set(name, readFileSync(join(bench.dir, name)))
    }
    await writer.close()
    this.#close()
    this.#restore()
    this.#answers = await this.#ask()
    expect([...this.#answers.values()]).to.not.include(REFUSED)
  }

  remove(): void {
    this.#restore()
    this.#bench.open()
    this.#bench.close()
  }

  bytesOf(file: DataFile): number {
    return this.#bytes(file).length
  }

  /** Flips a bit of a byte. @returns whether that is noticed; it is harmless where nothing reads */
  async flip(file: DataFile, at: number): Promise<boolean> {
    const bit = randomInt(8)
    this.#restore()
    const flipped = Buffer.from(this.#bytes(file))
    flipped[at] = (flipped[at] ?? 0) ^ (1 << bit)
    writeFileSync(join(this.#bench.dir, file), flipped)
    const isFound = this.#verify(file.replace('-wal', ''))
    const answers = await this.#ask()
    const place = `bit ${bit} of byte ${at} of ${file}`
    for (const [question, answer] of answers) {
      const expected = answer === REFUSED ? REFUSED : this.#answers.get(question)
      expect(answer, `${question} with ${place} flipped`).to.equal(expected)
    }
    const isRefused = [...answers.values()].includes(REFUSED)
    if (isRefused) expect(isFound, `verify finds ${place}`).to.equal(true)
    return isRefused
  }

  #bytes(file: DataFile): Buffer {
    return this.#whole.get(file) ?? Buffer.alloc(0)
  }

  #verify(file: string): boolean {
    const found: Finding[] = []
    try {
      if (!checkFile(join(this.#bench.dir, file), (finding) => found.push(finding))) return true
      found.push(...findingsAtRest(this.#bench.dir))
    } catch (error) {
      // Another format.
      expect(error).to.be.instanceOf(Error)
      return true
    }
    return found.length > 0
  }

  /** Starts, asks for everything and stops. A start that is refused answers nothing. */
  async #ask(): Promise<Answers> {
    const answers = new Map<string, string>()
    const ask = async (question: string, find: () => unknown) => {
      answers.set(question, await answerOf(find))
    }
    try {
      await ask('start', () => {
        const [finding] = findingsAtRest(this.#bench.dir)
        if (finding !== undefined) throw new DamagedData(finding.problem)
        this.#bench.open()
      })
      if (answers.get('start') === REFUSED) return answers
      for (const [at, submission] of this.#repeatable.entries()) {
        await ask(`repeat ${at}`, () => this.#receiptOf(submission))
      }
      await this.#askControl(ask)
      await this.#askHistories(ask)
      await ask('news', () => this.#receiptOf(freshMeasurements(SENSORS, EPOCHS)))
    } finally {
      this.#close()
    }
    return answers
  }

  #receiptOf(submission: Submission): unknown {
    const { rejections, status, sensorId, measuredAtMs } = this.#bench.commit([submission])
    const [rejection] = rejections
    if (rejection?.code === 'data_damaged') throw new DamagedData('refused')
    return [rejections, [...status], [...sensorId], [...measuredAtMs]]
  }

  async #askControl(ask: Ask): Promise<void> {
    const control = createControlReader(this.#bench.control)
    await ask('dashboard', () => control.listSensors(USER_ID))
    await ask('user', () => control.findUser('a'))
    await ask('token', () => control.findPrincipal(Buffer.of(1)))
    for (let sensorId = 1; sensorId <= SENSORS; sensorId++) {
      await ask(`days of ${sensorId}`, () => control.listAcceptedDays(sensorId, EVER))
    }
  }

  async #askHistories(ask: Ask): Promise<void> {
    const file = join(this.#bench.dir, 'measurements.db')
    const opened: SqliteMeasurementReader[] = []
    await ask('store', () => opened.push(new SqliteMeasurementReader(file)))
    const [reader] = opened
    if (reader === undefined) return
    for (let sensorId = 1; sensorId <= SENSORS; sensorId++) {
      const range = { sensorIds: [sensorId], ...EVER }
      await ask(`raw history of ${sensorId}`, () => collect(reader.readRaw(range)))
      for (const windowMs of [MINUTE_MS, 15 * MINUTE_MS, HOUR_MS, DAY_MS]) {
        const windows = () => collect(reader.readWindows(range, windowMs))
        await ask(`history of ${sensorId} by ${windowMs}`, windows)
      }
    }
    await reader.close()
  }

  #restore(): void {
    for (const name of readdirSync(this.#bench.dir)) rmSync(join(this.#bench.dir, name))
    for (const [name, bytes] of this.#whole) writeFileSync(join(this.#bench.dir, name), bytes)
  }

  #close(): void {
    this.#bench.control.close()
    this.#bench.ledgerFile.close()
  }
}

function findingsAtRest(dataDir: string): readonly Finding[] {
  const files = new FilesAtRest(dataDir)
  files.close()
  return files.findings
}

/** What the journal has that the store has not, for good. */
async function forward(bench: CommitterBench, writer: SqliteMeasurementWriter): Promise<void> {
  const journal = new JournalReader(bench.control)
  const batch = journal.readBatch(journal.forwardedSeq(), 1_000_000)
  if (batch === undefined) return
  await writer.write(batch)
  await writer.sync()
  bench.committer.noteForwarded(batch.place.seq)
}

/** Into their files, as when they have become long. */
function moveLogs({ dir, control, ledgerFile }: CommitterBench): void {
  const measurements = openTagged(join(dir, 'measurements.db'))
  for (const db of [control, ledgerFile, measurements]) db.pragma('wal_checkpoint(RESTART)')
  measurements.close()
}

/** The tests of it, of so many flips in each file. */
export function changesNoAnswer(flips: number): void {
  const data = new FlippedData()
  before(() => data.prepare())
  after(() => data.remove())

  for (const file of FILES) {
    it(`changes no answer, and is named by verify: ${file}`, async () => {
      const bytes = data.bytesOf(file)
      let refused = Number(await data.flip(file, FIRST_AT))
      const flipAnywhere = async () => {
        refused += Number(await data.flip(file, randomInt(bytes)))
      }
      for (let flip = 1; flip < flips; flip++) await flipAnywhere()
      process.stderr.write(`      ${refused} of ${flips} were refused, the others never needed\n`)
      for (let more = 0; more < MORE_FLIPS && refused === 0; more++) await flipAnywhere()
      expect(refused).to.be.greaterThan(0)
    })
  }
}

type Ask = (question: string, find: () => unknown) => Promise<void>

/** @throws what is no damage */
async function answerOf(find: () => unknown): Promise<string> {
  try {
    return JSON.stringify(await find()) ?? ''
  } catch (error) {
    if (isRefusal(error)) return REFUSED
    throw error
  }
}

/** Of damage, with a name for it, or of a file that is another one. */
function isRefusal(error: unknown): boolean {
  if (error instanceof ServiceError) return error.code === 'data_damaged'
  if (error instanceof DamagedData || isDamage(error)) return true
  return error instanceof Error && /has schema version/.test(error.message)
}

function withEventIds({ measurements, ...rest }: Submission): Submission {
  const all = Array.from({ length: measurements.length }, (_, at) => measurements.at(at)!)
  return { ...rest, measurements: all.filter(({ eventId }) => eventId !== null) }
}

/** Of all sensors, in a time of their own. */
function freshMeasurements(count: number, epoch: number): Submission {
  const measurements = Array.from({ length: count }, (_, at) => ({
    eventId: at % 8 === 7 ? null : randomUUID(),
    serialNumber: `s-${at % SENSORS}`,
    tempCelsius: at / 8,
    measuredAtMs: NOW_MS - (epoch * count + at) * 50_000,
  }))
  return { userId: USER_ID, receivedAtMs: NOW_MS, measurements }
}
