// Goal: no statement makes the service fail or hang, and none shows another user's data.
// Method: statements as Grafana sends them with bytes changed, asked by one of two users; each
// sensor of the other one is called by a word that must not come back.

import { once } from 'node:events'
import { Agent, request } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { serve } from '../support/command.ts'
import type { RunningService } from '../support/command.ts'
import { createFleetToken } from '../support/fleet-token.ts'
import { sendBatch } from '../support/http.ts'
import { byLength } from '../support/length.ts'
import { mutated } from '../support/mutated.ts'

const STATEMENTS = byLength(4_000, 200_000)
const CONNECTIONS = 8
/** Far more than any takes: the slowest is told. */
const HANGING_MS = 10_000
const SHOWN_CHARACTERS_MAX = 1_000
const SETTINGS = { RATE_LIMIT_REQUESTS: '0', RATE_LIMIT_MEASUREMENTS: '0' }
const SECRET = 'neighbours-cellar'
const NOW_MS = Date.now()
const RANGE = `time >= ${NOW_MS - 86_400_000}ms and time <= ${NOW_MS}ms`
/** Each seed makes the same statements. */
const SEED = Math.floor(Math.random() * 2 ** 31)

const TEXTS = [
  'SHOW MEASUREMENTS WITH MEASUREMENT =~ /(?i)temp/ LIMIT 100',
  'SHOW RETENTION POLICIES on "thermolog"',
  'SHOW TAG VALUES FROM "temperature" WITH KEY IN ("name", "choice") WHERE "sn"::tag =~ /^(a|b)$/',
  `SELECT mean("temp"), count("raw") FROM "autogen"."temperature" WHERE "name"::tag = 'room-1' AND
    ${RANGE} GROUP BY time(2m), "name"::tag fill(null) ORDER BY time ASC`,
  `SELECT mean("temp"), min("temp") AS "least" FROM "temperature" WHERE
    ("name"::tag =~ /^(room-1|r.*[0-9]+)$/ OR "sn" != 'x\\'y') AND ${RANGE}
    GROUP BY time(1d), * fill(previous) LIMIT 9 SLIMIT 2 tz('Europe/Berlin')`,
  `SELECT last("temp") FROM "temperature" WHERE ${RANGE}
    GROUP BY time(10s), "sensor_id" fill(-1.5)`,
  `SELECT "temp", "raw" FROM "temperature" WHERE time > now() - 7d AND choice =~ /#1$/
    ORDER BY time DESC LIMIT 50`,
  'SELECT "temp", "silence", "online", "compensation" FROM "sensor" GROUP BY "name"::tag, "sn"',
  'SELECT count("online"), sum("online"), max("temp") FROM "sensor";',
  `SELECT mean("temp") * 1.8 + 32, moving_average(max("temp"), 5), spread("raw"), first("temp")
    FROM "temperature" WHERE ${RANGE} GROUP BY time(2m) fill(previous)`,
  `SELECT max("temp") / 2 - 1 FROM "temperature" GROUP BY "name"; SELECT last("raw") FROM sensor;
    SHOW TAG VALUES ON db WITH KEY = "sn" WHERE ${RANGE}; SELECT first(temp) FROM temperature`,
]

describe(`${STATEMENTS} mutated statements`, () => {
  let dataDir: string
  let service: RunningService
  let token: string
  let slowestMs = 0
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })

  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'thermolog-statements-'))
    token = await createFleetToken(dataDir, 'a@example.org')
    const other = await createFleetToken(dataDir, 'b@example.org')
    service = await serve(dataDir, SETTINGS)
    const readings = (sn: string) =>
      Array.from({ length: 500 }, (_, at) => {
        const timestamp = new Date(NOW_MS - at * 60_000).toISOString()
        return { sn: `${sn}-${at % 5}`, temp: at / 10, timestamp }
      })
    await sendBatch(service.url, token, readings('room'))
    await sendBatch(service.url, other, readings(SECRET))
  })

  after(async () => {
    agent.destroy()
    await service.stop()
    await rm(dataDir, { recursive: true })
  })

  it('are answered, with the data of their user alone', async () => {
    process.stderr.write(`      seed ${SEED}\n`)
    let next = 0
    let taken = 0
    const askOn = async () => {
      for (let at = next++; at < STATEMENTS; at = next++) taken += Number(await isTaken(at))
    }
    await Promise.all(Array.from({ length: CONNECTIONS }, askOn))
    process.stderr.write(`      ${taken} of them taken, the slowest ${Math.round(slowestMs)} ms\n`)
  })

  /** @throws Error if it fails, hangs or shows what is not the user's */
  async function isTaken(at: number): Promise<boolean> {
    const plain = TEXTS[at % TEXTS.length] ?? ''
    const statement = mutated(Buffer.from(plain), SEED + at).toString('latin1')
    const startMs = performance.now()
    const headers = {
      authorization: `Token ${token}`,
      'content-type': 'application/x-www-form-urlencoded',
    }
    const path = new URL('/query?db=thermolog&epoch=ms', service.url)
    const outgoing = request(path, { method: 'POST', agent, headers })
    outgoing.end(new URLSearchParams({ q: statement }).toString())
    const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage]
    const answer = await text(incoming)
    const tookMs = performance.now() - startMs
    slowestMs = Math.max(slowestMs, tookMs)
    const shown = answer.slice(0, SHOWN_CHARACTERS_MAX)
    const told = `statement ${at} of seed ${SEED}, ${statement}: ${incoming.statusCode} ${shown}`
    if (incoming.statusCode !== 200 && incoming.statusCode !== 400) throw new Error(told)
    if (tookMs > HANGING_MS) throw new Error(`${Math.round(tookMs)} ms for ${told}`)
    if (!statement.includes(SECRET) && answer.includes(SECRET)) throw new Error(told)
    return incoming.statusCode === 200
  }
})
