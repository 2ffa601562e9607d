// Opens the engine that has the data: a database if one is set, else DATA_DIR.

import { resolve } from 'node:path'
import type { Config } from '../config.ts'
import { readDiskSpace } from '../system/disk.ts'
import { openFiles } from './open-core.ts'
import type { Closers, Core, System } from './open-core.ts'

/** @throws UnfitSettings @throws UnfitDataDir */
export async function openEngine(config: Config, system: System): Promise<Core> {
  const closers: Closers = []
  const close = async () => {
    for (const closeOne of closers.splice(0).toReversed()) await closeOne()
  }
  const { database, dataDir } = config
  try {
    if (database === undefined) return { ...(await openFiles(config, system, closers)), close }
    // PostgreSQL's driver is loaded only when needed.
    const { openDatabase } = await import('./open-postgres.ts')
    return { ...(await openDatabase({ ...config, database }, system, closers)), close }
  } catch (error) {
    await close()
    throw database === undefined ? await saidWithRoom(error, dataDir) : error
  }
}

/** Adds the free space to an error that a full disk may have caused. */
export async function saidWithRoom(error: unknown, dataDir: string): Promise<unknown> {
  if (!(error instanceof Error) || !/disk is full|disk I\/O|ENOSPC|EDQUOT/.test(error.message)) {
    return error
  }
  const { freeBytes } = await readDiskSpace(dataDir)
  const room = `the volume of DATA_DIR (${resolve(dataDir)}) has ${freeBytes} bytes free`
  return new Error(`${error.message}: ${room}`, { cause: error })
}
