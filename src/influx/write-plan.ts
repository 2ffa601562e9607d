// What a batch becomes: requests of measurements, and of infos about sensors. InfluxDB keeps data
// in shards of that many days, and a write that touches many of them takes seconds and opens
// thousands of files: points are put together by time, so that a request meets few.

import { DAY_MS } from '../domain/time.ts'
import type { MeasurementColumns } from '../domain/measurement-columns.ts'
import type { SensorInfo, StoreBatch } from '../ports/measurement-store.ts'
import { sensorInfoLines, temperatureLines } from './line-protocol.ts'

/** How much time one shard of a bucket of ours holds. */
export const SHARD_GROUP_MS = 30 * DAY_MS

/** Shards are cut from the year 1 on, which puts an edge 28 days after the epoch. */
const SHARD_GROUP_EDGE_MS = 28 * DAY_MS

/** Larger requests are no faster, smaller ones cost more each. */
const REQUEST_LINES_MAX = 8_000

const REQUEST_SHARD_GROUPS_MAX = 4

const INFOS_A_REQUEST_MAX = 1_000

/** Lines for one request. */
export interface RequestLines {
  readonly count: number
  readonly toBody: (start: number, stop: number) => Buffer
  readonly reject: (at: number, reason: string) => void
}

/** Told of what InfluxDB will never take. */
interface Rejections {
  measurement(index: number, reason: string): void
  info(info: SensorInfo, reason: string): void
}

/** The requests of a batch. */
export function planRequests(batch: StoreBatch, rejections: Rejections): RequestLines[] {
  const { measurements, sensorInfos } = batch
  const requests: RequestLines[] = planPlaces(measurements).map((places) => ({
    count: places.length,
    toBody: (start, stop) => temperatureLines(measurements, places.subarray(start, stop)),
    reject: (at, reason) => rejections.measurement(places[at] as number, reason),
  }))
  for (let start = 0; start < sensorInfos.length; start += INFOS_A_REQUEST_MAX) {
    const infos = sensorInfos.slice(start, start + INFOS_A_REQUEST_MAX)
    requests.push({
      count: infos.length,
      toBody: (from, to) => sensorInfoLines(infos.slice(from, to)),
      reject: (at, reason) => rejections.info(infos[at] as SensorInfo, reason),
    })
  }
  return requests
}

/** The shard that a time falls into, counted. */
export function shardGroupOf(atMs: number): number {
  return Math.floor((atMs - SHARD_GROUP_EDGE_MS) / SHARD_GROUP_MS)
}

/** The places of all measurements, request by request; in one shard in the order they came. */
export function planPlaces({ count, measuredAtMs }: MeasurementColumns): Uint32Array[] {
  const groups = new Map<number, number[]>()
  for (let place = 0; place < count; place++) {
    const group = shardGroupOf(measuredAtMs[place] as number)
    const places = groups.get(group)
    if (places === undefined) groups.set(group, [place])
    else places.push(place)
  }
  const requests: Uint32Array[] = []
  let open: number[] = []
  let openGroups = 0
  const finish = () => {
    if (open.length > 0) requests.push(Uint32Array.from(open))
    open = []
    openGroups = 0
  }
  for (const group of [...groups.keys()].sort((a, b) => a - b)) {
    if (openGroups === REQUEST_SHARD_GROUPS_MAX) finish()
    openGroups++
    for (const place of groups.get(group) ?? []) {
      if (open.length === REQUEST_LINES_MAX) {
        finish()
        openGroups = 1
      }
      open.push(place)
    }
  }
  finish()
  return requests
}
