// A small history with everything that an export has to get right, sent as a daemon sends it: equal
// readings, several at one millisecond, numbers with many digits, late ones, a deleted sensor.

import { send } from './http.ts'

const START_MS = Date.UTC(2026, 2, 10)

interface Sent {
  readonly event_id: string
  readonly sn: string
  readonly temp: number
  readonly timestamp: string
}

function reading(sn: string, at: number, temp: number, atMs: number): Sent {
  return { event_id: `${sn}/${at}`, sn, temp, timestamp: new Date(atMs).toISOString() }
}

/** Of `KEPT` and `Other-2`, and of `GONE`, which is to be deleted. */
export function readings(): Sent[] {
  const odd = [0.1 + 0.2, 1e-7, -0.000_123_456_789_012_3, 1 / 3, 9999.999999999998, -273.15, 0]
  return [
    ...Array.from({ length: 400 }, (_, at) =>
      reading('KEPT', at, ((at * 37) % 1000) / 8 - 40, START_MS + at * 12_345_678),
    ),
    ...odd.map((temp, at) => reading('Other-2', at, temp, START_MS + at)),
    // Equal ones, and different ones, at one millisecond; sent later, measured earlier.
    ...[5, 5, 5, -1, 7].map((temp, at) => reading('KEPT', 1_000 + at, temp, START_MS - 86_400_001)),
    reading('GONE', 0, 1, START_MS),
  ]
}

/** Sends the readings and deletes `GONE`. */
export async function sendReadings(url: string, token: string): Promise<void> {
  const all = readings()
  for (let start = 0; start < all.length; start += 500) {
    const body = { measurements: all.slice(start, start + 500) }
    const path = '/api/v1/measurements/batch'
    const { status, text } = await send(url, { method: 'POST', path, token, body })
    if (status !== 201) throw new Error(text)
  }
  const { body } = await send(url, { path: '/api/v1/sensors', token })
  const sensors = body.data as { readonly id: number; readonly sn: string }[]
  const gone = sensors.find(({ sn }) => sn === 'GONE')
  await send(url, { method: 'DELETE', path: `/api/v1/sensors/${gone?.id}`, token })
}

/** The lines of an export as CSV, without its header, that the readings must come out as. */
export function expectedLines(): string[] {
  const bySensor = Map.groupBy(readings(), ({ sn }) => sn)
  return ['KEPT', 'Other-2'].flatMap((sn) =>
    (bySensor.get(sn) ?? [])
      .toSorted((a, b) => Date.parse(a.timestamp) - Date.parse(b.timestamp))
      .map(({ timestamp, temp }) => `${timestamp},${sn},${temp}`),
  )
}
