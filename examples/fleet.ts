// A simulated fleet: sensors in a house and around it, each with its own day, year and noise, that
// send batches as a daemon does. One was silent for a night, one has not been heard for hours.

import { setTimeout } from 'node:timers/promises'

export interface Target {
  readonly url: string
  readonly token: string
}

interface SimulatedSensor {
  readonly sn: string
  readonly alias: string
  /** Mean, swing over the day and over the year, and noise, in degrees Celsius. */
  readonly mean: number
  readonly swing: number
  readonly year: number
  readonly noise: number
  /** By how much it is off. */
  readonly compensation?: number
  /** When it is silent. */
  readonly isSilent?: (beforeNowMs: number) => boolean
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const YEAR_MS = 365.25 * DAY_MS

/** Silent from 13 to 9 hours ago. */
const wasSilent = (beforeNowMs: number) => beforeNowMs > 9 * HOUR_MS && beforeNowMs < 13 * HOUR_MS

/** Not heard for three hours. */
const isGone = (beforeNowMs: number) => beforeNowMs < 3 * HOUR_MS

const SERIAL = '28FF641E931604'

// prettier-ignore
export const FLEET: readonly SimulatedSensor[] = [
  { sn: `${SERIAL}01`, alias: 'Living room', mean: 21.2,  swing: 0.9, year: 1.6, noise: 0.3 },
  { sn: `${SERIAL}02`, alias: 'Bedroom',     mean: 18.6,  swing: 0.8, year: 2.1, noise: 0.1 },
  { sn: `${SERIAL}03`, alias: 'Cellar',      mean: 11.8,  swing: 0.2, year: 2.8, noise: 0.12,
    compensation: -0.4, isSilent: wasSilent },
  { sn: `${SERIAL}04`, alias: 'Garden',      mean: 9.5,   swing: 4.2, year: 9,   noise: 0.8,
    compensation: 0.25 },
  { sn: `${SERIAL}05`, alias: 'Fridge',      mean: 4.2,   swing: 0.2, year: 0.3, noise: 0.7 },
  { sn: `${SERIAL}06`, alias: 'Freezer',     mean: -18.4, swing: 0.2, year: 0.2, noise: 0.8 },
  { sn: `${SERIAL}07`, alias: 'Hot water',   mean: 54,    swing: 4,   year: 1,   noise: 1.2 },
  { sn: `${SERIAL}08`, alias: 'Greenhouse',  mean: 16.9,  swing: 6.8, year: 7,   noise: 0.9,
    isSilent: isGone },
]

const STEP_MS = 5 * 60_000
const BATCH_MAX = 500

interface Measurement {
  readonly event_id: string
  readonly sn: string
  readonly temp: number
  readonly timestamp: string
}

/** How much of the past is sent: the last days in steps of five minutes, before that in hours. */
const FINE_DAYS = 8
const DAYS = 365

/**
 * Sends the past up to now; the same past again is the same events.
 *
 * @throws when it is `stopping` before that
 */
export async function backfill(
  target: Target,
  stopping: AbortSignal,
  onShare: (share: number) => void,
): Promise<void> {
  const all = [...pastMeasurements(Date.now())]
  for (let start = 0; start < all.length; start += BATCH_MAX) {
    while (!(await send(target, all.slice(start, start + BATCH_MAX)))) {
      await setTimeout(1_000, undefined, { signal: stopping })
    }
    onShare(Math.min(1, (start + BATCH_MAX) / all.length))
  }
}

/**
 * @returns what sends one measurement of each sensor that is not silent, now, after those that were
 *   not taken; and says whether all are stored
 */
export function startFleet(target: Target): () => Promise<boolean> {
  const waiting: Measurement[] = []
  return async () => {
    const nowMs = Date.now()
    waiting.push(...measureAll(nowMs, nowMs))
    const batch = waiting.slice(0, BATCH_MAX)
    if (await send(target, batch)) waiting.splice(0, batch.length)
    return waiting.length === 0
  }
}

/** Calls the sensors what they are called, and says by how much they are off. */
export async function nameSensors({ url, token }: Target): Promise<void> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const answer = await fetch(`${url}/api/v1/sensors`, { headers })
  const { data } = (await answer.json()) as { data: { id: number; sn: string; alias: string }[] }
  for (const { id, sn, alias } of data) {
    const known = FLEET.find((sensor) => sensor.sn === sn)
    // Whoever has renamed it knows better.
    if (known === undefined || alias !== sn) continue
    const body = JSON.stringify({ alias: known.alias, compensation: known.compensation ?? 0 })
    await fetch(`${url}/api/v1/sensors/${id}`, { method: 'PATCH', headers, body })
  }
}

function* pastMeasurements(nowMs: number): Generator<Measurement> {
  const fineMs = Math.ceil((nowMs - FINE_DAYS * DAY_MS) / HOUR_MS) * HOUR_MS
  for (let atMs = fineMs - (DAYS - FINE_DAYS) * DAY_MS; atMs < fineMs; atMs += HOUR_MS) {
    yield* measureAll(atMs, nowMs)
  }
  for (let atMs = fineMs; atMs < nowMs; atMs += STEP_MS) yield* measureAll(atMs, nowMs)
}

function measureAll(atMs: number, nowMs: number): Measurement[] {
  return FLEET.filter(({ isSilent }) => isSilent?.(nowMs - atMs) !== true).map((sensor) =>
    measure(sensor, atMs),
  )
}

function measure({ sn, mean, swing, year, noise }: SimulatedSensor, atMs: number): Measurement {
  // Warmest at three in the afternoon (UTC) and late in July, with weather that comes and goes in
  // days; all of it made from sensor and time, so that the same measurement comes out the same.
  const ofDay = Math.sin(((atMs % DAY_MS) / DAY_MS) * 2 * Math.PI - (3 / 4) * Math.PI)
  const ofYear = Math.cos(((atMs % YEAR_MS) / YEAR_MS - 0.56) * 2 * Math.PI)
  const weather = Math.sin(atMs / (0.61 * DAY_MS)) + Math.sin(atMs / (1.7 * DAY_MS) + 2)
  const jitter = drift(atMs, mean) + 0.6 * onAndOff(atMs)
  const exact = mean + swing * ofDay + year * (ofYear + 0.18 * weather) + noise * jitter
  const temp = Math.round(exact * 100) / 100
  const timestamp = new Date(atMs).toISOString()
  return { event_id: `${sn}/${timestamp}`, sn, temp, timestamp }
}

/** Scattered every few minutes and straight in between: live values go on as the past has ended. */
function drift(atMs: number, seed: number): number {
  const startMs = Math.floor(atMs / STEP_MS) * STEP_MS
  const before = scatter(startMs / 1_000 + seed)
  const after = scatter((startMs + STEP_MS) / 1_000 + seed)
  return before + ((atMs - startMs) / STEP_MS) * (after - before)
}

/** From −0.5 to 0.5, and no two neighbours alike. */
function scatter(seed: number): number {
  const digits = Math.sin(seed * 12.9898) * 43_758.5453
  return digits - Math.floor(digits) - 0.5
}

/** A compressor, or a heating, that goes on and off within the hour. */
function onAndOff(atMs: number): number {
  return Math.abs(((atMs / (0.7 * HOUR_MS)) % 2) - 1) * 2 - 1
}

/** @returns whether they are stored; otherwise they can be sent again */
async function send(
  { url, token }: Target,
  measurements: readonly Measurement[],
): Promise<boolean> {
  const request = {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ measurements }),
  }
  const answer = await fetch(`${url}/api/v1/measurements/batch`, request)
    .then(async (response) => ({ response, text: await response.text() }))
    // A process may have ended: another one has the same data.
    .catch(() => undefined)
  if (answer === undefined || answer.response.status === 503) return false
  if (!answer.response.ok)
    throw new Error(`the service answered ${answer.response.status}: ${answer.text}`)
  return true
}
