// The commit thread: the only writer of control.db. It takes groups of submissions and changes of
// users, tokens and sensors one after the other, as they come from the look-up thread, which it
// starts.
//
// An error of the disk during a commit leaves open whether the group is stored: the thread ends
// with it, the process after it, and the next start finds out from the file.

import { once } from 'node:events'
import { join } from 'node:path'
import { parentPort, Worker, workerData } from 'node:worker_threads'
import { threadHeap } from '../domain/limits.ts'
import { ControlCommands } from '../sqlite/control/control-commands.ts'
import { CONTROL_MIGRATIONS } from '../sqlite/control/schema.ts'
import { SensorDirectory } from '../sqlite/commit/sensor-directory.ts'
import type {
  CommitAnswer,
  CommitRequest,
  CommitThreadData,
} from '../sqlite/commit/commit-channel.ts'
import {
  CONTROL_FILE,
  isDiskFault,
  isStorageFull,
  LEDGER_FILE,
  openForReading,
  openForWriting,
} from '../sqlite/database.ts'
import { Committer } from '../sqlite/commit/committer.ts'
import type { GroupFrame } from '../sqlite/commit/group-frame.ts'
import { Ledger } from '../sqlite/ledger/ledger.ts'
import { systemClock } from '../system/clock.ts'
import type { LookUpAnswer, LookUpThreadData, LookUpThreadRequest } from './look-up-thread.ts'

const data = workerData as CommitThreadData
const { dataDir, epochEvents, requests } = data
const port = parentPort
if (port === null) throw new Error('BUG: the commit thread is started as a program')

/** How often rows that are done with are cleared away while nothing is committed. */
const TIDY_EVERY_MS = 1_000

const control = openForWriting(join(dataDir, CONTROL_FILE), CONTROL_MIGRATIONS)
const lookUps = new Worker(new URL('./look-up-thread.ts', import.meta.url), {
  workerData: { dataDir, epochEvents, requests } satisfies LookUpThreadData,
  transferList: [requests],
  resourceLimits: threadHeap,
})
await once(lookUps, 'message')

const ledgerFile = openForReading(join(dataDir, LEDGER_FILE))
const ledger = new Ledger({ control, ledger: ledgerFile }, epochEvents, (request) =>
  lookUps.postMessage(request satisfies LookUpThreadRequest),
)
const sensors = new SensorDirectory(control)
const committer = new Committer(control, ledger, { sensors, clock: systemClock }, data)
const commands = new ControlCommands(control, sensors, systemClock, data)
const tidying = setInterval(tidy, TIDY_EVERY_MS)

lookUps.on('error', (error) => {
  throw error
})
lookUps.on('message', (request: LookUpAnswer) => {
  if ('group' in request) commitGroup(request.id, request.group)
  else if ('sealedThroughSeq' in request) ledger.noteSealed(request.sealedThroughSeq)
  else if ('command' in request) runCommand(request)
  else if ('forwardedSeq' in request) committer.noteForwarded(request.forwardedSeq)
  else if ('close' in request) void close(request.id)
})
answer({ started: true })

function commitGroup(id: number, group: GroupFrame): void {
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
  const lookUpsEnded = once(lookUps, 'exit')
  ledgerFile.close()
  lookUps.postMessage({ close: true } satisfies LookUpThreadRequest)
  await lookUpsEnded
  control.close()
  answer({ id, result: undefined })
}

function answer(message: CommitAnswer): void {
  port?.postMessage(message)
}
