// Goal: where another server has the data, no id is given out that the one before can have given
// out, nor one that the same copy was restored to before. Method: the sequences of a real database.

import { expect } from 'chai'
import { NO_IDS } from '../../src/domain/ids-after-restore.ts'
import { connectAlone } from '../../src/postgres/connection.ts'
import type { Durability } from '../../src/postgres/durability.ts'
import { declareRestored, noticeTakeover } from '../../src/postgres/takeover.ts'
import type { FindIdsInStore } from '../../src/postgres/takeover.ts'
import { ask, findNoIds } from '../support/lanes.ts'
import { newDatabase, newMigratedDatabase, usePostgres } from '../support/postgres.ts'
import type { TestDatabase } from '../support/postgres.ts'

const FOUR_BYTES = ['users_id_seq', 'sensor_ids']
const SEQUENCES = [...FOUR_BYTES, 'access_tokens_id_seq', 'refused_id_seq']
const STORE = 'InfluxDB, organization home, bucket thermolog'

describe('ids on another server', () => {
  const postgres = usePostgres()
  let database: TestDatabase
  beforeEach(async () => {
    database = await newMigratedDatabase(postgres())
    await ask(database.url, 'INSERT INTO measurement_store (name) VALUES ($1)', STORE)
    await notice(findNoIds)
  })
  afterEach(() => database.remove())

  const notice = async (findIdsInStore: FindIdsInStore, durability: Durability = 'local') => {
    const client = await connectAlone(database.url, false)
    try {
      return await noticeTakeover(client, durability, findIdsInStore)
    } finally {
      await client.end()
    }
  }
  const becomeAnother = () => ask(database.url, "UPDATE data_identity SET timeline = '0000000A'")
  const nextIds = async (url = database.url) => {
    const next = SEQUENCES.map((name) => ask<{ id: string }>(url, 'SELECT nextval($1) AS id', name))
    return (await Promise.all(next)).map(([row]) => Number(row?.id))
  }
  const readEpoch = () => ask(database.url, 'SELECT epoch, id FROM data_identity')
  const refuse = () => Promise.reject(new Error('the store is away'))

  it('are others than those of another restore of the same copy', async () => {
    const copy = await newDatabase(postgres(), database)
    await declareRestored(copy.url, findNoIds)
    await becomeAnother()
    expect(await notice(findNoIds)).to.equal(true)
    const [one, other] = [await nextIds(), await nextIds(copy.url)]
    for (const [at, id] of one.entries()) expect(id, SEQUENCES[at]).not.to.equal(other[at])
    expect(one[0]).not.to.equal(one[1])
    for (const id of one.slice(0, 2)) expect(id).to.be.within(2 ** 20, 2 ** 20 + 2 ** 24)
    for (const id of one.slice(2)) expect(id).to.be.within(2 ** 32, 2 ** 33)
    await copy.remove()
  })

  it('are just as far after a promotion that lost nothing, and after another', async () => {
    await ask(database.url, 'UPDATE data_identity SET is_local = false')
    for (const promotions of [1, 2]) {
      await becomeAnother()
      // Whatever the store has, the data have it as well.
      expect(await notice(refuse, 'replicated')).to.equal(true)
      const ids = await nextIds()
      for (const id of ids.slice(0, 2)) expect(id).to.equal(promotions * (2 ** 20 + 1))
    }
  })

  it('go past those that have measurements in a store of their own', async () => {
    const asked: (string | undefined)[] = []
    const findIds: FindIdsInStore = async (storeName) => {
      asked.push(storeName)
      return { userId: 600_000_000, sensorId: 500_000_000 }
    }
    await becomeAnother()
    expect(await notice(findIds)).to.equal(true)
    const [user, sensor] = await nextIds()
    expect(user).to.be.greaterThan(600_000_000 + 2 ** 20)
    expect(sensor).to.be.within(500_000_000 + 2 ** 20, 599_999_999)
    await declareRestored(database.url, findIds)
    expect((await nextIds())[0]).to.be.greaterThan((user ?? 0) + 2 ** 20)
    expect(asked).to.deep.equal([STORE, STORE])
  })

  it('wait until the store has said which those are', async () => {
    await becomeAnother()
    const before = await readEpoch()
    for (const attempt of [() => notice(refuse), () => declareRestored(database.url, refuse)]) {
      expect(await attempt().catch(String)).to.equal('Error: the store is away')
      expect(await readEpoch()).to.deep.equal(before)
    }
    expect(await notice(async () => NO_IDS)).to.equal(true)
    expect(await readEpoch()).not.to.deep.equal(before)
  })
})
