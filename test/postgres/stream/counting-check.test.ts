// Goal: a server that would take an event twice is not used. Method: a ledger that is made to.

import { expect } from 'chai'
import { createService } from '../../../src/compose.ts'
import { loadConfig, UnfitSettings } from '../../../src/config.ts'
import { countingFault } from '../../../src/postgres/stream/counting-check.ts'
import { RecordingLog } from '../../support/log.ts'
import { newDatabase, newMigratedDatabase, runOnce, usePostgres } from '../../support/postgres.ts'
import type { TestDatabase } from '../../support/postgres.ts'

const TAKE_ALL = `
  CREATE FUNCTION take_all() RETURNS trigger LANGUAGE plpgsql AS
  $$BEGIN new.key = gen_random_uuid(); RETURN new; END$$;
  CREATE TRIGGER take_all BEFORE INSERT ON ledger FOR EACH ROW EXECUTE FUNCTION take_all()`

describe('the check of what the ledger counts', () => {
  const postgres = usePostgres()
  let database: TestDatabase
  beforeEach(async () => {
    database = await newMigratedDatabase(postgres())
  })
  afterEach(() => database.remove())

  it('stores nothing, and finds nothing where nothing is wrong', async () => {
    const empty = await newDatabase(postgres())
    for (const { url } of [empty, database]) {
      expect(await countingFault(url)).to.equal(undefined)
    }
    expect(await runOnce(database.url, 'SELECT 1 FROM ledger')).to.deep.equal([])
    await empty.remove()
  })

  it('refuses one that counts an event that it has', async () => {
    await runOnce(database.url, TAKE_ALL)
    const config = loadConfig({ PORT: '0', DATABASE_URL: database.url })
    const refusal = await createService(config, { log: new RecordingLog() }).catch(
      (error: unknown) => error,
    )
    expect(refusal).to.be.instanceOf(UnfitSettings)
    expect(String(refusal)).to.contain('counts a repeated key twice')
  })
})
