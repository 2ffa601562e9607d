// Goal: any number of processes may start at once on any database, and none works on a schema that
// it does not know.

import { expect } from 'chai'
import { connectAlone } from '../../src/postgres/server/connection.ts'
import { Database } from '../../src/postgres/server/database.ts'
import { migrate, readSchemaState, SCHEMA_VERSION } from '../../src/postgres/server/migrate.ts'
import { newDatabase, runOnce, usePostgres } from '../support/postgres.ts'
import type { TestDatabase } from '../support/postgres.ts'

describe('the schema in PostgreSQL', () => {
  const postgres = usePostgres()
  let database: TestDatabase
  beforeEach(async () => {
    database = await newDatabase(postgres())
  })
  afterEach(() => database.remove())

  const readState = async () => {
    const client = await connectAlone(database.url, false)
    try {
      return await readSchemaState(client)
    } finally {
      await client.end()
    }
  }

  it('is made by one of many processes that start at once', async () => {
    expect((await readState()).version).to.equal(0)
    const applied = await Promise.all(Array.from({ length: 5 }, () => migrate(database.url)))
    expect(applied.flat()).to.deep.equal([SCHEMA_VERSION])
    expect((await readState()).version).to.equal(SCHEMA_VERSION)
  })

  it('belongs to data that have an identity of their own', async () => {
    await migrate(database.url)
    const sql = new Database(database.url, 1)
    const [identity] = await sql.rows<{ id: string }>('SELECT id FROM data_identity')
    await migrate(database.url)
    expect(await sql.rows('SELECT id FROM data_identity')).to.deep.equal([identity])
    await sql.close()
  })

  it('is refused when only later versions can work on it, and not when this one can', async () => {
    await migrate(database.url)
    await runOnce(database.url, 'UPDATE schema_version SET version = 1000')
    expect(await migrate(database.url)).to.deep.equal([])
    await runOnce(database.url, 'UPDATE schema_version SET oldest_version = 1000')
    for (const open of [readState, () => migrate(database.url)]) {
      const message = await open().then(String, (error: Error) => error.message)
      expect(message).to.contain('start the newer Thermolog')
    }
  })
})
