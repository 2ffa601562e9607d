// Goal: a move leaves nothing behind that lives on. Method: the columns that it fills are held
// against all that either engine has; whoever adds one moves it, or says here why not.
// test/faults/postgres-move.test.ts moves rows, and kills the command.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { createService } from '../../src/compose.ts'
import { loadConfig } from '../../src/config.ts'
import { DATA_FILES, openForReading } from '../../src/sqlite/database.ts'
import { MovedData } from '../../src/sqlite/move/moved-data.ts'
import { runCommand } from '../support/command.ts'
import { createFleetToken } from '../support/fleet-token.ts'
import { startInline } from '../support/inline-threads.ts'
import { RecordingLog } from '../support/log.ts'
import { newMigratedDatabase, runOnce, usePostgres } from '../support/postgres.ts'

/** Of a directory: what is empty when it is drained, has another name there, or was for cursors. */
const LEFT_BEHIND = words(`
  journal journal_watermark sensor_deletions accepted_clock written measurement_store event_secret
  blocks cohort_segments fine_filters runs sealed time_spans
  data_identity sensor_latest
  minute_summaries quarter_summaries hour_summaries day_summaries
  measurements.measured_at_ms tie_breaks.measured_at_ms tie_breaks.next_ns
  history_revisions sensors.info_at_ms sensors.changed_seq sensors.compensated_seq`)
/** Of a database: what begins anew, or is filled otherwise. */
const BEGUN_ANEW = words(`
  data_identity beats schema_version
  sensor_deletions user_deletions journal streams stream_forwarded leases rate_use sign_in_codes
  history_revisions user_state.settings sensors.changed_at_settings sensors.compensated_at_settings
  sensor_state.version sensor_state.stream_id sensor_state.seq sensor_state.pending
  sensor_state.oldest_at_ms sensor_state.before_hour sensor_state.before_stream
  sensor_state.before_seq`)

const SQLITE_COLUMNS = `
  SELECT t.name || '.' || c.name FROM sqlite_master t, pragma_table_info(t.name) c
  WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%'`
const POSTGRES_COLUMNS = `
  SELECT table_name || '.' || column_name AS name FROM information_schema.columns
  WHERE table_schema = 'public'`

describe('what a move takes along', () => {
  const postgres = usePostgres()

  it('is every column of every table, but for those that say nothing any more', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'thermolog-moved-'))
    const config = loadConfig({ DATA_DIR: dataDir, PORT: '0' })
    const log = new RecordingLog()
    const service = await createService(config, { log, startThread: startInline })
    await service.stop()
    const files = DATA_FILES.map((file) => openForReading(dataDir, file))
    const here = files.flatMap((db) => db.prepare<[], string>(SQLITE_COLUMNS).pluck().all())
    for (const db of files) db.close()
    const data = new MovedData(dataDir)
    const moved = data.tables.flatMap(({ name, columns }) => columns.map((one) => `${name}.${one}`))
    data.close()
    const database = await newMigratedDatabase(postgres())
    const rows = await runOnce(database.url, POSTGRES_COLUMNS)
    const there = rows.map(({ name }) => String(name))
    expect(there).to.include.members(moved)
    expect(without(moved, here)).to.have.members(LEFT_BEHIND)
    expect(without(moved, there)).to.have.members(BEGUN_ANEW)
    await database.remove()
    await rm(dataDir, { recursive: true })
  })

  it('is nothing where measurements are in InfluxDB, and the directory stays open', async () => {
    const influx = {
      INFLUX_URL: 'http://127.0.0.1:9',
      INFLUX_ORG: 'home',
      INFLUX_BUCKET: 'thermolog',
      INFLUX_TOKEN: 'none',
    }
    const folder = await mkdtemp(join(tmpdir(), 'thermolog-moved-'))
    const dataDir = join(folder, 'data')
    await createFleetToken(dataDir, 'ana@example.org', influx)
    const database = await newMigratedDatabase(postgres())
    const refused = await runCommand(dataDir, ['move', '--to', database.url], influx)
    expect(refused.stderr).to.match(/measurements in InfluxDB, .*only an embedded store can be/)
    expect(refused.exitCode).to.equal(2)
    const users = await runCommand(dataDir, ['user', 'list'], influx)
    expect(users.exitCode, users.stderr).to.equal(0)
    await database.remove()
    await rm(folder, { recursive: true })
  })
})

/** Columns that are not moved, and tables of which none is. */
function without(moved: readonly string[], columns: readonly string[]): string[] {
  const tableOf = (column: string) => column.split('.')[0] ?? ''
  const tables = new Set(moved.map(tableOf))
  const left = columns.filter((column) => !moved.includes(column))
  return [...new Set(left.map((one) => (tables.has(tableOf(one)) ? one : tableOf(one))))]
}

function words(text: string): string[] {
  return text.trim().split(/\s+/)
}
