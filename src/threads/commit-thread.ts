// The commit thread: the only writer of control.db. It commits groups of submissions and changes to
// users, tokens and sensors in the order in which the look-up thread passes them on.
//
// After a disk error during a commit, nobody knows whether the group is stored: the thread ends,
// then the process, and the next start finds out from the file.

import { once } from 'node:events'
import { parentPort, workerData } from 'node:worker_threads'
import { UserDeletions } from '../sqlite/control/deletions.ts'
import { createControlCommands } from '../sqlite/control/control-commands.ts'
import { openControl } from '../sqlite/control/schema.ts'
import type { CommitAnswer, CommitRequest } from '../sqlite/commit/commit-channel.ts'
import { isDiskFault, isStorageFull, LEDGER_FILE, openForReading } from '../sqlite/database.ts'
import { Committer } from '../sqlite/commit/committer.ts'
import type { GroupResult } from '../sqlite/commit/group-frame.ts'
import { Ledger } from '../sqlite/ledger/ledger.ts'
import { LogKeeper } from '../sqlite/log/log-keeper.ts'
import { BelievedClock } from '../system/believed-clock.ts'
import { logBytesMax } from '../domain/limits.ts'
import { systemClock } from '../system/clock.ts'
import type { CommitThreadData, LookUpAnswer } from './messages.ts'

const data = workerData as CommitThreadData
const { dataDir, epochEvents, lookUps } = data
const port = parentPort
if (port === null) throw new Error('BUG: the commit thread is started as a program')
await once(port, 'message')

/** How often finished rows, and those of deleted users, are deleted while nothing is committed. */
const TIDY_EVERY_MS = 1_000
/** Whoever stops the service does not wait for long. */
const FINISH_MS_MAX = 1_000

const LOG_KEEPING = { bytesMax: logBytesMax.control, mode: 'PASSIVE' } as const

const control = openControl(dataDir)
const log = new LogKeeper(control, LOG_KEEPING)
const ledgerFile = openForReading(dataDir, LEDGER_FILE)
const ledger = new Ledger({ control, ledger: ledgerFile }, epochEvents, (request) =>
  lookUps.postMessage(request),
)
const clock = new BelievedClock(systemClock)
clock.watch()
const committer = new Committer(control, ledger, clock, data)
const deletions = new UserDeletions(control, clock)
const commands = createControlCommands(control, committer.sensors, clock, { ...data, deletions })
const tidying = setInterval(keepTidy, TIDY_EVERY_MS)
let tidyingOn: NodeJS.Immediate | undefined

lookUps.on('message', (request: LookUpAnswer) => {
  if ('group' in request) commitGroup(request)
  else if ('sealedThroughSeq' in request) ledger.noteSealed(request.sealedThroughSeq)
  else if ('command' in request) runCommand(request)
  else if ('forwardedSeq' in request) committer.noteForwarded(request.forwardedSeq)
  else if ('finish' in request) finish(request.id)
})
port.once('message', () => {
  log.close()
  port.close()
})
port.postMessage('started')

function commitGroup({ id, group }: Extract<CommitRequest, { group: unknown }>): void {
  let result: GroupResult
  try {
    result = committer.commit(group)
  } catch (error) {
    if (!isStorageFull(error)) throw error
    answer({ id, storageFull: true })
    return
  }
  log.noteCommitted()
  answer({ id, group: result })
}

function runCommand(request: Extract<CommitRequest, { command: unknown }>): void {
  const { id, command, args } = request
  // This command checks that the watermark has been written.
  if (command === 'noteDeletionPass') tidy()
  try {
    const run = commands[command] as (...args: unknown[]) => unknown
    const result = run.apply(commands, args)
    log.noteCommitted()
    answer({ id, result })
  } catch (error) {
    if (isStorageFull(error)) answer({ id, storageFull: true })
    else if (isDiskFault(error)) throw error
    else answer({ id, failure: error instanceof Error ? error.message : String(error) })
  }
}

/** Goes on at once while a user is being deleted, with groups in between. */
function keepTidy(): void {
  clearImmediate(tidyingOn)
  const hasMore = tidy() && continueDeletions()
  tidyingOn = hasMore ? setImmediate(keepTidy) : undefined
}

function tidy(): boolean {
  return ifRoom(() => committer.tidy())
}

/** @returns whether there is more to do now */
function continueDeletions(): boolean {
  return ifRoom(() => deletions.continue()) && deletions.isPending
}

/** What cannot be deleted on a full disk is deleted later. @returns whether there was room */
function ifRoom(deleteSome: () => void): boolean {
  try {
    deleteSome()
    log.noteCommitted()
    return true
  } catch (error) {
    if (!isStorageFull(error)) throw error
    return false
  }
}

function finish(id: number): void {
  clearInterval(tidying)
  clearImmediate(tidyingOn)
  tidy()
  // The rest is deleted after the next start.
  const endMs = clock.monotonicMs() + FINISH_MS_MAX
  while (continueDeletions() && clock.monotonicMs() < endMs);
  ledgerFile.close()
  lookUps.close()
  answer({ id, result: undefined })
}

function answer(message: CommitAnswer): void {
  port?.postMessage(message)
}
