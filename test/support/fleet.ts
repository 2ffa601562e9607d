// A small fleet with what dashboards have to show right: Cellar, −0.5, every 10 minutes but for
// three hours; attic-2, for the first hour, then silent; Barn, +0.25, registered at the end with
// twelve hours that were sent late; never-sent.

import { send } from './http.ts'
import type { TestService } from './service.ts'

export const MINUTE_MS = 60_000
export const HOUR_MS = 60 * MINUTE_MS

/** A day that ends with the last full hour: InfluxDB hides names of the future. */
export const STOP_MS =
  Math.floor((performance.timeOrigin + performance.now() - MINUTE_MS) / HOUR_MS) * HOUR_MS
export const START_MS = STOP_MS - 24 * HOUR_MS

/** What each is called in the end. */
export const FLEET = {
  cellar: { alias: 'Cellar', sn: '28FF641E93160434', sensor_id: '1', user_id: '1' },
  attic: { alias: 'attic-2', sn: 'attic-2', sensor_id: '2', user_id: '1' },
  barn: { alias: 'Barn', sn: 'barn', sensor_id: '3', user_id: '2' },
  silent: { alias: 'never-sent', sn: 'never-sent', sensor_id: '4', user_id: '2' },
}

/** When Cellar was measured last. */
export const NEWEST_MS = STOP_MS - 10 * MINUTE_MS

/** As InfluxDB writes full seconds. */
export function instant(atMs: number): string {
  return new Date(atMs).toISOString().replace('.000Z', 'Z')
}

/** Sends a day of it, as it would have come: 144 measurements, 4 registrations, 3 changes. */
export async function fillFleet(service: TestService): Promise<void> {
  const { clock } = service
  const { cellar, attic, barn, silent } = FLEET
  const setClock = (atMs: number) => clock.set(instant(atMs))
  setClock(START_MS)
  const first = await service.createToken('a@example.org')
  const second = await service.createToken('b@example.org')
  const submit = (token: string, measurements: readonly object[]) =>
    mustSucceed(service, { token, path: 'measurements/batch', body: { measurements } })
  const change = (token: string, id: number, body: object) =>
    mustSucceed(service, { token, path: `sensors/${id}`, method: 'PATCH', body })
  const every = (minutes: number, fromMs: number, toMs: number) =>
    Array.from(
      { length: (toMs - fromMs) / (minutes * MINUTE_MS) },
      (_, at) => fromMs + at * minutes * MINUTE_MS,
    )
  const reading = (sn: string, temp: number, atMs: number) => ({
    event_id: `${sn} ${atMs}`,
    sn,
    temp,
    timestamp: instant(atMs),
  })
  await submit(first, [reading(cellar.sn, 11, START_MS)])
  await submit(first, [reading(attic.sn, 7, START_MS)])
  await change(first, 1, { alias: 'Basement "north"', compensation: 1 })
  setClock(STOP_MS)
  const cellarTimes = every(10, START_MS + 10 * MINUTE_MS, STOP_MS).filter(
    (atMs) => atMs < START_MS + 5 * HOUR_MS || atMs >= START_MS + 8 * HOUR_MS,
  )
  await submit(
    first,
    cellarTimes.map((atMs) => reading(cellar.sn, cellarTemp(atMs), atMs)),
  )
  await submit(
    first,
    every(10, START_MS + 10 * MINUTE_MS, START_MS + HOUR_MS).map((atMs) =>
      reading(attic.sn, 7, atMs),
    ),
  )
  await submit(
    second,
    every(60, STOP_MS - 12 * HOUR_MS, STOP_MS).map((atMs) => reading(barn.sn, 30, atMs)),
  )
  await service.operations.run('sensor create', { user: 'b@example.org', sn: silent.sn })
  await change(first, 1, { alias: 'Cellar', compensation: -0.5 })
  await change(second, 3, { alias: 'Barn', compensation: 0.25 })
}

/** 11 and 13 in turn, so that each hour has the mean 12; the newest is 12. */
function cellarTemp(atMs: number): number {
  if (atMs === NEWEST_MS) return 12
  return ((atMs - START_MS) / (10 * MINUTE_MS)) % 2 === 0 ? 11 : 13
}

async function mustSucceed(
  { url }: TestService,
  order: { token: string; path: string; method?: string; body: object },
): Promise<void> {
  const answer = await send(url, { method: 'POST', ...order, path: `/api/v1/${order.path}` })
  if (answer.status >= 300) throw new Error(answer.text)
}
