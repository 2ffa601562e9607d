// A simulated fleet: sensors in a house and around it, each with its own day and noise, that send
// batches as a daemon does.

export interface Target {
  readonly url: string
  readonly token: string
}

interface SimulatedSensor {
  readonly sn: string
  /** Mean, swing over the day, and noise, in degrees Celsius. */
  readonly mean: number
  readonly swing: number
  readonly noise: number
}

export const FLEET: readonly SimulatedSensor[] = [
  { sn: '28FF641E93160401', mean: 21.2, swing: 1.4, noise: 0.15 },
  { sn: '28FF641E93160402', mean: 18.6, swing: 1.1, noise: 0.1 },
  { sn: '28FF641E93160403', mean: 11.8, swing: 0.3, noise: 0.05 },
  { sn: '28FF641E93160404', mean: 6.5, swing: 5.5, noise: 0.4 },
  { sn: '28FF641E93160405', mean: 4.2, swing: 0.6, noise: 0.3 },
  { sn: '28FF641E93160406', mean: -18.4, swing: 0.5, noise: 0.4 },
  { sn: '28FF641E93160407', mean: 54, swing: 8, noise: 0.8 },
  { sn: '28FF641E93160408', mean: 23.9, swing: 0.8, noise: 0.1 },
]

const DAY_MS = 86_400_000
const STEP_MS = 5 * 60_000
const DAYS = 7
const BATCH_MAX = 500

interface Measurement {
  readonly event_id: string
  readonly sn: string
  readonly temp: number
  readonly timestamp: string
}

/** A week up to now in steps of five minutes; the same week again is the same events. */
export async function backfill(target: Target, onShare: (share: number) => void): Promise<void> {
  const nowMs = Date.now()
  const firstMs = Math.ceil((nowMs - DAYS * DAY_MS) / STEP_MS) * STEP_MS
  const all: Measurement[] = []
  for (let atMs = firstMs; atMs < nowMs; atMs += STEP_MS) {
    for (const sensor of FLEET) all.push(measure(sensor, atMs))
  }
  for (let start = 0; start < all.length; start += BATCH_MAX) {
    await send(target, all.slice(start, start + BATCH_MAX))
    onShare(Math.min(1, (start + BATCH_MAX) / all.length))
  }
}

/** One measurement of each sensor, now. */
export async function sendNow(target: Target): Promise<void> {
  const nowMs = Date.now()
  await send(
    target,
    FLEET.map((sensor) => measure(sensor, nowMs)),
  )
}

function measure({ sn, mean, swing, noise }: SimulatedSensor, atMs: number): Measurement {
  // Warmest at three in the afternoon (UTC); the noise is made from sensor and time, so that the
  // same measurement comes out the same.
  const ofDay = Math.sin(((atMs % DAY_MS) / DAY_MS) * 2 * Math.PI - (3 / 4) * Math.PI)
  const jitter = Math.sin(atMs / 97_000 + mean * 13) * Math.sin(atMs / 31_000 + swing * 7)
  const temp = Math.round((mean + swing * ofDay + noise * jitter * 2) * 100) / 100
  const timestamp = new Date(atMs).toISOString()
  return { event_id: `${sn}/${timestamp}`, sn, temp, timestamp }
}

async function send({ url, token }: Target, measurements: readonly Measurement[]): Promise<void> {
  const response = await fetch(`${url}/api/v1/measurements/batch`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ measurements }),
  })
  if (!response.ok)
    throw new Error(`the service answered ${response.status}: ${await response.text()}`)
  await response.arrayBuffer()
}
