// DATA_DIR: whether the service can use it, the room on its volume, and how long its disk takes to
// make a write safe. Only the last check writes: a small file, which it deletes.

import { randomBytes } from 'node:crypto'
import { lstat, open, readdir, rm, stat } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Config } from '../config.ts'
import { RESTORE_BACKUP } from '../domain/finding.ts'
import { freeSpaceMin } from '../domain/free-space.ts'
import { refuseUnfinishedRestore } from '../sqlite/data-dir-lock.ts'
import { CONTROL_FILE, DATA_FILES } from '../sqlite/database.ts'
import { systemClock } from '../system/clock.ts'
import {
  hasData,
  isServiceFile,
  refuseMoved,
  refuseUnfitDataDir,
  refuseUnmakeable,
  refuseUnwritable,
} from '../system/data-dir.ts'
import { readDiskSpace, sizeText } from '../system/disk.ts'
import { Check, reasonOf } from './check.ts'
import type { CheckResult } from './check.ts'

const PROBE_FILE = 'doctor-probe'
const PROBE_BYTES = 4_096
/** A single slow write means nothing. */
const PROBES_MIN = 5
const PROBES_MAX = 20
const PROBING_MS_MAX = 500
/** An SD card takes 30 ms. */
const SYNC_MS_SLOW = 20
const SYNC_MS_MAX = 100

const dataDirCheck = new Check('data_dir')
const diskCheck = new Check('disk')
const syncCheck = new Check('fsync')

/** In order; a check that depends on a failed one is left out. */
export async function checkDataDir(config: Config): Promise<readonly CheckResult[]> {
  const { dataDir } = config
  try {
    await refuseUnfitDataDir(dataDir)
    if (!(await isFolder(dataDir))) {
      await refuseUnmakeable(dataDir)
      return [ofNoData(dataDir)]
    }
    const stranger = await findStranger(dataDir)
    if (stranger !== undefined) return [stranger]
    await refuseUnwritable(dataDir)
    refuseUnfinishedRestore(dataDir)
    await refuseMoved(dataDir)
    const found = (await hasData(dataDir))
      ? dataDirCheck.ok(`the data are in ${resolve(dataDir)}`)
      : await ofNoControl(dataDir)
    if (found.state === 'wrong') return [found]
    const disk = await checkRoom(config)
    return disk.state === 'wrong' ? [disk, found] : [found, disk, await checkSync(dataDir)]
  } catch (error) {
    const needed = 'the service needs a folder on a local disk that its user may write to'
    return [dataDirCheck.wrong(reasonOf(error), needed)]
  }
}

async function ofNoControl(dataDir: string): Promise<CheckResult> {
  const rest = (await readdir(dataDir)).filter((name) => DATA_FILES.includes(name))
  if (rest.length === 0) return ofNoData(dataDir)
  return dataDirCheck.wrong(
    `${join(resolve(dataDir), CONTROL_FILE)} is missing beside ${rest.join(' and ')}`,
    RESTORE_BACKUP,
  )
}

function ofNoData(dataDir: string): CheckResult {
  return dataDirCheck.ok(`no data yet: the service makes them in ${resolve(dataDir)}`)
}

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw error
  }
}

/**
 * For root, who may open everything: finds a file that a command run by root left and the service
 * cannot open. If the folder belongs to root, its files show who the service is.
 */
async function findStranger(dataDir: string): Promise<CheckResult | undefined> {
  if (process.getuid?.() !== 0) return undefined
  const { uid, gid } = await stat(dataDir)
  const names = (await readdir(dataDir)).filter(isServiceFile)
  const files = await Promise.all(
    names.map(async (name) => ({
      name,
      owner: (await lstat(join(dataDir, name)).catch(ifGone)).uid,
    })),
  )
  const others = files.filter(({ owner }) => owner !== undefined && owner !== 0)
  const service = uid === 0 ? (others[0]?.owner ?? 0) : uid
  const stranger = files.find(({ owner }) => owner !== undefined && owner !== service)
  if (stranger === undefined) return undefined
  return dataDirCheck.wrong(
    `${join(resolve(dataDir), stranger.name)} belongs to uid ${stranger.owner}, ` +
      `not to uid ${service}`,
    `as root: chown ${service}:${gid} ${resolve(dataDir)}/*`,
  )
}

/** A running service may delete files meanwhile. */
function ifGone(error: NodeJS.ErrnoException): { readonly uid?: number } {
  if (error.code === 'ENOENT' || error.code === 'EACCES') return {}
  throw error
}

async function checkRoom({ dataDir, freeDiskMin }: Config): Promise<CheckResult> {
  const { freeBytes, totalBytes } = await readDiskSpace(dataDir)
  const needed = freeSpaceMin(freeDiskMin, totalBytes)
  const room = `the volume of DATA_DIR has ${sizeText(freeBytes)} free`
  if (freeBytes >= needed) return diskCheck.ok(room)
  const isRefused = `with less than ${sizeText(needed)} submissions are refused (MIN_FREE_DISK)`
  return diskCheck.wrong(`${room}: ${isRefused}`, `free space on the volume of ${resolve(dataDir)}`)
}

async function checkSync(dataDir: string): Promise<CheckResult> {
  const file = join(dataDir, PROBE_FILE)
  try {
    const durationsMs = await timeSyncs(file)
    return judgeSync(durationsMs.toSorted((one, other) => one - other))
  } catch (error) {
    const remedy = 'free space, raise the quota, or look for faults of the disk: `dmesg`'
    return syncCheck.wrong(`cannot write to ${resolve(dataDir)}: ${reasonOf(error)}`, remedy)
  } finally {
    // On a failing disk, this fails too.
    await rm(file, { force: true }).catch(reasonOf)
  }
}

async function timeSyncs(file: string): Promise<number[]> {
  await rm(file, { force: true })
  // Must not follow a link.
  const handle = await open(file, 'wx', 0o600)
  try {
    const durationsMs: number[] = []
    const endMs = systemClock.monotonicMs() + PROBING_MS_MAX
    const isEnough = () => durationsMs.length >= PROBES_MIN && systemClock.monotonicMs() >= endMs
    while (durationsMs.length < PROBES_MAX && !isEnough()) durationsMs.push(await timeSync(handle))
    return durationsMs
  } finally {
    await handle.close()
  }
}

/** Like a commit: incompressible bytes at the end of a file. */
async function timeSync(handle: FileHandle): Promise<number> {
  const startedMs = systemClock.monotonicMs()
  await handle.appendFile(randomBytes(PROBE_BYTES))
  await handle.datasync()
  return systemClock.monotonicMs() - startedMs
}

/** @param durationsMs ascending */
function judgeSync(durationsMs: readonly number[]): CheckResult {
  const [typicalMs = 0] = durationsMs.slice(durationsMs.length / 2)
  const worstMs = durationsMs.at(-1) ?? 0
  const figures = `${typicalMs.toFixed(1)} ms, at worst ${worstMs.toFixed(1)} ms`
  const found = `a write takes ${figures} to be safe on the disk of DATA_DIR`
  if (typicalMs < SYNC_MS_SLOW) return syncCheck.ok(found)
  const perSecond = Math.max(1, Math.floor(1_000 / typicalMs))
  const rate = `a sender that sends one at a time stores ${perSecond} measurements a second`
  if (typicalMs < SYNC_MS_MAX) {
    return syncCheck.warning(`${found}: ${rate}`, 'let senders send batches, or use an SSD')
  }
  return syncCheck.wrong(`${found}: ${rate}`, 'use a local disk, an SSD at best')
}
