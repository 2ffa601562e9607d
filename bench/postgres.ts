// Submissions committed on PostgreSQL by the lanes of one process, without HTTP, beside the same
// rows inserted by hand on as many connections. Both have the same server, by turns.

import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { DAY_MS } from '../src/domain/time.ts'
import { migrate } from '../src/postgres/server/migrate.ts'
import { systemClock as clock } from '../src/system/clock.ts'
import { newUser } from '../test/contract/open-data.ts'
import type { OpenData } from '../test/contract/open-data.ts'
import { openProcess, submissionsOver } from '../test/support/postgres-process.ts'
import { postgresPrograms, PostgresServer } from '../test/support/postgres-server.ts'
import { median, perSecond, say } from './report.ts'
import type { Figure } from './report.ts'

const USERS = 20
const SENSORS_PER_USER = 50
const RULES = {
  mayRegisterSensors: true,
  sensorsPerUserMax: SENSORS_PER_USER,
  futureMsMax: Infinity,
  measuredAtMsMin: 0,
}
const TURNS = 3
const LOADS = [
  { name: 'single submissions', connections: 64, size: 1 },
  { name: 'batches of 500', connections: 16, size: 500 },
]

const YARDSTICK_TABLE = `
  CREATE TABLE yardstick (at_ms bigint NOT NULL, temp_celsius float8 NOT NULL,
    key uuid PRIMARY KEY, sensor_id int NOT NULL)`
const YARDSTICK_INSERT = `
  INSERT INTO yardstick (key, sensor_id, at_ms, temp_celsius)
  SELECT * FROM unnest($1::uuid[], $2::int[], $3::bigint[], $4::float8[])
  ON CONFLICT (key) DO NOTHING`

interface Load {
  readonly connections: number
  readonly size: number
}

/** Sends for a while on one connection. @returns how many measurements */
type Send = (connection: number, untilMs: number) => Promise<number>

export async function measurePostgres(seconds: number): Promise<Figure[]> {
  const programs = postgresPrograms()
  if (programs === undefined) {
    say('PostgreSQL left out: it is not on PATH, nor in its usual folder')
    return []
  }
  const server = await PostgresServer.start(programs)
  try {
    return await measureOn(server.url(), seconds)
  } finally {
    await server.remove()
  }
}

async function measureOn(url: string, seconds: number): Promise<Figure[]> {
  await migrate(url)
  const data = await openProcess(url, RULES)
  const users = await makeUsers(data)
  const clients = await openYardstick(url)
  const figures: Figure[] = []
  for (const load of LOADS) {
    say(`${load.name} on PostgreSQL and rows inserted by hand by turns`)
    const ours = submitting(data, users, load)
    const byHand = inserting(clients, load)
    const rates: { ours: number[]; byHand: number[] } = { ours: [], byHand: [] }
    await run(ours, load, 1)
    for (let turn = 0; turn < TURNS; turn++) {
      rates.ours.push(await run(ours, load, seconds / TURNS / 2))
      rates.byHand.push(await run(byHand, load, seconds / TURNS / 2))
    }
    const [rate, yardstick] = [median(rates.ours), median(rates.byHand)]
    figures.push({
      name: `PostgreSQL: ${load.name}, ${load.connections} in flight; INSERT by hand`,
      ours: perSecond(rate),
      yardstick: perSecond(yardstick),
      ratio: (rate / yardstick).toFixed(2),
    })
  }
  await Promise.all(clients.map((client) => client.end()))
  await data.close()
  return figures
}

async function makeUsers(data: OpenData): Promise<number[]> {
  const users: number[] = []
  for (let user = 0; user < USERS; user++) users.push(await newUser(data))
  return users
}

async function openYardstick(url: string): Promise<pg.Client[]> {
  const most = Math.max(...LOADS.map(({ connections }) => connections))
  const clients = Array.from({ length: most }, () => new pg.Client({ connectionString: url }))
  await Promise.all(clients.map((client) => client.connect()))
  await clients[0]?.query(YARDSTICK_TABLE)
  return clients
}

/** @returns measurements a second */
async function run(send: Send, { connections }: Load, seconds: number): Promise<number> {
  const startedAtMs = performance.now()
  const untilMs = startedAtMs + seconds * 1_000
  const counts = await Promise.all(
    Array.from({ length: connections }, (_, at) => send(at, untilMs)),
  )
  const total = counts.reduce((sum, count) => sum + count, 0)
  return (total * 1_000) / (performance.now() - startedAtMs)
}

/** The times of a sender go on, as those of a real one do. */
function submitting(data: OpenData, users: readonly number[], { size }: Load): Send {
  const submissions = submissionsOver(data)
  const nextMs = Array.from({ length: users.length }, () => clock.nowMs() - DAY_MS)
  return async (connection, untilMs) => {
    const user = connection % users.length
    let sent = 0
    while (performance.now() < untilMs) {
      const receivedAtMs = clock.nowMs()
      const fromMs = nextMs[user] ?? 0
      nextMs[user] = fromMs + size
      const measurements = Array.from({ length: size }, (_, at) => ({
        eventId: randomUUID(),
        serialNumber: `sensor-${(connection + at) % SENSORS_PER_USER}`,
        tempCelsius: 20,
        measuredAtMs: fromMs + at,
      }))
      const userId = users[user] ?? 0
      await submissions.submit({ userId, receivedAtMs, measurements })
      sent += size
    }
    return sent
  }
}

function inserting(clients: readonly pg.Client[], { size }: Load): Send {
  return async (connection, untilMs) => {
    let sent = 0
    while (performance.now() < untilMs) {
      const atMs = clock.nowMs()
      await clients[connection]?.query({
        name: 'insert',
        text: YARDSTICK_INSERT,
        values: [
          Array.from({ length: size }, () => randomUUID()),
          Array.from({ length: size }, (_, at) => at),
          Array.from({ length: size }, (_, at) => atMs + at),
          Array.from({ length: size }, () => 20),
        ],
      })
      sent += size
    }
    return sent
  }
}
