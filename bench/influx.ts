// Batches of 500 with InfluxDB as the measurement store, beside the same load program writing the
// same points directly into an influxd of the same kind, 500 a request.

import { hasInfluxd, InfluxServer } from '../test/support/influxd.ts'
import { BATCH, batchFigures, CONNECTIONS, expectAll, loadBatches } from './batch-load.ts'
import type { BatchLoad } from './batch-load.ts'
import { postRequest, runLoad } from './load.ts'
import { say } from './report.ts'
import type { Figure } from './report.ts'
import { startMeasured } from './service.ts'

const SENSORS_PER_CONNECTION = 10
/** The bucket that an InfluxServer has from the start. */
export const BUCKET = 'unused'
const START_MS = Date.UTC(2026, 0, 5)
const TIME_HOLE = `${START_MS}000000`

export async function measureInflux(seconds: number): Promise<Figure[]> {
  if (!hasInfluxd()) {
    say('not measured, for want of a command influxd: batches with InfluxDB behind')
    return []
  }
  const direct = await withInfluxd((server) => loadDirectly(server, seconds))
  const behind = await withInfluxd((server) => loadService(server, seconds))
  const name = `batches of ${BATCH} with InfluxDB behind, ${seconds} s`
  const names = {
    acknowledged: `${name}, acknowledged; beside InfluxDB alone`,
    drained: 'and in InfluxDB',
  }
  return batchFigures(names, behind, direct)
}

/** One influxd for one piece of work. */
export async function withInfluxd<Result>(
  work: (server: InfluxServer) => Promise<Result>,
): Promise<Result> {
  const server = await InfluxServer.start()
  try {
    return await work(server)
  } finally {
    await server.stop()
  }
}

/** Points a second that InfluxDB acknowledges. */
async function loadDirectly(server: InfluxServer, seconds: number): Promise<number> {
  say(`InfluxDB alone for ${seconds} s`)
  const requests = Array.from(
    { length: CONNECTIONS },
    (_, connection) => new StampedLines(server, connection),
  )
  const result = await runLoad({
    port: Number(new URL(server.url).port),
    connections: CONNECTIONS,
    seconds,
    nextRequest: (connection) => requests[connection]?.stamp(),
  })
  expectAll(result.statuses, 204)
  return result.requestsPerSecond * BATCH
}

async function loadService(server: InfluxServer, seconds: number): Promise<BatchLoad> {
  const service = await startMeasured({
    INFLUX_URL: server.url,
    INFLUX_ORG: server.organization,
    INFLUX_BUCKET: BUCKET,
    INFLUX_TOKEN: server.influxToken,
  })
  say(`batches of ${BATCH} with InfluxDB behind for ${seconds} s`)
  return loadBatches(service, { seconds, startMs: START_MS })
}

/** The points of a batch as line protocol, with the times of `StampedRequest`. */
class StampedLines {
  readonly #bytes: Buffer
  readonly #timePlaces: number[] = []
  #clockMs = START_MS

  constructor(server: InfluxServer, connection: number) {
    const lines = Array.from({ length: BATCH }, (_, at) => {
      const sensor = connection * SENSORS_PER_CONNECTION + (at % SENSORS_PER_CONNECTION) + 1
      const celsius = 20 + (at % 100) / 10
      return `temperature,sensor_id=${sensor},user_id=1 temp=${celsius} ${TIME_HOLE}`
    })
    const query = new URLSearchParams({ org: server.organization, bucket: BUCKET, precision: 'ns' })
    const path = `/api/v2/write?${query.toString()}`
    this.#bytes = postRequest(path, server.influxToken, lines.join('\n'))
    for (let at = this.#bytes.indexOf(TIME_HOLE); at !== -1;) {
      this.#timePlaces.push(at)
      at = this.#bytes.indexOf(TIME_HOLE, at + 1)
    }
  }

  stamp(): Buffer {
    this.#timePlaces.forEach((at, ordinal) => {
      if (ordinal % SENSORS_PER_CONNECTION === 0) this.#clockMs += 100
      this.#bytes.write(String(this.#clockMs), at, 'latin1')
    })
    return this.#bytes
  }
}
