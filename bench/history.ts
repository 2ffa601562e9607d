// History of a sensor with a year of minute data, by hour and by day, and of one with a week of
// second data, raw, beside an echo of nothing: the health check of the same server.

import { setTimeout } from 'node:timers/promises'
import { median, megabytes, milliseconds, say } from './report.ts'
import type { Figure } from './report.ts'
import { sendBatch, startMeasured } from './service.ts'
import type { MeasuredService } from './service.ts'

const YEAR_MS = 365 * 86_400_000
const WEEK_MS = 7 * 86_400_000
const START_MS = Date.UTC(2025, 0, 1)
const BATCH = 500
const SENDERS = 8
const RUNS = 15

export async function measureHistory(): Promise<Figure[]> {
  const service = await startMeasured()
  say('storing a year of minutes and a week of seconds')
  await store(service, { sn: 'minutes', stepMs: 60_000, count: YEAR_MS / 60_000 })
  await store(service, { sn: 'seconds', stepMs: 1_000, count: WEEK_MS / 1_000 })
  while ((await service.backlog()) > 0) await setTimeout(10)
  const headers = { authorization: `Bearer ${service.token}` }
  const base = `http://127.0.0.1:${service.port}`
  const ids = await readIds(`${base}/api/v1/sensors`, headers)
  const ask = (sn: string, lengthMs: number, bucket: string) => {
    const period = `from=${time(START_MS)}&to=${time(START_MS + lengthMs)}`
    return `${base}/api/v1/sensors/${ids.get(sn)}/measurements?${period}&bucket=${bucket}`
  }
  const healthMs = await timeOf(`${base}/healthz`, headers)
  const figures: Figure[] = []
  for (const bucket of ['hour', 'day']) {
    const ourMs = await timeOf(ask('minutes', YEAR_MS, bucket), headers)
    figures.push({
      name: `a year of minutes by ${bucket}; beside /healthz`,
      ours: milliseconds(ourMs),
      yardstick: milliseconds(healthMs),
      ratio: (ourMs / healthMs).toFixed(1),
    })
  }
  const beforeBytes = service.residentBytes()
  const rawMs = await timeOf(ask('seconds', WEEK_MS, 'raw'), headers, 5)
  const extraBytes = Math.max(0, service.peakMemoryBytes() - beforeBytes)
  await service.stop()
  await service.remove()
  return [
    ...figures,
    {
      name: 'a week of seconds, raw (604,800 points)',
      ours: milliseconds(rawMs),
      yardstick: '',
      ratio: '',
    },
    {
      name: '  memory beyond what it had, at most',
      ours: megabytes(extraBytes),
      yardstick: '',
      ratio: '',
    },
  ]
}

async function store(
  service: MeasuredService,
  series: { sn: string; stepMs: number; count: number },
): Promise<void> {
  let next = 0
  const send = async (): Promise<void> => {
    while (next < series.count) {
      const first = next
      next += BATCH
      const measurements = Array.from(
        { length: Math.min(BATCH, series.count - first) },
        (_, at) => ({
          event_id: `${series.sn}/${first + at}`,
          sn: series.sn,
          temp: Math.round(Math.sin((first + at) / 500) * 1_000) / 100,
          timestamp: time(START_MS + (first + at) * series.stepMs),
        }),
      )
      await sendBatch(service, measurements)
    }
  }
  await Promise.all(Array.from({ length: SENDERS }, send))
}

async function readIds(url: string, headers: Record<string, string>): Promise<Map<string, number>> {
  const response = await fetch(url, { headers })
  const { data } = (await response.json()) as { data: { id: number; sn: string }[] }
  return new Map(data.map(({ id, sn }) => [sn, id]))
}

/** Median time until the last byte of an answer is there. */
async function timeOf(url: string, headers: Record<string, string>, runs = RUNS): Promise<number> {
  const timesMs: number[] = []
  for (let run = 0; run < runs; run++) {
    const startedAtMs = performance.now()
    const response = await fetch(url, { headers })
    if (!response.ok) throw new Error(`${url} answered ${response.status}`)
    // Read and dropped, as a client that draws while it reads.
    for await (const _ of response.body ?? []);
    timesMs.push(performance.now() - startedAtMs)
  }
  return median(timesMs)
}

function time(atMs: number): string {
  return new Date(atMs).toISOString()
}
