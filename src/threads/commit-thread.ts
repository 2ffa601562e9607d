// The commit thread: the only writer of control.db. It commits groups of submissions and changes to
// users, tokens and sensors in the order in which the look-up thread passes them on.
//
// After a disk error during a commit, nobody knows whether the group is stored: the thread ends,
// then the process, and the next start finds out from the file.

import { once } from 'node:events'
import type { MessagePort } from 'node:worker_threads'
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
import type { Clock } from '../ports/system.ts'
import { systemClock } from '../system/clock.ts'
import type { CommitThreadData, LookUpAnswer } from './messages.ts'

/** How often finished rows, and those of deleted users, are deleted while nothing is committed. */
const TIDY_EVERY_MS = 1_000
/** Whoever stops the service does not wait for long. */
const FINISH_MS_MAX = 1_000

const LOG_KEEPING = { bytesMax: logBytesMax.control, mode: 'PASSIVE' } as const

export async function run(data: CommitThreadData, port: MessagePort): Promise<void> {
  await once(port, 'message')
  const { dataDir, epochEvents, lookUps } = data
  const control = openControl(dataDir)
  const log = new LogKeeper(control, LOG_KEEPING)
  const ledgerFile = openForReading(dataDir, LEDGER_FILE)
  const ledger = new Ledger({ control, ledger: ledgerFile }, epochEvents, (request) =>
    lookUps.postMessage(request),
  )
  const clock = new BelievedClock(systemClock)
  const endWatch = clock.watch()
  const committer = new Committer(control, ledger, clock, data)
  const deletions = new UserDeletions(control, clock)
  const commands = createControlCommands(control, committer.sensors, clock, { ...data, deletions })
  const tidying = new Tidying({ committer, deletions, log })
  const answer = (message: CommitAnswer) => port.postMessage(message)

  const commitGroup = ({ id, group }: Extract<CommitRequest, { group: unknown }>) => {
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
  const runCommand = ({ id, command, args }: Extract<CommitRequest, { command: unknown }>) => {
    // This command checks that the watermark has been written.
    if (command === 'noteDeletionPass') tidying.tidy()
    try {
      const call = commands[command] as (...args: unknown[]) => unknown
      const result = call.apply(commands, args)
      log.noteCommitted()
      answer({ id, result })
    } catch (error) {
      if (isStorageFull(error)) answer({ id, storageFull: true })
      else if (isDiskFault(error)) throw error
      else answer({ id, failure: error instanceof Error ? error.message : String(error) })
    }
  }

  lookUps.on('message', (request: LookUpAnswer) => {
    if ('group' in request) commitGroup(request)
    else if ('sealedThroughSeq' in request) ledger.noteSealed(request.sealedThroughSeq)
    else if ('command' in request) runCommand(request)
    else if ('forwardedSeq' in request) committer.noteForwarded(request.forwardedSeq)
    else if ('finish' in request) {
      tidying.finish(clock)
      ledgerFile.close()
      lookUps.close()
      answer({ id: request.id, result: undefined })
    }
  })
  port.once('message', () => {
    endWatch()
    log.close()
    port.close()
  })
  port.postMessage('started')
}

interface ToTidy {
  readonly committer: Committer
  readonly deletions: UserDeletions
  readonly log: LogKeeper
}

/** Deletes finished rows, and those of deleted users, while nothing is committed. */
class Tidying {
  readonly #with: ToTidy
  readonly #timer = setInterval(() => this.#keepTidy(), TIDY_EVERY_MS)
  #goingOn: NodeJS.Immediate | undefined

  constructor(collaborators: ToTidy) {
    this.#with = collaborators
  }

  /** @returns whether there was room */
  tidy(): boolean {
    return this.#ifRoom(() => this.#with.committer.tidy())
  }

  /** The rest is deleted after the next start. */
  finish(clock: Clock): void {
    clearInterval(this.#timer)
    clearImmediate(this.#goingOn)
    this.tidy()
    const endMs = clock.monotonicMs() + FINISH_MS_MAX
    while (this.#continueDeletions() && clock.monotonicMs() < endMs);
  }

  /** Goes on at once while a user is being deleted, with groups in between. */
  #keepTidy(): void {
    clearImmediate(this.#goingOn)
    const hasMore = this.tidy() && this.#continueDeletions()
    this.#goingOn = hasMore ? setImmediate(() => this.#keepTidy()) : undefined
  }

  /** @returns whether there is more to do now */
  #continueDeletions(): boolean {
    const { deletions } = this.#with
    return this.#ifRoom(() => deletions.continue()) && deletions.isPending
  }

  /** What cannot be deleted on a full disk is deleted later. @returns whether there was room */
  #ifRoom(deleteSome: () => void): boolean {
    try {
      deleteSome()
      this.#with.log.noteCommitted()
      return true
    } catch (error) {
      if (!isStorageFull(error)) throw error
      return false
    }
  }
}
