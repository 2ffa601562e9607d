// What happens when everybody sends as fast as they can while the measurement store stands still:
// how much memory it takes, that it is refused when the journal is full, and that it goes on by
// itself afterwards.

import { setTimeout } from 'node:timers/promises'
import { hasInfluxd, InfluxServer } from '../test/support/influxd.ts'
import { BATCH } from './batch-load.ts'
import { StampedRequest } from './bodies.ts'
import { runLoad } from './load.ts'
import { megabytes, say } from './report.ts'
import type { Figure } from './report.ts'
import { startMeasured } from './service.ts'

const CONNECTIONS = 500
const REFUSED_PAUSE_MS = 20

/** So that the journal is full long before the end. */
const JOURNAL_MIB_PER_SECOND = 3

export async function measurePressure(seconds: number): Promise<Figure[]> {
  if (!hasInfluxd()) {
    say('not measured, for want of a command influxd: a store that stands still')
    return []
  }
  const server = await InfluxServer.start()
  const service = await startMeasured({
    INFLUX_URL: server.url,
    INFLUX_ORG: server.organization,
    INFLUX_BUCKET: 'unused',
    INFLUX_TOKEN: server.influxToken,
    MAX_JOURNAL_SIZE: `${Math.ceil(seconds * JOURNAL_MIB_PER_SECOND)}MiB`,
  })
  const { token, port } = service
  const startMs = Date.UTC(2026, 0, 5)
  const requests = Array.from(
    { length: CONNECTIONS },
    (_, connection) => new StampedRequest({ connection, size: BATCH, token, startMs }),
  )
  const nextRequest = (connection: number) => requests[connection]?.stamp()
  say(`${CONNECTIONS} connections for ${seconds} s while InfluxDB stands still`)
  server.pause()
  const load = await runLoad({ port, connections: CONNECTIONS, seconds, nextRequest })
  server.resume()
  const peakBytes = service.peakMemoryBytes()
  const resumedAtMs = performance.now()
  for (;;) {
    const once = await runLoad({ port, connections: 1, seconds: 0.01, nextRequest })
    if (once.statuses.has(201)) break
    await setTimeout(REFUSED_PAUSE_MS)
  }
  const acceptedAgainMs = performance.now() - resumedAtMs
  while ((await service.backlog()) > 0) await setTimeout(100)
  await service.stop()
  await service.remove()
  await server.stop()
  const statuses = [...load.statuses].map(([status, count]) => `${count} × ${status}`)
  const alone = (name: string, ours: string): Figure => ({ name, ours, yardstick: '', ratio: '' })
  return [
    alone(
      `${CONNECTIONS} connections, ${seconds} s, store stopped: peak memory`,
      megabytes(peakBytes),
    ),
    alone('  answers', statuses.join(', ')),
    alone('  accepted again after', `${(acceptedAgainMs / 1_000).toFixed(1)} s`),
  ]
}
