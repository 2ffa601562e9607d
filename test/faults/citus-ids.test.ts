// Goal: no two sensors ever have one id, whatever the coordinator loses in a crash. Method: the
// coordinator is slow to write its log. Another process takes ids and has not committed; a user of
// a worker gets a sensor behind them, and the coordinator is killed at once. Then others get some.

import { expect } from 'chai'
import type { Service } from '../../src/compose.ts'
import { connectAlone } from '../../src/postgres/server/connection.ts'
import { useCitusCluster } from '../support/citus.ts'
import { send } from '../support/http.ts'
import { until } from '../support/until.ts'
import { startOnCitus } from '../support/users-of-workers.ts'

/** What no commit waits for stays in memory. */
const SLOW_LOG = ['wal_writer_delay=10s']
const ROUNDS = 2
/** Of each user after a crash: more than were given before it without a word in the log. */
const SENSORS = 4
const TAKE_ID = `SELECT nextval('sensor_ids')`
/** A sequence logs 32 ids ahead, and gives them without a word. */
const READ_AHEAD = 'SELECT log_cnt::int AS ahead FROM sensor_ids'
const LOGGED_AHEAD = 32

describe('ids of sensors on Citus', () => {
  const citus = useCitusCluster()
  let databaseUrl: string
  let service: Service
  let url: string
  let tokens: readonly string[]

  before(async () => {
    ;({ databaseUrl, service, url, tokens } = await startOnCitus(citus()))
  })
  after(() => service?.stop())

  const submit = async (token: string, sn: string) => {
    const body = { sn, temp: 3, event_id: sn }
    return (await send(url, { method: 'POST', path: '/api/v1/measurements', token, body })).status
  }
  const untilTaken = (token: string, sn: string) =>
    until('it is taken', async () => [200, 201].includes(await submit(token, sn)))
  const idsOf = async (token: string): Promise<readonly number[]> => {
    const { body } = await send(url, { path: '/api/v1/sensors', token })
    return body.data.map((sensor: { id: number }) => sensor.id)
  }
  /** As another process that registers sensors. */
  const takeUncommitted = async () => {
    const client = await connectAlone(databaseUrl, false)
    await client.query('BEGIN')
    let ahead = 0
    while (ahead < LOGGED_AHEAD) {
      await client.query(TAKE_ID)
      ahead = (await client.query<{ ahead: number }>(READ_AHEAD)).rows[0]?.ahead ?? LOGGED_AHEAD
    }
    return client
  }

  it('are never given twice, though the coordinator is killed', async () => {
    const [own = ''] = tokens
    await citus().coordinator.restart(SLOW_LOG)
    for (let round = 0; round < ROUNDS; round++) {
      for (const token of tokens) await untilTaken(token, `before-${round}`)
      const other = await takeUncommitted()
      const status = await submit(own, `during-${round}`)
      await citus().coordinator.kill()
      expect(status).to.equal(201)
      await other.end()
      await citus().coordinator.restart(SLOW_LOG)
      for (let made = 0; made < SENSORS; made++) {
        for (const token of tokens) await untilTaken(token, `after-${round}-${made}`)
      }
      const ids = (await Promise.all(tokens.map(idsOf))).flat()
      expect(ids).to.have.length((round + 1) * (tokens.length * (SENSORS + 1) + 1))
      expect(
        ids.filter((id, at) => ids.indexOf(id) !== at),
        'given twice',
      ).to.deep.equal([])
    }
  })
})
