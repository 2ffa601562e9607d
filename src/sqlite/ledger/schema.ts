// ledger.db: the sealed part of the event ledger. One thread writes it (threads/seal-thread.ts),
// the look-up thread and the commit thread read it beside that.
//
// A run is up to a few hundred million events, cut into small blocks; the block of a key is
// computed from its first 32 bits, so that a look-up reads one row. Pages of 16 KiB keep the blocks
// packed.

import type { Migration } from '../database.ts'

export const LEDGER_PAGE_BYTES = 16_384

export const LEDGER_MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    sql: `
      -- state: 0 being written, 1 in use, 2 replaced by a merge
      CREATE TABLE runs (
        run_no INTEGER PRIMARY KEY AUTOINCREMENT,
        state INTEGER NOT NULL,
        level INTEGER NOT NULL,
        events INTEGER NOT NULL,
        blocks INTEGER NOT NULL,
        filter BLOB
      ) STRICT;

      -- id = run_no * 2^24 + block number
      CREATE TABLE blocks (
        id INTEGER PRIMARY KEY,
        entries BLOB NOT NULL
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
        seq INTEGER NOT NULL
      ) STRICT;
      INSERT INTO sealed (id, seq) VALUES (1, 0);
    `,
  },
  {
    version: 2,
    // Merges used to write the whole new run before anything of the old ones went.
    sql: `
      DELETE FROM blocks WHERE id IN
        (SELECT block.id FROM runs CROSS JOIN blocks AS block
           ON block.id >= run_no * 16777216 AND block.id < (run_no + 1) * 16777216
         WHERE state <> 1);
      DELETE FROM runs WHERE state <> 1;
      -- The word of a key that its line in the filter comes from.
      ALTER TABLE runs ADD COLUMN filter_word INTEGER NOT NULL DEFAULT 3;

      -- Which run takes the events of another over, block by block; that one stays in use until the
      -- new one is whole. Not in the table of runs, where it would be behind megabytes of filter.
      CREATE TABLE merges (
        source_no INTEGER PRIMARY KEY,
        target_no INTEGER NOT NULL
      ) STRICT;

      -- Of a run being written by a merge: its blocks before this one are written.
      CREATE TABLE merge_progress (
        target_no INTEGER PRIMARY KEY,
        next_block INTEGER NOT NULL
      ) STRICT;
    `,
  },
  {
    version: 3,
    // Nothing to change, but versions before do not know that a filter_word of −1 stands for
    // another kind of filter (run-filter.ts), with 72 keys a line.
    sql: '',
  },
  {
    version: 4,
    sql: `
      -- Of the filter of a run being written by a merge: so many lines from that one on.
      CREATE TABLE filter_parts (
        id INTEGER PRIMARY KEY,
        run_no INTEGER NOT NULL,
        first_line INTEGER NOT NULL,
        lines BLOB NOT NULL
      ) STRICT;
    `,
  },
  {
    version: 5,
    sql: `
      -- Runs that have a filter in common; theirs in the table of runs is NULL.
      CREATE TABLE cohort_runs (
        run_no INTEGER PRIMARY KEY,
        cohort_no INTEGER NOT NULL,
        slot INTEGER NOT NULL
      ) STRICT;

      -- id = cohort_no * 256 + first byte of the keys
      CREATE TABLE cohort_segments (
        id INTEGER PRIMARY KEY,
        filter BLOB NOT NULL
      ) STRICT;
    `,
  },
  {
    version: 6,
    // And segments have another form, which versions before do not know; those of before are known
    // by theirs (cohort-segment-before.ts).
    sql: `
      -- Of the runs of cohorts: id = run_no * 2048 + first bits of the keys
      CREATE TABLE fine_filters (
        id INTEGER PRIMARY KEY,
        filter BLOB NOT NULL
      ) STRICT;
    `,
  },
]
