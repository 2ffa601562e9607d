// The tables of a DATA_DIR as they are moved into a database, a page at a time. Columns have the
// names that they have there.

import type { MovedTable, MovedValue } from '../../ports/moved-data.ts'
import {
  CONTROL_FILE,
  damagedFile,
  LEDGER_FILE,
  MEASUREMENTS_FILE,
  orDamaged,
} from '../database.ts'
import type { Connection } from '../database.ts'

const ROWS_A_PAGE = 10_000

export interface PagedTable {
  readonly file: string
  readonly columns: string
  readonly from: string
}

const SUMMARY = `
  sensor_id, start_ms AS at_ms, measurement_count AS count, sum_celsius AS sum, min_celsius AS min,
  max_celsius AS max`

// What refers to users comes after them.
export const PAGED_TABLES: Readonly<Record<string, PagedTable>> = {
  users: {
    file: CONTROL_FILE,
    columns: 'id, email, email_key, name, created_at_ms, has_signed_up',
    from: 'users',
  },
  user_state: {
    file: CONTROL_FILE,
    columns: `id AS user_id, (SELECT count(*) FROM sensors
      WHERE user_id = users.id AND deleted_at_ms IS NULL) AS sensors`,
    from: 'users',
  },
  access_tokens: {
    file: CONTROL_FILE,
    columns: `id, user_id, kind, name, app_name, made_in_session_id, rights, serial_number_prefix,
      hash, created_at_ms, expires_at_ms, lifetime_ms, last_used_at_ms, revoked_at_ms,
      has_stored_lines`,
    from: 'access_tokens',
  },
  identities: {
    file: CONTROL_FILE,
    columns: 'issuer, subject, user_id, created_at_ms',
    from: 'identities',
  },
  sign_in_links: {
    file: CONTROL_FILE,
    columns: 'hash, user_id, salt, created_at_ms, expires_at_ms, used_at_ms',
    from: 'sign_in_links',
  },
  sensors: {
    file: CONTROL_FILE,
    columns: `id, user_id, serial_number, serial_number_key, alias,
      compensation_celsius, created_at_ms, deleted_at_ms`,
    from: 'sensors',
  },
  sensor_state: {
    file: CONTROL_FILE,
    columns: `s.id AS sensor_id, s.user_id, l.measured_at_ms, l.temp_celsius,
      l.last_seen_at_ms, ifnull(l.gave_way_at_ms, 0) AS gave_way_at_ms,
      last_tie_break(s.id, l.measured_at_ms) AS tie_break,
      spans_of(s.id) AS time_spans`,
    from: `(SELECT * FROM sensors WHERE deleted_at_ms IS NULL) AS s
      LEFT JOIN sensor_latest AS l ON l.sensor_id = s.id`,
  },
  accepted_per_day: {
    file: CONTROL_FILE,
    columns: 'sensor_id, day, measurements',
    from: 'accepted_per_day',
  },
  set_aside: {
    file: CONTROL_FILE,
    columns: `id, user_id, sensor_id, measured_at_ms, tie_break_ns,
      temp_celsius, reason, set_aside_at_ms`,
    from: 'set_aside',
  },
  refused: {
    file: CONTROL_FILE,
    columns: `id, user_id, token_id, kind, content, fields,
      unit_ns, serial_number_prefix, content_hash, reason, count, received_at_ms, ahead_at_ms,
      bytes`,
    from: 'refused',
  },
  refused_totals: {
    file: CONTROL_FILE,
    columns: 'user_id, bytes, dropped',
    from: 'refused_totals',
  },
  skipped_series: {
    file: CONTROL_FILE,
    columns: 'user_id, series_hash, line, count, last_at_ms',
    from: 'skipped_series',
  },
  tie_breaks: {
    file: LEDGER_FILE,
    columns: 'sensor_id, measured_at_ms AS at_ms, next_ns AS next',
    from: '(SELECT * FROM tie_breaks WHERE is_live(sensor_id))',
  },
  measurements: {
    file: MEASUREMENTS_FILE,
    columns: 'sensor_id, measured_at_ms AS at_ms, tie_break_ns, temp_celsius',
    from: 'measurements',
  },
  measurements_hour: {
    file: MEASUREMENTS_FILE,
    columns: SUMMARY,
    from: 'hour_summaries',
  },
  measurements_day: {
    file: MEASUREMENTS_FILE,
    columns: SUMMARY,
    from: 'day_summaries',
  },
}

export class PagedRows implements MovedTable {
  readonly name: string
  readonly columns: readonly string[]
  readonly #file: string
  readonly #rows
  readonly #total

  constructor(name: string, { file, columns, from }: PagedTable, db: Connection) {
    this.name = name
    this.#file = file
    this.#rows = db.prepare<[], readonly MovedValue[]>(`SELECT ${columns} FROM ${from}`).raw()
    this.columns = this.#rows.columns().map((column) => column.name)
    this.#total = db.prepare<[], number>(`SELECT count(*) FROM ${from}`).pluck()
  }

  total(): number {
    return orDamaged(damagedFile(this.#file), () => this.#total.get() ?? 0)
  }

  *pages(): Generator<readonly (readonly MovedValue[])[]> {
    const rows = this.#rows.iterate()
    try {
      for (;;) {
        const page = orDamaged(damagedFile(this.#file), () => take(rows, ROWS_A_PAGE))
        if (page.length === 0) return
        yield page
      }
    } finally {
      rows.return?.()
    }
  }
}

function take<Row>(rows: Iterator<Row>, countMax: number): Row[] {
  const page: Row[] = []
  for (let next = rows.next(); next.done !== true; next = rows.next()) {
    page.push(next.value)
    if (page.length === countMax) break
  }
  return page
}
