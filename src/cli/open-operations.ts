// Gives commands access to the operations: the running service carries them out or, if none runs,
// this process, which then locks DATA_DIR as long as the command takes.

import { setTimeout } from 'node:timers/promises'
import type { Config } from '../config.ts'
import { DataDirInUse } from '../domain/errors.ts'
import { SECOND_MS } from '../domain/time.ts'
import type { Operations } from '../operations/operations.ts'
import { failed } from '../operations/operations.ts'
import { connectServiceOf } from '../socket/client.ts'
import type { OperationsClient } from '../socket/client.ts'
import { systemClock } from '../system/clock.ts'
import { readSettingsOfFirst, readSettingsWithData } from './read-settings.ts'
import { printNote } from './terminal/print.ts'

/** How long a service may take to start before a command gives up on it. */
const WAIT_MS_MAX = 10 * SECOND_MS
const LOOK_EVERY_MS = 100
const NOT_ANSWERED =
  'It has not answered within 10 seconds. If it is a service, its log says whether it is starting.'

/**
 * Opens the operations for one task and closes them afterwards.
 *
 * @param mayStart whether the command may start a new DATA_DIR
 */
export async function withOperations<T>(
  work: (operations: Operations) => Promise<T>,
  { mayStart = false } = {},
): Promise<T> {
  const config = await (mayStart ? readSettingsOfFirst() : readSettingsWithData())
  const opened = await onceFree(async () => {
    return (await connectService(config)) ?? openHere(config)
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
export async function onceFree<T>(open: () => Promise<T>): Promise<T> {
  const startedMs = systemClock.monotonicMs()
  let isSaid = !process.stderr.isTTY
  for (;;) {
    try {
      return await open()
    } catch (error) {
      if (!(error instanceof DataDirInUse && error.isPassing)) throw error
      const waitedMs = systemClock.monotonicMs() - startedMs
      if (waitedMs > WAIT_MS_MAX) throw failed(error.message, NOT_ANSWERED)
      if (!isSaid && waitedMs > SECOND_MS) {
        printNote('waiting for the process that uses DATA_DIR …')
        isSaid = true
      }
      await setTimeout(LOOK_EVERY_MS)
    }
  }
}

async function openHere(config: Config) {
  // Most commands find a running service and need none of this.
  const { openOperations } = await import('../data-dir/operations.ts')
  return openOperations(config)
}
