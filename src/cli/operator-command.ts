// Commands that the running service carries out or, if none runs, this process, which then locks
// DATA_DIR as long as the command takes.

import { createInterface } from 'node:readline'
import { setTimeout } from 'node:timers/promises'
import { readGiven } from '../commands/command.ts'
import type { Command } from '../commands/command.ts'
import type { Context } from '../commands/context.ts'
import type { CommandPath, Operations } from '../commands/operations.ts'
import type { Config } from '../config.ts'
import { DataDirInUse } from '../domain/errors.ts'
import { escaped } from '../domain/escaped.ts'
import { SECOND_MS } from '../domain/time.ts'
import { failed, usage } from '../operations/failure.ts'
import { connectServiceOf } from '../socket/client.ts'
import type { OperationsClient } from '../socket/client.ts'
import { systemClock } from '../system/clock.ts'
import type { TypedCommand } from './command-line.ts'
import { readSettingsOfFirst, readSettingsWithData } from './read-settings.ts'
import type { Terminal } from './terminal/terminal.ts'

export type OperatorRow = Command<Context, CommandPath>

/** How long a service may take to start before a command gives up on it. */
const WAIT_MS_MAX = 10 * SECOND_MS
const LOOK_EVERY_MS = 100
const NOT_ANSWERED =
  'It has not answered within 10 seconds. If it is a service, its log says whether it is starting.'

export async function carryOutByService(
  terminal: Terminal,
  row: OperatorRow,
  { given, isJson, isSure }: TypedCommand,
): Promise<void> {
  const { path, mayStart = false } = row
  // What is wrong is said before anything is opened.
  const values = readGiven(row, given)
  if (row.deletes !== undefined && !isSure) {
    // Nothing is open while a person thinks.
    const what = await withOperations(terminal, ({ preview }) => preview(path, given))
    await confirmDeletion(terminal, what)
  }
  const result = await withOperations(terminal, ({ run }) => run(path, given), { mayStart })
  terminal.show(row.present?.(result, values) ?? {}, isJson)
}

/**
 * Opens the operations for one task and closes them afterwards.
 *
 * @param mayStart whether the command may start a new DATA_DIR
 */
export async function withOperations<T>(
  terminal: Terminal,
  work: (operations: Operations) => Promise<T>,
  { mayStart = false } = {},
): Promise<T> {
  const config = await (mayStart ? readSettingsOfFirst(terminal) : readSettingsWithData(terminal))
  const opened = await onceFree(terminal, async () => {
    return (await connectService(config)) ?? openHere(config, terminal)
  })
  try {
    return await work(opened.operations)
  } finally {
    await opened.close()
  }
}

/** See `connectServiceOf`. @returns `undefined` also with a database */
export async function connectService({
  dataDir,
  database,
}: Config): Promise<OperationsClient | undefined> {
  return database === undefined ? connectServiceOf(dataDir) : undefined
}

/**
 * Opens DATA_DIR or reaches its service. One that is just starting has locked DATA_DIR and made no
 * socket yet.
 *
 * @throws OperationError if that takes too long
 */
export async function onceFree<T>(terminal: Terminal, open: () => Promise<T>): Promise<T> {
  const startedMs = systemClock.monotonicMs()
  let isSaid = !terminal.isWatched
  for (;;) {
    try {
      return await open()
    } catch (error) {
      if (!(error instanceof DataDirInUse && error.isPassing)) throw error
      const waitedMs = systemClock.monotonicMs() - startedMs
      if (waitedMs > WAIT_MS_MAX) throw failed(error.message, NOT_ANSWERED)
      if (!isSaid && waitedMs > SECOND_MS) {
        terminal.note('waiting for the process that uses DATA_DIR …')
        isSaid = true
      }
      await setTimeout(LOOK_EVERY_MS)
    }
  }
}

async function openHere(config: Config, { io: { startThread } }: Terminal) {
  // Most commands find a running service and need none of this.
  const { openOperations } = await import('../data-dir/operations.ts')
  return openOperations(config, { startThread })
}

/**
 * Asks a person to confirm a deletion: only a backup can bring back what is gone.
 *
 * @param what would be deleted, `null` for nothing
 * @throws OperationError unless the answer is yes, also if there is no terminal to ask on
 */
async function confirmDeletion(terminal: Terminal, what: string | null): Promise<void> {
  if (what === null) return
  if (!terminal.isWatched || terminal.io.stdin.isTTY !== true) {
    throw usage(`this permanently deletes ${what}`, 'Add --yes: there is no terminal to ask on.')
  }
  const question = `This permanently deletes ${escaped(what)}.\nType yes to continue: `
  const answer = await ask(terminal, question)
  if (answer?.trim().toLowerCase() !== 'yes') throw failed('nothing was deleted')
}

/** @returns `undefined` if the input ends or is interrupted */
function ask({ io }: Terminal, question: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const asked = createInterface({ input: io.stdin, output: io.stderr })
    asked.once('close', () => resolve(undefined))
    asked.question(question, (answer) => {
      resolve(answer)
      asked.close()
    })
  })
}
