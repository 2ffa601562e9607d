// Goal: a worker that is away keeps no process from starting, nor from serving the users of the
// other one. Method: a worker is killed, or stands still, before anything was ever submitted, and
// again later; a user of the other one submits to a process that runs, and to one that starts then.

import { expect } from 'chai'
import { createService } from '../../src/compose.ts'
import type { Service } from '../../src/compose.ts'
import { loadConfig } from '../../src/config.ts'
import { useCitusCluster } from '../support/citus.ts'
import { send } from '../support/http.ts'
import { RecordingLog } from '../support/log.ts'
import type { PostgresServer } from '../support/postgres-server.ts'
import { newDatabase } from '../support/postgres.ts'
import { until } from '../support/until.ts'
import { newUsersOf } from '../support/users-of-workers.ts'

interface Absence {
  readonly name: string
  readonly begin: (worker: PostgresServer) => void | Promise<void>
  readonly end: (worker: PostgresServer) => void | Promise<void>
}

const ABSENCES: readonly Absence[] = [
  { name: 'is killed', begin: (one) => one.kill(), end: (one) => one.restart() },
  { name: 'stands still', begin: (one) => one.freeze(), end: (one) => one.thaw() },
]

describe('a process on Citus that starts while a worker is away', () => {
  const citus = useCitusCluster()
  const services: Service[] = []
  let databaseUrl: string

  beforeEach(async () => {
    databaseUrl = (await newDatabase(citus())).url
  })
  afterEach(async () => {
    for (const service of services.splice(0)) await service.stop()
  })

  const start = async () => {
    const config = loadConfig({ PORT: '0', DATABASE_URL: databaseUrl })
    const service = await createService(config, { log: new RecordingLog() })
    services.push(service)
    return (await service.start()).url
  }
  const statusOf = async (url: string, token: string, event: string) => {
    const body = { event_id: event, sn: 'cellar', temp: 3 }
    return (await send(url, { method: 'POST', path: '/api/v1/measurements', token, body })).status
  }

  for (const { name, begin, end } of ABSENCES) {
    it(`serves the users of the other one, as one does that runs: ${name}`, async () => {
      const [away, other] = citus().workers
      if (other === undefined || away === undefined) throw new Error('there are two workers')
      const running = await start()
      const [token = '', own = ''] = await newUsersOf([other, away], databaseUrl)
      for (const event of ['first', 'second']) {
        await begin(away)
        try {
          expect(await statusOf(running, token, event), event).to.equal(201)
          expect(await statusOf(await start(), token, `${event} to another`)).to.equal(201)
        } finally {
          await end(away)
        }
        await until('its users are served again', async () => {
          return [200, 201].includes(await statusOf(running, own, event))
        })
      }
    })
  }
})
