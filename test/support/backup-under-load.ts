// The story of backups that are taken while senders send, of a service that is killed right after,
// and of what each backup, an archive or a snapshot, brings back: all that was acknowledged before
// it began, once; of the rest whole batches or nothing; and a ledger that knows exactly what the
// store has.
//
// Event `sender/n` is at START_MS + n * STEP_MS of sensor `sender`, so exports show what is there.

import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { runCommand, serve } from './command.ts'
import { createFleetToken } from './fleet-token.ts'
import { send } from './http.ts'
import { until } from './until.ts'
import { expectClean } from './verify.ts'

const START_MS = Date.UTC(2026, 0, 1)
const STEP_MS = 250
const SENDERS = 6
const BATCH = 500
const SETTINGS = { RATE_LIMIT_REQUESTS: '0', RATE_LIMIT_MEASUREMENTS: '0' }
const USER = 'fleet@example.org'
const LOAD_MS_MAX = 300_000

/** Batches of one sender by number; `acknowledged` of them were answered, always the first ones. */
interface Sender {
  readonly sn: string
  sent: number
  acknowledged: number
}

/** How backups of a service that runs are taken and brought back, by name. */
export interface BackupMeans {
  take(dataDir: string, name: string): Promise<void>
  /** @returns a DATA_DIR, for no other use */
  bringBack(name: string): Promise<string>
}

interface Backup {
  readonly name: string
  /** By sender, how many batches were acknowledged when it began. */
  readonly acknowledged: readonly number[]
}

export interface BackupStory {
  readonly dataDir: string
  readonly means: BackupMeans
  readonly backups: number
  /** Acknowledged before each backup begins, at least. */
  readonly measurementsBetween: number
}

/** `thermolog backup` and `restore`. @param folder for all of it */
export function archivesIn(folder: string): BackupMeans {
  const fileOf = (name: string) => join(folder, `${name}.tar`)
  return {
    take: (dataDir, name) => runToItsEnd(dataDir, ['backup', fileOf(name)]),
    async bringBack(name) {
      const dataDir = join(folder, 'restored')
      await runToItsEnd(dataDir, ['restore', fileOf(name)])
      return dataDir
    },
  }
}

/** Runs `thermolog`, which has to exit with 0. */
export async function runToItsEnd(dataDir: string, args: readonly string[]): Promise<void> {
  const { exitCode, stderr } = await runCommand(dataDir, args)
  expect(exitCode, stderr).to.equal(0)
}

/** Runs the story and checks its end. @returns how many measurements were acknowledged */
export async function backUpUnderLoad(story: BackupStory): Promise<number> {
  const { dataDir, means } = story
  const service = await serve(dataDir, SETTINGS)
  const token = await createFleetToken(dataDir, USER)
  const senders = Array.from({ length: SENDERS }, (_, at) => ({
    sn: `sender-${at}`,
    sent: 0,
    acknowledged: 0,
  }))
  const sending = senders.map((sender) => sendUntilItBreaks(sender, service.url, token))
  const backups: Backup[] = []
  try {
    for (let count = 1; count <= story.backups; count++) {
      const wanted = (count * story.measurementsBetween) / BATCH
      await until(`${wanted} batches are sent`, () => batchesOf(senders) >= wanted, LOAD_MS_MAX)
      const acknowledged = senders.map((sender) => sender.acknowledged)
      await means.take(dataDir, `backup-${count}`)
      backups.push({ name: `backup-${count}`, acknowledged })
    }
  } finally {
    await service.stop('SIGKILL')
  }
  await Promise.all(sending)
  for (const { name, acknowledged } of backups) {
    const there = { dataDir: await means.bringBack(name), acknowledged, token }
    await checkBroughtBack(there, senders)
  }
  return batchesOf(senders) * BATCH
}

function batchesOf(senders: readonly Sender[]): number {
  return senders.reduce((sum, { acknowledged }) => sum + acknowledged, 0)
}

async function sendUntilItBreaks(sender: Sender, url: string, token: string): Promise<void> {
  for (;;) {
    const status = await sendBatch({ url, token }, sender.sn, sender.sent++)
    if (status === undefined) return
    expect(status).to.equal(201)
    sender.acknowledged++
  }
}

interface Target {
  readonly url: string
  readonly token: string
}

async function sendBatch(
  { url, token }: Target,
  sn: string,
  batch: number,
): Promise<number | undefined> {
  const measurements = Array.from({ length: BATCH }, (_, at) => {
    const n = batch * BATCH + at
    const timestamp = new Date(START_MS + n * STEP_MS).toISOString()
    return { event_id: `${sn}/${n}`, sn, temp: n % 50, timestamp }
  })
  try {
    const path = '/api/v1/measurements/batch'
    return (await send(url, { method: 'POST', path, token, body: { measurements } })).status
  } catch {
    return undefined
  }
}

async function checkBroughtBack(
  {
    dataDir,
    acknowledged,
    token,
  }: { readonly dataDir: string; readonly acknowledged: readonly number[]; readonly token: string },
  senders: readonly Sender[],
): Promise<void> {
  await expectClean(dataDir)
  const service = await serve(dataDir, SETTINGS)
  try {
    const there = await storedBatches(dataDir)
    for (const [at, sender] of senders.entries()) {
      const stored = there.get(sender.sn) ?? new Map<number, number>()
      const target = { url: service.url, token }
      await checkSender(sender, { stored, wanted: acknowledged[at] ?? 0, target })
    }
    const after = await storedBatches(dataDir)
    for (const { sn, sent } of senders) {
      const counts = [...(after.get(sn)?.values() ?? [])]
      expect(counts).to.deep.equal(Array.from({ length: sent }, () => BATCH))
    }
  } finally {
    expect(await service.stop()).to.equal(0)
  }
  await rm(dataDir, { recursive: true })
}

async function checkSender(
  { sn, sent }: Sender,
  found: {
    readonly stored: ReadonlyMap<number, number>
    /** So many batches, the first ones, must be there. */
    readonly wanted: number
    readonly target: Target
  },
): Promise<void> {
  const { stored, wanted, target } = found
  for (const [batch, count] of stored) expect(count, `batch ${batch} of ${sn}`).to.equal(BATCH)
  for (let batch = 0; batch < sent; batch++) {
    const isThere = stored.has(batch)
    expect(isThere || batch >= wanted, `batch ${batch} of ${sn} is there`).to.equal(true)
    // All duplicates, or all new.
    const status = await sendBatch(target, sn, batch)
    expect(status, `batch ${batch} of ${sn} again`).to.equal(isThere ? 200 : 201)
  }
}

/** By sensor and batch, how many measurements there are; each of another time. */
async function storedBatches(dataDir: string): Promise<Map<string, Map<number, number>>> {
  const { stdout } = await runCommand(dataDir, ['export', '--user', USER])
  const lines = stdout.trim().split('\r\n').slice(1)
  expect(new Set(lines).size).to.equal(lines.length)
  const batches = new Map<string, Map<number, number>>()
  for (const line of lines) {
    const [time = '', sn = ''] = line.split(',')
    const batch = Math.floor((Date.parse(time) - START_MS) / STEP_MS / BATCH)
    const ofSensor = batches.get(sn) ?? new Map<number, number>()
    batches.set(sn, ofSensor.set(batch, (ofSensor.get(batch) ?? 0) + 1))
  }
  return batches
}
