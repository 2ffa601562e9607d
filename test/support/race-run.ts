// A race: three processes that commit, forward and delete on one database, and everything that can
// end a process, a connection or a server, again and again.

import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { verifyDatabase } from '../../src/data-dir/verify-database.ts'
import { describeFinding } from '../../src/domain/finding.ts'
import { DAY_MS } from '../../src/domain/time.ts'
import { Database } from '../../src/postgres/server/database.ts'
import { PostgresMeasurementWriter } from '../../src/postgres/measurements/measurement-writer.ts'
import { migrate } from '../../src/postgres/server/migrate.ts'
import { newUser } from '../contract/open-data.ts'
import { ask, LosingProxy } from './lanes.ts'
import { cutProcesses } from './lock-waits.ts'
import { keepJournal, openProcess } from './postgres-process.ts'
import type { PostgresServer } from './postgres-server.ts'
import { checkRace } from './race-check.ts'
import type { RaceReport } from './race-check.ts'
import { RACE_RULES, RACE_USERS } from './race-events.ts'
import { until } from './until.ts'

const WORKER = join(import.meta.dirname, 'race-worker.ts')
const PROCESSES = 3
const UNSEEN = { begin: () => undefined, advance: () => undefined }
const WRITTEN = { setAside: [], durationMs: 0 }

export interface RaceLength {
  readonly seconds: number
  /** How long a process is stopped in the middle of what it does. */
  readonly stoppedMs: number
}

export async function runRace(
  server: PostgresServer,
  length: RaceLength,
): Promise<RaceReport & { refusals: Record<string, number> }> {
  const folder = mkdtempSync(join(tmpdir(), 'thermolog-race-'))
  try {
    return await new Race(server, length, folder).run()
  } finally {
    rmSync(folder, { recursive: true })
  }
}

class Race {
  readonly #server: PostgresServer
  readonly #length: RaceLength
  readonly #folder: string
  readonly #url: string
  readonly #startedAtMs = Date.now()
  readonly #files: string[] = []
  readonly #workers: ChildProcess[] = []
  readonly #refusals: Record<string, number> = {}

  constructor(server: PostgresServer, length: RaceLength, folder: string) {
    this.#server = server
    this.#length = length
    this.#folder = folder
    this.#url = server.url()
  }

  async run(): Promise<RaceReport & { refusals: Record<string, number> }> {
    await migrate(this.#url)
    await keepJournal(this.#url)
    const first = await openProcess(this.#url, RACE_RULES)
    await Promise.all(RACE_USERS.map(() => newUser(first)))
    await first.close()
    const { proxy, url } = await LosingProxy.start(this.#url)
    const urls = Array.from({ length: PROCESSES }, (_, at) => (at === 0 ? url : this.#url))
    for (const [at, address] of urls.entries()) this.#start(at, address)
    await this.#disturb(proxy, urls)
    await Promise.all(this.#workers.map(ended))
    await proxy.stop()
    await until('the leases of processes that are gone have ended', () => isFree(this.#url))
    await drain(this.#url)
    const { faults, ...report } = await checkRace(this.#url, this.#files)
    const { findings } = await verifyDatabase({ url: this.#url, durability: 'local' }, UNSEEN)
    const found = findings.map(describeFinding)
    return { ...report, faults: [...faults, ...found], refusals: this.#refusals }
  }

  /** What was not accepted, and why. */
  #count(refusal: string): void {
    this.#refusals[refusal] = (this.#refusals[refusal] ?? 0) + 1
  }

  get #leftMs(): number {
    return this.#startedAtMs + this.#length.seconds * 1_000 - Date.now()
  }

  #start(at: number, url: string): void {
    const file = join(this.#folder, `${this.#files.length}.ndjson`)
    writeFileSync(file, '')
    this.#files.push(file)
    const values = [url, file, String(this.#leftMs / 1_000), String(this.#startedAtMs)]
    const worker = fork(WORKER, values, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
    worker.on('message', (text) => this.#count(JSON.stringify(text)))
    this.#workers[at] = worker
  }

  async #disturb(proxy: LosingProxy, urls: readonly string[]): Promise<void> {
    const acts = [
      async () => void (proxy.loseAnswer = 'COMMIT'),
      () => cutProcesses(this.#url),
      () => this.#kill(1, urls[1] ?? ''),
      async () => void (proxy.loseAnswer = 'COMMIT'),
      () => this.#stopProcess(2),
      () => this.#crashServer(),
    ]
    for (let act = 0; this.#leftMs > 3_000; act++) {
      await pause(1_000)
      await acts[act % acts.length]?.()
    }
  }

  async #kill(at: number, url: string): Promise<void> {
    const worker = this.#workers[at]
    worker?.kill('SIGKILL')
    if (worker !== undefined) await ended(worker)
    this.#start(at, url)
  }

  /** Meanwhile its connections are cut, and others take its streams. */
  async #stopProcess(at: number): Promise<void> {
    this.#workers[at]?.kill('SIGSTOP')
    await cutProcesses(this.#url)
    await ask(this.#url, 'UPDATE streams SET lease_until = now()')
    await pause(1_000)
    await cutProcesses(this.#url)
    await pause(this.#length.stoppedMs - 1_000)
    this.#workers[at]?.kill('SIGCONT')
  }

  async #crashServer(): Promise<void> {
    await this.#server.stop('SIGQUIT')
    await this.#server.restart()
  }
}

async function ended(worker: ChildProcess): Promise<void> {
  if (worker.exitCode === null && worker.signalCode === null) await once(worker, 'exit')
}

/** Whether no process has a stream. */
async function isFree(url: string): Promise<boolean> {
  const held = (table: string) => `SELECT 1 FROM ${table} WHERE lease_until >= clock_timestamp()`
  return (await ask(url, `${held('streams')} UNION ALL ${held('stream_forwarded')}`)).length === 0
}

/** Forwards and deletes what is left. */
async function drain(url: string): Promise<void> {
  const data = await openProcess(url, RACE_RULES)
  const database = new Database(url, 2)
  const writer = new PostgresMeasurementWriter(database)
  for (let batch = await data.queue.claim(5_000); batch; batch = await data.queue.claim(5_000)) {
    await writer.write(batch)
    await data.queue.settle(batch, WRITTEN)
  }
  const due = () => data.jobs.due(Date.now() + DAY_MS)
  for (let jobs = await due(); jobs.length > 0; jobs = await due()) {
    for (const job of jobs) {
      await writer.deleteSensor(job, job.range)
      await data.jobs.notePass(job, undefined)
    }
  }
  await database.close()
  await data.close()
}
