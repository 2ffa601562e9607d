// DATA_DIR as this process's own: its lock, and room for opening what is in it.

import { resolve } from 'node:path'
import type { Config } from '../config.ts'
import type { Log } from '../ports/system.ts'
import { lockDataDir, refuseUnfinishedRestore } from '../sqlite/data-dir-lock.ts'
import { prepareDataDir } from '../system/data-dir.ts'
import { DiskWatch } from '../system/disk-watch.ts'
import { readDiskSpace } from '../system/disk.ts'

/** Makes DATA_DIR this process's own, with room for opening what is in it. */
export async function ownDataDir(
  config: Config,
  log: Log,
  closers: (() => void | Promise<void>)[],
): Promise<DiskWatch> {
  const { dataDir } = config
  await prepareDataDir(dataDir)
  const lock = lockDataDir(dataDir)
  closers.push(() => lock.release())
  refuseUnfinishedRestore(dataDir)
  const disk = new DiskWatch(log, { dataDir, bytesMin: freeBytesMin(config) })
  await disk.start()
  closers.push(() => disk.stop())
  return disk
}

/** An error that may be for want of room, with the room that there is. */
export async function saidWithRoom(error: unknown, dataDir: string): Promise<unknown> {
  if (!(error instanceof Error) || !/disk is full|disk I\/O|ENOSPC|EDQUOT/.test(error.message)) {
    return error
  }
  const { freeBytes } = await readDiskSpace(dataDir)
  const room = `the volume of DATA_DIR (${resolve(dataDir)}) has ${freeBytes} bytes free`
  return new Error(`${error.message}: ${room}`, { cause: error })
}

function freeBytesMin({ freeDiskMin }: Config) {
  return ({ totalBytes }: { totalBytes: number }) =>
    Math.min(freeDiskMin.bytes, (totalBytes * freeDiskMin.volumePercent) / 100)
}
