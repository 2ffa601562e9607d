// A small machine: a disk that takes 30 ms for an fsync, as SD cards do, beside the disk as it is.
// For 512 MB of memory run it in a control group that has no more.

import { runLoad } from './load.ts'
import { StampedRequest } from './bodies.ts'
import { median, megabytes, milliseconds, perSecond, say } from './report.ts'
import type { Figure } from './report.ts'
import { startMeasured } from './service.ts'
import type { MeasuredService } from './service.ts'
import { expectAll } from './batch-load.ts'
import { compileDiskFaults, DiskFaults } from '../test/support/disk-faults.ts'

const SYNC_MS = 30
const ROUNDS = 3

/** Connections and measurements in a request. */
const LOADS = [
  { connections: 1, size: 0, name: 'single POST, 1 connection' },
  { connections: 32, size: 0, name: 'single POST, 32 connections' },
  { connections: 300, size: 0, name: 'single POST, 300 connections' },
  { connections: 1, size: 500, name: 'batches of 500, 1 connection' },
  { connections: 16, size: 500, name: 'batches of 500, 16 connections' },
] as const

type Load = (typeof LOADS)[number]

/** What one load gave: measurements a second, and the 99th percentile of a request. */
interface Outcome {
  readonly perSecond: number
  readonly p99Ms: number
}

export async function measureSmall(seconds: number): Promise<Figure[]> {
  const library = compileDiskFaults()
  if (library === null)
    return [{ name: 'small: no C compiler', ours: '', yardstick: '', ratio: '' }]
  const faults = new DiskFaults(library)
  const service = await startMeasured(faults.environment)
  const turnSeconds = Math.max(1, Math.round(seconds / (LOADS.length * ROUNDS * 2)))
  const figures: Figure[] = []
  for (const load of LOADS) {
    say(load.name)
    const slow: Outcome[] = []
    const asItIs: Outcome[] = []
    for (let round = 0; round < ROUNDS; round++) {
      faults.slowSyncs(0)
      asItIs.push(await run(service, load, turnSeconds))
      faults.slowSyncs(SYNC_MS)
      slow.push(await run(service, load, turnSeconds))
    }
    figures.push(...figuresOf(load.name, slow, asItIs))
  }
  figures.push({
    name: '  peak memory',
    ours: megabytes(service.peakMemoryBytes()),
    yardstick: '',
    ratio: '',
  })
  await service.stop()
  await service.remove()
  faults.close()
  return figures
}

async function run(service: MeasuredService, load: Load, seconds: number): Promise<Outcome> {
  const { token, port } = service
  const { connections, size } = load
  const startMs = Date.now() - 86_400_000
  const requests = Array.from(
    { length: connections },
    (_, connection) => new StampedRequest({ connection, size, token, startMs }),
  )
  const nextRequest = (connection: number) => requests[connection]?.stamp()
  const result = await runLoad({ port, connections, seconds, nextRequest })
  expectAll(result.statuses, 201)
  return {
    perSecond: result.requestsPerSecond * Math.max(1, size),
    p99Ms: result.p99Ms,
  }
}

function figuresOf(name: string, slow: readonly Outcome[], asItIs: readonly Outcome[]): Figure[] {
  const rate = (outcomes: readonly Outcome[]) => median(outcomes.map((each) => each.perSecond))
  const p99Ms = (outcomes: readonly Outcome[]) => median(outcomes.map((each) => each.p99Ms))
  return [
    {
      name: `${name}, ${SYNC_MS} ms an fsync; beside the disk as it is`,
      ours: perSecond(rate(slow)),
      yardstick: perSecond(rate(asItIs)),
      ratio: (rate(slow) / rate(asItIs)).toFixed(2),
    },
    {
      name: '  p99',
      ours: milliseconds(p99Ms(slow)),
      yardstick: milliseconds(p99Ms(asItIs)),
      ratio: (p99Ms(slow) / p99Ms(asItIs)).toFixed(1),
    },
  ]
}
