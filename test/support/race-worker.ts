// A process of a race: `race-worker.ts URL FILE SECONDS`. Senders commit overlapping events, one
// forwards, one deletes sensors now and then. Each answer is in the file before it counts.

import { openSync, writeSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { ServiceError } from '../../src/domain/errors.ts'
import type { Submissions } from '../../src/ingest/submissions.ts'
import { PostgresMeasurementWriter } from '../../src/postgres/measurements/measurement-writer.ts'
import { openProcess, submissionsOver } from './postgres-process.ts'
import type { OpenProcess } from './postgres-process.ts'
import { RACE_RULES, RACE_USERS, raceEvent } from './race-events.ts'
import type { RaceAnswer } from './race-events.ts'

const [url = '', file = '', seconds = '0', startedAt = '0'] = process.argv.slice(2)
const SENDERS = 10
/** Event numbers are drawn from a window that moves on: so many a second, so wide. */
const WINDOW = { perSecond: 1_500, width: 600 }
const OTHER_SHARE = 0.05
const WRITTEN = { setAside: [], durationMs: 0 }

const answers = openSync(file, 'w')
const stopAtMs = Date.now() + Number(seconds) * 1_000
const data = await open()
const submissions = submissionsOver(data)
const random = (below: number) => Math.floor(Math.random() * below)
const isRunning = () => Date.now() < stopAtMs

/** Begins again while the database is away, as a supervisor has a service do. */
async function open(): Promise<OpenProcess> {
  for (;;) {
    try {
      return await openProcess(url, RACE_RULES)
    } catch (error) {
      const isAway = error instanceof ServiceError && error.code === 'overloaded'
      if (!isAway || Date.now() >= stopAtMs) throw error
    }
    await pause(100)
  }
}

async function send(): Promise<void> {
  while (isRunning()) {
    const userId = RACE_USERS[random(RACE_USERS.length)] ?? 0
    const events = someEvents(userId)
    const measurements = events.map(([event, isOther]) => raceEvent(event, isOther).measurement)
    const statuses = await statusesOf({ userId, receivedAtMs: Date.now(), measurements })
    if (statuses === undefined) await pause(50)
    else
      writeSync(answers, `${JSON.stringify({ userId, events, statuses } satisfies RaceAnswer)}\n`)
  }
}

function someEvents(userId: number): RaceAnswer['events'] {
  const first = Math.floor(((Date.now() - Number(startedAt)) * WINDOW.perSecond) / 1_000)
  const wanted = 1 + random(12)
  const events: [number, boolean][] = []
  for (let tries = 0; tries < 400 && events.length < wanted; tries++) {
    const event = first + random(WINDOW.width)
    const isOther = Math.random() < OTHER_SHARE
    if (raceEvent(event, isOther).userId === userId) events.push([event, isOther])
  }
  return events
}

/** @returns `undefined` if it was refused, or nobody knows */
async function statusesOf(submission: Parameters<Submissions['submit']>[0]) {
  if (submission.measurements.length === 0) return undefined
  try {
    const receipt = await submissions.submit(submission)
    return Array.from({ length: receipt.count }, (_, at) => receipt.at(at).status)
  } catch (error) {
    process.send?.(error instanceof Error && 'code' in error ? String(error.code) : String(error))
    return undefined
  }
}

async function forward(): Promise<void> {
  const { queue, database } = data
  const writer = new PostgresMeasurementWriter(database)
  while (isRunning()) {
    try {
      const batch = await queue.claim(5_000)
      if (batch === undefined) {
        await pause(20)
        continue
      }
      await writer.write(batch)
      await queue.settle(batch, WRITTEN)
    } catch {
      await queue.release()
      await pause(100)
    }
  }
}

async function deleteSensors(): Promise<void> {
  while (isRunning()) {
    await pause(300)
    try {
      const userId = RACE_USERS[random(RACE_USERS.length)] ?? 0
      const sensors = await data.control.listSensors(userId)
      const sensor = sensors[random(sensors.length)]
      if (sensor !== undefined) await data.controlWriter.deleteSensor(userId, sensor.id)
    } catch (error) {
      process.send?.(`deletion: ${String(error)}`)
    }
  }
}

await Promise.all([forward(), deleteSensors(), ...Array.from({ length: SENDERS }, send)])
process.exit(0)
