import { expect } from 'chai'
import { describeChanges } from '../contract/changes.ts'
import { CursorClient, describeCursors } from '../contract/cursors.ts'
import { describeLatest } from '../contract/latest.ts'
import { newUser, PERMISSIVE } from '../contract/open-data.ts'
import { ask } from '../support/lanes.ts'
import { newPostgresData } from '../support/postgres-data.ts'
import { openProcess } from '../support/postgres-process.ts'
import { newMigratedDatabase, usePostgres } from '../support/postgres.ts'

describe('changes in PostgreSQL', () => {
  const postgres = usePostgres()
  const newData = newPostgresData(postgres)
  describeChanges('PostgreSQL', newData)
  describeCursors('PostgreSQL', newData)
  describeLatest('PostgreSQL', newData)

  describe('with the journal streams of hundreds of processes', () => {
    const addStreams = (url: string, from: number, to: number) =>
      ask(
        url,
        `INSERT INTO streams (stream_id, head)
         SELECT id, 1099511627776 * 9 + id FROM generate_series(${from}, ${to}) AS id`,
      )

    it('have cursors of 8 KiB, and beyond that begin anew', async () => {
      const { url, remove } = await newMigratedDatabase(postgres())
      const data = await openProcess(url, PERMISSIVE)
      const userId = await newUser(data)
      const client = await CursorClient.open(data, userId)
      await addStreams(url, 1, 750)
      const [cursor, eventId] = [await client.newCursor(), await client.newEventId()]
      expect(cursor.length).to.be.within(7_000, 8_192)
      expect(await client.isKnown(cursor)).to.equal(true)
      expect(await client.isKnownEvent(eventId)).to.equal(true)
      await addStreams(url, 751, 2_000)
      expect(await client.isKnown(await client.newCursor())).to.equal(false)
      expect(await client.isKnownEvent(await client.newEventId())).to.equal(false)
      await data.close()
      await remove()
    })
  })
})
