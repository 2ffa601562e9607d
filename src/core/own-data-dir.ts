// Owning DATA_DIR: its lock, and enough disk space to open the files in it.

import { resolve } from 'node:path'
import type { Config } from '../config.ts'
import type { Log } from '../ports/system.ts'
import { lockDataDir, refuseUnfinishedRestore } from '../sqlite/data-dir-lock.ts'
import { prepareDataDir } from '../system/data-dir.ts'
import { DiskWatch } from '../system/disk-watch.ts'
import { readDiskSpace } from '../system/disk.ts'
import { forgetMoving, refuseMoved } from '../system/moved-data-dir.ts'

/** Locks DATA_DIR for this process, and makes room to open the files in it. */
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
  await refuseMoved(dataDir)
  await forgetMoving(dataDir)
  const disk = new DiskWatch(log, { dataDir, bytesMin: freeBytesMin(config) })
  await disk.start()
  closers.push(() => disk.stop())
  return disk
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

function freeBytesMin({ freeDiskMin }: Config) {
  return ({ totalBytes }: { totalBytes: number }) =>
    Math.min(freeDiskMin.bytes, (totalBytes * freeDiskMin.volumePercent) / 100)
}
