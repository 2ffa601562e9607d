import { expect } from 'chai'
import { addUsers, newLane, sendEvent, statusOf } from '../../support/lanes.ts'
import { newMigratedDatabase, runOnce, usePostgres } from '../../support/postgres.ts'
import { laneSuite } from '../suites/lane.ts'

const USER = 1
const FAIL = `
  CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN RAISE 'a page cannot be read' USING ERRCODE = 'XX001'; END $$;
  CREATE TRIGGER fail BEFORE INSERT ON ledger FOR EACH ROW EXECUTE FUNCTION fail()`

describe('a lane', () => laneSuite(usePostgres))

describe('a lane that meets a damaged page', () => {
  const postgres = usePostgres()

  it('says so, and goes on once that is repaired', async () => {
    const database = await newMigratedDatabase(postgres())
    await addUsers(database.url, [USER])
    await runOnce(database.url, FAIL)
    const lane = newLane(database.url)
    const failure = await sendEvent(lane, USER, 'e1').catch((error: unknown) => error)
    expect(failure).to.include({ code: 'data_damaged' })
    await runOnce(database.url, 'DROP FUNCTION fail CASCADE')
    expect(statusOf(await sendEvent(lane, USER, 'e1'))).to.equal('created')
    await lane.close()
    await database.remove()
  })
})
