// The disk of DATA_DIR: the room on its volume, and how long it takes to make a write safe. Only
// the latter check writes: a small file, which it deletes.

import { randomBytes } from 'node:crypto'
import { open, rm } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Config } from '../config.ts'
import { freeSpaceMin } from '../domain/free-space.ts'
import { systemClock } from '../system/clock.ts'
import { lackOfRoom } from '../system/data-dir.ts'
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

const diskCheck = new Check('disk')
const syncCheck = new Check('fsync')

/** For a DATA_DIR without data; it may not exist yet. */
export async function checkRoomAtFirst({ dataDir, freeDiskMin }: Config): Promise<CheckResult> {
  const lack = await lackOfRoom(dataDir, freeDiskMin)
  if (lack === undefined) return diskCheck.ok('the volume of DATA_DIR has room for new data')
  return diskCheck.wrong(`DATA_DIR cannot be used: ${lack}`, enlarge(dataDir))
}

export async function checkRoom({ dataDir, freeDiskMin }: Config): Promise<CheckResult> {
  const { freeBytes, totalBytes } = await readDiskSpace(dataDir)
  const needed = freeSpaceMin(freeDiskMin, totalBytes)
  const room = `the volume of DATA_DIR has ${sizeText(freeBytes)} free`
  if (freeBytes >= needed) return diskCheck.ok(room)
  const isRefused = `with less than ${sizeText(needed)} submissions are refused (MIN_FREE_DISK)`
  return diskCheck.wrong(`${room}: ${isRefused}`, enlarge(dataDir))
}

function enlarge(dataDir: string): string {
  return `free space on the volume of ${resolve(dataDir)}, or enlarge it`
}

export async function checkSync(dataDir: string): Promise<CheckResult> {
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
