// The layout of measurements.db, the embedded long-term home of measurements.
//
// Every table is a tree clustered by sensor and time, so a history reads neighbouring pages. A
// summary row covers one window on the UTC epoch grid and is updated in the transaction that stores
// its measurements: after a crash, both are there or neither. Everything in this file was
// acknowledged by the journal first and can be written again at any time.

import type { Migration } from '../database.ts'

/**
 * Tables of window summaries, finest first. Thanks to quarter hours, a day in a time zone offset by
 * half an hour is not computed from 1,440 minutes.
 */
export const SUMMARY_TABLES = [
  'minute_summaries',
  'quarter_summaries',
  'hour_summaries',
  'day_summaries',
] as const

export type SummaryTable = (typeof SUMMARY_TABLES)[number]

const MEASUREMENTS = `
  CREATE TABLE measurements (
    sensor_id INTEGER NOT NULL,
    measured_at_ms INTEGER NOT NULL,
    tie_break_ns INTEGER NOT NULL,
    temp_celsius REAL NOT NULL,
    PRIMARY KEY (sensor_id, measured_at_ms, tie_break_ns)
  ) STRICT, WITHOUT ROWID;`

function summaries(table: SummaryTable): string {
  return `
  CREATE TABLE ${table} (
    sensor_id INTEGER NOT NULL,
    start_ms INTEGER NOT NULL,
    measurement_count INTEGER NOT NULL,
    sum_celsius REAL NOT NULL,
    min_celsius REAL NOT NULL,
    max_celsius REAL NOT NULL,
    PRIMARY KEY (sensor_id, start_ms)
  ) STRICT, WITHOUT ROWID;`
}

/** Every row of the journal up to this one is here. */
const WRITTEN = `
  CREATE TABLE written (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    seq INTEGER NOT NULL
  ) STRICT;
  INSERT INTO written (id, seq) VALUES (1, 0);`

export const MEASUREMENT_MIGRATIONS: readonly Migration[] = [
  { version: 3, sql: MEASUREMENTS + SUMMARY_TABLES.map(summaries).join('') + WRITTEN },
]
