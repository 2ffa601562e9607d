// The dashboard of a thousand sensors, and the answer that nothing in it is new.

import { startMobileMeasured } from './mobile-service.ts'
import { median, milliseconds, say } from './report.ts'
import type { Figure } from './report.ts'
import { sendBatch } from './service.ts'

const SENSORS = 1_000
const BATCH = 500
const RUNS = 50

export async function measureDashboard(): Promise<Figure[]> {
  const service = await startMobileMeasured()
  say(`the dashboard of ${SENSORS} sensors`)
  for (let first = 0; first < SENSORS; first += BATCH) {
    const measurements = Array.from({ length: BATCH }, (_, at) => ({
      event_id: `${first + at}`,
      sn: `sensor-${first + at}`,
      temp: 20,
    }))
    await sendBatch(service, measurements)
  }
  const ask = async (headers: Record<string, string>, expected: number) => {
    const response = await fetch(`http://127.0.0.1:${service.port}/api/mobile/v1/dashboard`, {
      headers: { authorization: `Bearer ${service.mobileToken}`, ...headers },
    })
    await response.arrayBuffer()
    if (response.status !== expected) throw new Error(`status ${response.status}`)
    return response.headers.get('etag') ?? ''
  }
  const known = { 'if-none-match': await ask({}, 200) }
  const wholeMs: number[] = []
  const unchangedMs: number[] = []
  for (let run = 0; run < RUNS; run++) {
    const startedAtMs = performance.now()
    await ask({}, 200)
    const betweenMs = performance.now()
    await ask(known, 304)
    wholeMs.push(betweenMs - startedAtMs)
    unchangedMs.push(performance.now() - betweenMs)
  }
  await service.stop()
  await service.remove()
  return [
    {
      name: `dashboard of ${SENSORS.toLocaleString('en')} sensors, unchanged; beside the whole`,
      ours: milliseconds(median(unchangedMs)),
      yardstick: milliseconds(median(wholeMs)),
      ratio: (median(unchangedMs) / median(wholeMs)).toFixed(2),
    },
  ]
}
