// ledger.db: the sealed part of the event ledger. The seal thread writes it while the look-up
// thread and the commit thread read it.
//
// A run has up to eight million events in small blocks. The block of a key is computed from its
// first 32 bits, so a look-up reads one row. Pages of 16 KiB keep the blocks packed.

import { join } from 'node:path'
import { LEDGER_FILE, openForWriting } from '../database.ts'
import type { Connection, Migration } from '../database.ts'

export const LEDGER_PAGE_BYTES = 16_384

/** Needed by every seal: if one of them is damaged, nothing can be sealed. */
export const STATE_TABLES = ['runs', 'sealed', 'time_spans', 'tie_breaks']

/** The only format: files with another number are refused. */
export const LEDGER_MIGRATIONS: readonly Migration[] = [
  {
    version: 8,
    sql: `
      -- merged_no numbers merged runs from 0 on; young runs have none. A run that is being merged
      -- names the run that takes its events over, of which segments_written counts the segments
      -- that are there: it has the events of those, the runs that name it have all others.
      CREATE TABLE runs (
        run_no INTEGER PRIMARY KEY AUTOINCREMENT,
        events INTEGER NOT NULL,
        blocks INTEGER NOT NULL,
        merged_no INTEGER UNIQUE,
        segments_written INTEGER NOT NULL,
        merged_into INTEGER
      ) STRICT;

      -- id = run_no * 2^24 + block number; every block of a run has a row, also one without events.
      CREATE TABLE blocks (
        id INTEGER PRIMARY KEY,
        entries BLOB NOT NULL
      ) STRICT;

      -- id = cohort number * 256 + first byte of the keys
      CREATE TABLE cohort_segments (
        id INTEGER PRIMARY KEY,
        filter BLOB NOT NULL
      ) STRICT;

      -- Of merged runs: id = run_no * 2048 + first bits of the keys
      CREATE TABLE fine_filters (
        id INTEGER PRIMARY KEY,
        filter BLOB NOT NULL
      ) STRICT;

      -- Where a sensor's sealed measurements lie in time: a few stretches, never too little.
      CREATE TABLE time_spans (
        sensor_id INTEGER PRIMARY KEY,
        spans BLOB NOT NULL
      ) STRICT;

      -- The next free tie-break where a millisecond of a sensor has had more than one measurement.
      CREATE TABLE tie_breaks (
        sensor_id INTEGER NOT NULL,
        measured_at_ms INTEGER NOT NULL,
        next_ns INTEGER NOT NULL,
        PRIMARY KEY (sensor_id, measured_at_ms)
      ) STRICT, WITHOUT ROWID;

      -- Every journal row up to this one is sealed.
      CREATE TABLE sealed (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        seq INTEGER NOT NULL,
        -- What the secret that keys are encrypted with makes of a fixed block; NULL in a new file.
        key_check BLOB
      ) STRICT;
      INSERT INTO sealed (id, seq) VALUES (1, 0);
    `,
  },
]

/** For its only writer. @throws OtherFormat @throws DamagedData */
export function openLedger(dataDir: string): Connection {
  return openForWriting(join(dataDir, LEDGER_FILE), LEDGER_MIGRATIONS, LEDGER_PAGE_BYTES)
}
