// What a service has of a daemon's last and next hour, for tests that give each reading a
// temperature of its own.

import { expect } from 'chai'
import { send } from './http.ts'

const HOUR_MS = 3_600_000

/** All temperatures that are stored, one for each measurement, the lowest first. */
export async function storedTemperatures(url: string, token: string): Promise<number[]> {
  const { body } = await send(url, { path: '/api/v1/sensors', token })
  const sensors = body.data as { readonly id: number }[]
  const points = sensors.map(async ({ id }) => {
    const times = `from=${instant(Date.now() - HOUR_MS)}&to=${instant(Date.now() + HOUR_MS)}`
    const path = `/api/v1/sensors/${id}/measurements?bucket=raw&${times}`
    const history = await send(url, { path, token })
    expect(history.body.data.complete).to.equal(true)
    return (history.body.data.points as { temp: number }[]).map(({ temp }) => temp)
  })
  return (await Promise.all(points)).flat().toSorted((a, b) => a - b)
}

function instant(atMs: number): string {
  return new Date(atMs).toISOString()
}
