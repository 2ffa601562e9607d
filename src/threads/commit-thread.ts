// The commit thread: the only writer of control.db. It takes groups of submissions and changes of
// users, tokens and sensors one after the other, and starts the seal thread.
//
// An error of the disk during a commit leaves open whether the group is stored: the thread ends
// with it, the process after it, and the next start finds out from the file.

import { once } from 'node:events'
import { join } from 'node:path'
import { parentPort, Worker, workerData } from 'node:worker_threads'
import { threadHeap } from '../domain/limits.ts'
import { ControlCommands } from '../sqlite/control/control-commands.ts'
import { CONTROL_MIGRATIONS } from '../sqlite/control/schema.ts'
import { SensorDirectory } from '../sqlite/control/sensor-directory.ts'
import type { CommitAnswer, CommitRequest, CommitThreadData } from '../sqlite/commit-channel.ts'
import {
  CONTROL_FILE,
  isDiskFault,
  isStorageFull,
  LEDGER_FILE,
  openForReading,
  openForWriting,
} from '../sqlite/database.ts'
import { Committer } from '../sqlite/journal/committer.ts'
import type { GroupFrame } from '../sqlite/journal/group-frame.ts'
import { Ledger } from '../sqlite/ledger/ledger.ts'
import { systemClock } from '../system/clock.ts'
import type { SealAnswer, SealStarted, SealThreadData, SealThreadRequest } from './seal-thread.ts'

const data = workerData as CommitThreadData
const port = parentPort
if (port === null) throw new Error('BUG: the commit thread is started as a program')

/** How often rows that are done with are cleared away while nothing is committed. */
const TIDY_EVERY_MS = 1_000

const controlFile = join(data.dataDir, CONTROL_FILE)
const control = openForWriting(controlFile, CONTROL_MIGRATIONS)
const sealer = new Worker(new URL('./seal-thread.ts', import.meta.url), {
  workerData: { dataDir: data.dataDir, epochEvents: data.epochEvents } satisfies SealThreadData,
  resourceLimits: threadHeap,
})
const [{ started: storedRuns }] = (await once(sealer, 'message')) as [SealStarted]

const ledgerFile = openForReading(join(data.dataDir, LEDGER_FILE))
const ledger = new Ledger(
  { control, ledger: ledgerFile },
  storedRuns,
  data.epochEvents,
  (request) => sealer.postMessage(request satisfies SealThreadRequest),
)
const sensors = new SensorDirectory(control)
const committer = new Committer(control, ledger, { sensors, clock: systemClock }, data)
const commands = new ControlCommands(control, sensors, systemClock, data)
const heldBack: { id: number; group: GroupFrame }[] = []
const tidying = setInterval(tidy, TIDY_EVERY_MS)

sealer.on('error', (error) => {
  throw error
})
sealer.on('message', (news: SealAnswer) => {
  if ('sealed' in news) {
    ledger.noteSealed(news.throughSeq, news.sealed)
    for (const held of heldBack.splice(0)) commitGroup(held.id, held.group)
  } else if ('merged' in news) {
    ledger.sealed.noteMerged(news.merged)
  }
})

port.on('message', (request: CommitRequest) => {
  if ('group' in request) commitGroup(request.id, request.group)
  else if ('command' in request) runCommand(request)
  else if ('forwardedSeq' in request) committer.noteForwarded(request.forwardedSeq)
  else void close(request.id)
})
answer({ started: true })

function commitGroup(id: number, group: GroupFrame): void {
  if (ledger.isBehind) {
    heldBack.push({ id, group })
    return
  }
  try {
    const result = committer.commit(group)
    answer({ id, group: result })
  } catch (error) {
    if (!isStorageFull(error)) throw error
    answer({ id, storageFull: true })
  }
}

function runCommand(request: Extract<CommitRequest, { command: unknown }>): void {
  const { id, command, args } = request
  // It asks whether the watermark is written down.
  if (command === 'noteDeletionPass') tidy()
  try {
    const run = commands[command] as (...args: unknown[]) => unknown
    answer({ id, result: run.apply(commands, args) })
  } catch (error) {
    if (isStorageFull(error)) answer({ id, storageFull: true })
    else if (isDiskFault(error)) throw error
    else answer({ id, failure: error instanceof Error ? error.message : String(error) })
  }
}

// What could not be cleared away on a full disk is cleared away later.
function tidy(): void {
  try {
    committer.tidy()
  } catch (error) {
    if (!isStorageFull(error)) throw error
  }
}

async function close(id: number): Promise<void> {
  clearInterval(tidying)
  tidy()
  const sealerEnded = new Promise((resolve) => sealer.once('exit', resolve))
  // Who closes a file last empties its log, and only a writer can.
  ledgerFile.close()
  sealer.postMessage({ close: true } satisfies SealThreadRequest)
  await sealerEnded
  control.close()
  answer({ id, result: undefined })
}

function answer(message: CommitAnswer): void {
  port?.postMessage(message)
}
