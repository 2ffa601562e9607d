// Goal: a process that goes away costs time, never measurements. Method: real processes, one of
// which is killed in the middle.

import { expect } from 'chai'
import { ask } from '../../support/lanes.ts'
import { Load } from '../../support/load.ts'
import { newDatabase } from '../../support/postgres.ts'
import type { TestDatabase, UseServer } from '../../support/postgres.ts'
import { Replicas } from '../../support/replicas.ts'
import { until } from '../../support/until.ts'

interface Place {
  readonly stream: number
  readonly seq: number
}

/** @param use what it runs on */
export function outagesSuite(use: UseServer): void {
  const postgres = use()
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
}
