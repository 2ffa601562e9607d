// Goal: a process or a database that goes away costs time, never measurements. Method: real
// processes and a server of their own, killed in the middle.

import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import { serve } from '../support/command.ts'
import { sendBatch } from '../support/http.ts'
import { readingsOf } from '../support/influx-story.ts'
import { ask } from '../support/lanes.ts'
import { Load } from '../support/load.ts'
import { newDatabase, usePostgres, usePostgresServer } from '../support/postgres.ts'
import type { TestDatabase } from '../support/postgres.ts'
import { Replicas } from '../support/replicas.ts'
import { until } from '../support/until.ts'

interface Place {
  readonly stream: number
  readonly seq: number
}

describe('a load on three processes, one of which is killed', () => {
  const postgres = usePostgres()
  let database: TestDatabase
  let replicas: Replicas

  before(async () => {
    database = await newDatabase(postgres())
    replicas = await Replicas.start(3, { DATABASE_URL: database.url })
  })
  after(async () => {
    await replicas?.stop()
    await database?.remove()
  })

  it('is taken when it is sent again, and forwarded by the others', async () => {
    const load = new Load(replicas, { senders: 4, batch: 2 })
    await load.more(50)
    await replicas.kill(1)
    const heads = 'SELECT stream_id AS stream, head::int AS seq FROM streams'
    const accepted = await ask<Place>(database.url, heads)
    await until('what the killed one accepted is forwarded', async () => {
      const text = 'SELECT stream_id AS stream, seq::int AS seq FROM stream_forwarded'
      const forwarded = await ask<Place>(database.url, text)
      const seqs = new Map(forwarded.map(({ stream, seq }) => [stream, seq]))
      return accepted.every(({ stream, seq }) => (seqs.get(stream) ?? 0) >= seq)
    })
    await load.more(50)
    await load.stop()
    // The killed one refused connections: senders had to send again, however often.
    expect(load.sendsMax).to.be.greaterThan(1)
    expect(await load.sendAgain(), 'lost').to.equal(0)
    await load.expectWhole()
  })
})

/** Then Docker kills what it has asked to stop. */
const STOP_MS_MAX = 10_000

describe('a database that is away', () => {
  const server = usePostgresServer()
  let replicas: Replicas

  before(async () => {
    replicas = await Replicas.start(2, { DATABASE_URL: server().url() })
  })
  after(() => replicas?.stop())

  it('is answered 503, and leaves every process whole', async () => {
    const [first, second] = [readingsOf('cellar', 0, 1), readingsOf('cellar', 1, 1)]
    expect(await replicas.post(0, first)).to.equal(201)
    await server().stop('SIGQUIT')
    for (const at of [0, 1]) expect(await replicas.post(at, second)).to.equal(503)
    await until('it is not ready', async () => {
      const { status, body } = await replicas.get(0, '/readyz')
      return status === 503 && body.detail === 'The database is out of reach.'
    })
    await server().restart()
    await until('it takes measurements', async () => {
      return (await replicas.post(0, second)) < 300
    })
    await until('the other knows them', async () => {
      return (await replicas.post(1, [...first, ...second])) === 200
    })
  })

  it('keeps no process from ending when it stands still', async () => {
    const service = await serve('nowhere', { DATABASE_URL: server().url() })
    const sent = await sendBatch(service.url, replicas.token, readingsOf('cellar', 2, 1))
    expect(sent.status).to.equal(201)
    server().freeze()
    try {
      const patience = pause(STOP_MS_MAX, 'still there', { ref: false })
      expect(await Promise.race([service.stop(), patience])).to.equal(0)
    } finally {
      service.child.kill('SIGKILL')
      server().thaw()
    }
  })
})
