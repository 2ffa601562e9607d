// The clock, compared with this version's date, the newest file in DATA_DIR and other servers'
// clocks, and whether it is synchronized.

import { execFile } from 'node:child_process'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { buildDateMs } from '../domain/limits.ts'
import { formatSecond, SECOND_MS } from '../domain/time.ts'
import { systemClock } from '../system/clock.ts'
import { Check } from './check.ts'
import type { CheckResult } from './check.ts'

/** Beyond this, a process on PostgreSQL accepts nothing, and providers' tokens fail. */
const OFF_MS_MAX = 10 * SECOND_MS
/** A running service writes files during the check. */
const FILE_AHEAD_MS_MAX = OFF_MS_MAX
const REMEDY = 'set the clock, and have it kept: `timedatectl set-ntp true`'

const ACCEPT = '`thermolog clock accept`'

const clockCheck = new Check('clock')

/** What another server's clock said. */
export interface OtherClock {
  readonly server: string
  /** How far it is ahead of ours. */
  readonly aheadMs: number
}

/** @param date the header of a response that has just arrived; has whole seconds */
export function clockOf(server: string, date: string | null | undefined): OtherClock | undefined {
  const aheadMs = Date.parse(date ?? '') - systemClock.nowMs()
  return Number.isNaN(aheadMs) ? undefined : { server, aheadMs }
}

/**
 * @param dataDir `undefined`: the data are in a database
 * @param others clocks of servers that answered
 */
export async function checkClock(
  dataDir: string | undefined,
  others: readonly OtherClock[],
): Promise<CheckResult> {
  const nowMs = systemClock.nowMs()
  const now = `the clock says ${formatSecond(nowMs)}`
  if (nowMs < buildDateMs) {
    const released = formatSecond(buildDateMs)
    return clockCheck.wrong(`${now}, before this version was made (${released})`, REMEDY)
  }
  const newestMs = dataDir === undefined ? 0 : await newestFileMs(dataDir)
  if (newestMs > nowMs + FILE_AHEAD_MS_MAX) {
    const written = `files in DATA_DIR were written at ${formatSecond(newestMs)}`
    return clockCheck.wrong(`${now}, but ${written}`, `${REMEDY}; if it is right, ${ACCEPT}`)
  }
  const off = others.find(({ aheadMs }) => Math.abs(aheadMs) > OFF_MS_MAX)
  if (off !== undefined) {
    const theirs = formatSecond(nowMs + off.aheadMs)
    return clockCheck.wrong(`${now}, that of ${off.server} ${theirs}`, REMEDY)
  }
  if ((await isSynchronized()) === false) {
    return clockCheck.warning(`${now}; nothing synchronizes it`, '`timedatectl set-ntp true`')
  }
  const names = others.map(({ server }) => server)
  return clockCheck.ok(names.length === 0 ? now : `${now}, as that of ${names.join(' and ')} does`)
}

/** 0: no files. */
async function newestFileMs(dataDir: string): Promise<number> {
  let newestMs = 0
  for (const name of await namesIn(dataDir)) {
    newestMs = Math.max(newestMs, await changedAtMs(join(dataDir, name)))
  }
  return newestMs
}

/** Other checks report what is wrong with the folder and its files. */
async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder)
  } catch {
    return []
  }
}

async function changedAtMs(file: string): Promise<number> {
  try {
    return (await stat(file)).mtimeMs
  } catch {
    return 0
  }
}

/** `undefined`: systemd does not say. */
async function isSynchronized(): Promise<boolean | undefined> {
  const order = ['show', '--property=NTPSynchronized', '--value']
  try {
    const { stdout } = await promisify(execFile)('timedatectl', order, { timeout: 2 * SECOND_MS })
    return stdout.trim() === '' ? undefined : stdout.trim() === 'yes'
  } catch {
    return undefined
  }
}
