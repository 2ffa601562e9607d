// Measurements accepted and stored by a service on one PostgreSQL, and on Citus with one worker and
// with two: how many a second, and what processor time each part takes for one of them. All is on
// this machine, with the same programs, by turns.

import { setTimeout } from 'node:timers/promises'
import { loadConfig } from '../src/config.ts'
import { openOperations } from '../src/data-dir/operations.ts'
import { CitusCluster, findCitus } from '../test/support/citus.ts'
import { PostgresServer } from '../test/support/postgres-server.ts'
import { BATCH, CONNECTIONS, expectAll } from './batch-load.ts'
import { StampedRequest } from './bodies.ts'
import { runLoad } from './load.ts'
import { median, perSecond, say } from './report.ts'
import type { Figure } from './report.ts'
import { startMeasured } from './service.ts'
import type { MeasuredService } from './service.ts'

const TURNS = 3
/** Few in flight make small groups: on Citus, each shard has its own. */
const LOADS = [
  { name: 'single POST on 64 connections', connections: 64, size: 0 },
  { name: 'single POST on 512', connections: 512, size: 0 },
  { name: `batches of ${BATCH} on ${CONNECTIONS}`, connections: CONNECTIONS, size: BATCH },
]
const USERS = 64

interface Target {
  readonly name: string
  readonly service: MeasuredService
  readonly tokens: readonly string[]
  readonly workers: readonly PostgresServer[]
  /** On one PostgreSQL, the only server. */
  readonly coordinator: PostgresServer
  remove(): Promise<void>
}

/** Of one turn, for each measurement. */
interface Turn {
  readonly perSecond: number
  readonly serviceUs: number
  readonly coordinatorUs: number
  readonly workersUs: number
}

export async function measureCitus(seconds: number): Promise<Figure[]> {
  const programs = findCitus()
  if (programs === undefined) {
    say('Citus left out: set CITUS_BIN to the folder of its initdb and postgres')
    return []
  }
  const targets: Target[] = []
  try {
    targets.push(await openOne(programs))
    for (const workers of [1, 2]) targets.push(await openCitus(programs, workers))
    return await measureOn(targets, seconds)
  } finally {
    for (const target of targets) await target.remove()
  }
}

async function openOne(programs: string): Promise<Target> {
  const server = await PostgresServer.start(programs)
  const of = { coordinator: server, workers: [] }
  return { name: 'one PostgreSQL', ...of, ...(await openOn(server.url(), () => server.remove())) }
}

async function openCitus(programs: string, workers: number): Promise<Target> {
  const cluster = await CitusCluster.start(programs, { workers })
  const name = workers === 1 ? 'Citus with a worker' : `Citus with ${workers} workers`
  const url = await cluster.createGrowing('bench')
  const { coordinator, workers: servers } = cluster
  return { name, coordinator, workers: servers, ...(await openOn(url, () => cluster.remove())) }
}

async function openOn(url: string, removeServers: () => Promise<void>) {
  const settings = { DATABASE_URL: url }
  const service = await startMeasured(settings)
  const remove = async () => {
    await service.stop()
    await service.remove()
    await removeServers()
  }
  return { service, tokens: await makeTokens(settings), remove }
}

/** Each of a user of its own. */
async function makeTokens(settings: Readonly<Record<string, string>>): Promise<string[]> {
  const { operations, close } = await openOperations(loadConfig(settings))
  const tokens: string[] = []
  for (let user = 0; user < USERS; user++) {
    const email = `user${user}@example.org`
    await operations.createUser({ email })
    tokens.push((await operations.createToken({ user: email, name: 'bench' })).token)
  }
  await close()
  return tokens
}

async function measureOn(targets: readonly Target[], seconds: number): Promise<Figure[]> {
  const figures: Figure[] = []
  for (const load of LOADS) {
    const turns = targets.map((): Turn[] => [])
    const sends = targets.map((target) => sending(target, load))
    for (const send of sends) await send(1)
    for (let turn = 1; turn <= TURNS; turn++) {
      for (const [at, send] of sends.entries()) {
        say(`${load.name}, turn ${turn} of ${TURNS}: ${targets[at]?.name}`)
        turns[at]?.push(await send(seconds / TURNS / targets.length))
      }
    }
    const [one = noTurn(), ...onCitus] = turns.map(mediansOf)
    for (const [at, own] of onCitus.entries()) {
      figures.push(...figuresOf(`${load.name}: ${targets[at + 1]?.name}`, own, one))
    }
  }
  return figures
}

/** @returns what sends for so many seconds, and waits until all of it is stored */
function sending(target: Target, { connections, size }: (typeof LOADS)[number]) {
  const { service, tokens, coordinator, workers } = target
  const startMs = Date.now() - 86_400_000
  const requests = Array.from({ length: connections }, (_, connection) => {
    const token = tokens[connection % tokens.length] ?? ''
    return new StampedRequest({ connection, size, token, startMs })
  })
  const spentMs = () => [
    service.processorMs(),
    coordinator.processorMs(),
    workers.reduce((sum, worker) => sum + worker.processorMs(), 0),
  ]
  return async (seconds: number): Promise<Turn> => {
    const beforeMs = spentMs()
    const { port } = service
    const nextRequest = (connection: number) => requests[connection]?.stamp()
    const result = await runLoad({ port, connections, seconds, nextRequest })
    expectAll(result.statuses, 201)
    const rate = result.requestsPerSecond * Math.max(1, size)
    // The figure may be of half a second ago.
    do await setTimeout(1_000)
    while ((await service.backlog()) > 0)
    const [serviceUs = 0, coordinatorUs = 0, workersUs = 0] = spentMs().map(
      (ms, at) => ((ms - (beforeMs[at] ?? 0)) * 1_000) / (rate * seconds),
    )
    return { perSecond: rate, serviceUs, coordinatorUs, workersUs }
  }
}

function noTurn(): Turn {
  return { perSecond: NaN, serviceUs: NaN, coordinatorUs: NaN, workersUs: NaN }
}

function mediansOf(turns: readonly Turn[]): Turn {
  const of = (key: keyof Turn) => median(turns.map((turn) => turn[key]))
  return {
    perSecond: of('perSecond'),
    serviceUs: of('serviceUs'),
    coordinatorUs: of('coordinatorUs'),
    workersUs: of('workersUs'),
  }
}

function figuresOf(name: string, own: Turn, one: Turn): Figure[] {
  const serversUs = own.coordinatorUs + own.workersUs
  return [
    {
      name: `${name}; one PostgreSQL`,
      ours: perSecond(own.perSecond),
      yardstick: perSecond(one.perSecond),
      ratio: (own.perSecond / one.perSecond).toFixed(2),
    },
    {
      name: '  processor time of the process for one',
      ours: microseconds(own.serviceUs),
      yardstick: microseconds(one.serviceUs),
      ratio: (own.serviceUs / one.serviceUs).toFixed(2),
    },
    {
      name: '  of the servers: coordinator and workers; the only one',
      ours: `${microseconds(own.coordinatorUs)} + ${microseconds(own.workersUs)}`,
      yardstick: microseconds(one.coordinatorUs),
      ratio: (serversUs / one.coordinatorUs).toFixed(2),
    },
  ]
}

function microseconds(duration: number): string {
  return `${duration.toFixed(1)} µs`
}
