// The tables of a DATA_DIR as they are moved into a database: each is read in the order of its key,
// a page at a time, so that a move goes on after the last key that arrived. Columns have the names
// that they have there.

import { damagedFile, orDamaged } from '../damaged-data.ts'
import { CONTROL_FILE, LEDGER_FILE, MEASUREMENTS_FILE } from '../database.ts'
import type { Connection } from '../database.ts'
import type { MovedChunk, MovedTable, Place, Value } from './moved-table.ts'

const ROWS_A_PAGE = 10_000

export interface PagedTable {
  readonly file: string
  /** Its key is the first columns. */
  readonly columns: string
  readonly from: string
  /** What the key is compared by, where that is not itself. */
  readonly keys: readonly string[]
  /** Before every key. */
  readonly first: Place
}

/** No time is earlier. */
const ALWAYS_MS = -1e15

const SUMMARY = `
  sensor_id, start_ms AS at_ms, measurement_count AS count, sum_celsius AS sum, min_celsius AS min,
  max_celsius AS max`

// What refers to users comes after them.
export const PAGED_TABLES: Readonly<Record<string, PagedTable>> = {
  users: {
    file: CONTROL_FILE,
    columns: 'id, email, email_key, name, created_at_ms, has_signed_up',
    from: 'users',
    keys: ['id'],
    first: [0],
  },
  user_state: {
    file: CONTROL_FILE,
    columns: `id AS user_id, bucket_of(id) AS bucket, (SELECT count(*) FROM sensors
      WHERE user_id = users.id AND deleted_at_ms IS NULL) AS sensors`,
    from: 'users',
    keys: ['id'],
    first: [0],
  },
  access_tokens: {
    file: CONTROL_FILE,
    columns: `id, user_id, kind, name, app_name, rights, serial_number_prefix, hash, created_at_ms,
      expires_at_ms, last_used_at_ms, revoked_at_ms, has_stored_lines`,
    from: 'access_tokens',
    keys: ['id'],
    first: [0],
  },
  identities: {
    file: CONTROL_FILE,
    columns: 'issuer, subject, user_id, created_at_ms',
    from: 'identities',
    keys: ['issuer', 'subject'],
    first: ['', ''],
  },
  sign_in_links: {
    file: CONTROL_FILE,
    columns: 'hash, user_id, salt, created_at_ms, expires_at_ms, used_at_ms',
    from: 'sign_in_links',
    keys: ['hex(hash)'],
    first: [''],
  },
  sensors: {
    file: CONTROL_FILE,
    columns: `id, bucket_of(user_id) AS bucket, user_id, serial_number, serial_number_key, alias,
      compensation_celsius, created_at_ms, info_at_ms, deleted_at_ms`,
    from: 'sensors',
    keys: ['id'],
    first: [0],
  },
  sensor_state: {
    file: CONTROL_FILE,
    columns: `s.id AS sensor_id, bucket_of(s.user_id) AS bucket, s.user_id, l.measured_at_ms,
      l.temp_celsius, l.last_seen_at_ms, last_tie_break(s.id, l.measured_at_ms) AS tie_break,
      spans_of(s.id) AS time_spans`,
    from: `(SELECT * FROM sensors WHERE deleted_at_ms IS NULL) AS s
      LEFT JOIN sensor_latest AS l ON l.sensor_id = s.id`,
    keys: ['s.id'],
    first: [0],
  },
  accepted_per_day: {
    file: CONTROL_FILE,
    columns: 'sensor_id, day, measurements, bucket_of_sensor(sensor_id) AS bucket',
    from: 'accepted_per_day',
    keys: ['sensor_id', 'day'],
    first: [0, ALWAYS_MS],
  },
  set_aside: {
    file: CONTROL_FILE,
    columns: `id, bucket_of(user_id) AS bucket, user_id, sensor_id, measured_at_ms, tie_break_ns,
      temp_celsius, reason, set_aside_at_ms`,
    from: 'set_aside',
    keys: ['id'],
    first: [0],
  },
  refused: {
    file: CONTROL_FILE,
    columns: `id, user_id, token_id, kind, content, fields,
      unit_ns, serial_number_prefix, content_hash, reason, count, received_at_ms, retry_at_ms,
      bytes`,
    from: 'refused',
    keys: ['id'],
    first: [0],
  },
  refused_totals: {
    file: CONTROL_FILE,
    columns: 'user_id, bytes, dropped',
    from: 'refused_totals',
    keys: ['user_id'],
    first: [0],
  },
  skipped_series: {
    file: CONTROL_FILE,
    columns: 'user_id, series_hash, line, count, last_at_ms',
    from: 'skipped_series',
    keys: ['user_id', 'hex(series_hash)'],
    first: [0, ''],
  },
  tie_breaks: {
    file: LEDGER_FILE,
    columns: `sensor_id, measured_at_ms AS at_ms, next_ns AS next,
      bucket_of_sensor(sensor_id) AS bucket`,
    from: '(SELECT * FROM tie_breaks WHERE is_live(sensor_id))',
    keys: ['sensor_id', 'measured_at_ms'],
    first: [0, ALWAYS_MS],
  },
  measurements: {
    file: MEASUREMENTS_FILE,
    columns: 'sensor_id, measured_at_ms AS at_ms, tie_break_ns, temp_celsius',
    from: 'measurements',
    keys: ['sensor_id', 'measured_at_ms', 'tie_break_ns'],
    first: [0, ALWAYS_MS, 0],
  },
  measurements_hour: {
    file: MEASUREMENTS_FILE,
    columns: SUMMARY,
    from: 'hour_summaries',
    keys: ['sensor_id', 'start_ms'],
    first: [0, ALWAYS_MS],
  },
  measurements_day: {
    file: MEASUREMENTS_FILE,
    columns: SUMMARY,
    from: 'day_summaries',
    keys: ['sensor_id', 'start_ms'],
    first: [0, ALWAYS_MS],
  },
}

export class PagedRows implements MovedTable {
  readonly name: string
  readonly columns: readonly string[]
  readonly #table: PagedTable
  readonly #page
  readonly #total

  constructor(name: string, table: PagedTable, db: Connection) {
    this.name = name
    this.#table = table
    const { columns, from, keys } = table
    const key = keys.join(', ')
    const places = keys.map(() => '?').join(', ')
    this.#page = db
      .prepare<(string | number)[], readonly Value[]>(
        `SELECT ${columns} FROM ${from} WHERE (${key}) > (${places})
         ORDER BY ${key} LIMIT ${ROWS_A_PAGE}`,
      )
      .raw()
    this.columns = this.#page.columns().map((column) => column.name)
    this.#total = db.prepare<[], number>(`SELECT count(*) FROM ${from}`).pluck()
  }

  total(): number {
    return orDamaged(damagedFile(this.#table.file), () => this.#total.get() ?? 0)
  }

  *rowsAfter(last: Place | undefined): Generator<MovedChunk> {
    const { file, keys, first } = this.#table
    let place = last ?? first
    for (;;) {
      const after = place
      const rows = orDamaged(damagedFile(file), () => this.#page.all(...after))
      const end = rows.at(-1)
      if (end === undefined) return
      place = end.slice(0, keys.length).map(asPlace)
      yield { rows, place }
      if (rows.length < ROWS_A_PAGE) return
    }
  }
}

function asPlace(value: Value): string | number {
  if (value === null) throw new Error('BUG: a key without a value')
  return Buffer.isBuffer(value) ? value.toString('hex').toUpperCase() : value
}
