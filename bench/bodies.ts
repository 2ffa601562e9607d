// The bodies that the benchmarks send: measurements of a few sensors a connection, every event id
// a fresh random UUID, times that go on from request to request.

import { postRequest, writeUuid } from './load.ts'

const UUID_HOLE = '00000000-0000-4000-8000-000000000000'
const TIME_HOLE = '2026-01-01T00:00:00.000Z'
const SENSORS_PER_CONNECTION = 10

/** A batch, or a single measurement where `size` is 0, that can be stamped anew for each send. */
export class StampedRequest {
  readonly bytes: Buffer
  readonly #idPlaces: number[]
  readonly #timePlaces: number[]
  #clockMs: number

  constructor(order: { connection: number; size: number; token: string; startMs: number }) {
    const { connection, size, token } = order
    const measurements = Array.from({ length: Math.max(1, size) }, (_, at) => ({
      event_id: UUID_HOLE,
      sn: serialNumber(connection * SENSORS_PER_CONNECTION + (at % SENSORS_PER_CONNECTION)),
      temp: 20 + (at % 100) / 10,
      timestamp: TIME_HOLE,
    }))
    const [path, body] =
      size === 0
        ? ['/api/v1/measurements', measurements[0]]
        : ['/api/v1/measurements/batch', { measurements }]
    this.bytes = postRequest(path, token, JSON.stringify(body))
    this.#idPlaces = placesOf(this.bytes, UUID_HOLE)
    this.#timePlaces = placesOf(this.bytes, TIME_HOLE)
    this.#clockMs = order.startMs
  }

  /** Fresh event ids; every ten measurements a hundred milliseconds later. */
  stamp(): Buffer {
    for (const at of this.#idPlaces) writeUuid(this.bytes, at)
    let time = ''
    this.#timePlaces.forEach((at, ordinal) => {
      if (ordinal % SENSORS_PER_CONNECTION === 0) {
        this.#clockMs += 100
        time = new Date(this.#clockMs).toISOString()
      }
      this.bytes.write(time, at, 'latin1')
    })
    return this.bytes
  }
}

export function serialNumber(ordinal: number): string {
  return `28FF${String(ordinal).padStart(12, '0')}`
}

function placesOf(bytes: Buffer, hole: string): number[] {
  const places: number[] = []
  for (let at = bytes.indexOf(hole); at !== -1; at = bytes.indexOf(hole, at + 1)) places.push(at)
  return places
}
