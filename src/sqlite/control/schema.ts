// control.db: users, identities, access tokens, sensors, and the journal that every measurement
// passes through. One thread writes it (threads/commit-thread.ts); others read it.
//
// Deleted sensors keep their row, without what their owner wrote, because the ledger still refers
// to them: a late repeat of an old event is answered with the old sensor. Ids are never reused
// (AUTOINCREMENT).

import { join } from 'node:path'
import { EVERYTHING_HOUR } from '../../control/sensor-changes.ts'
import { historyChangesMsMax } from '../../domain/limits.ts'
import { CONTROL_FILE, damagedFile, openForWriting, orDamaged } from '../database.ts'
import type { Connection, Migration } from '../database.ts'
import { makeEventSecret } from '../event-key.ts'

/** The only format: files with another number are refused. */
export const CONTROL_MIGRATIONS: readonly Migration[] = [
  {
    version: 24,
    sql: `
      CREATE TABLE users (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        email TEXT NOT NULL,
        email_key TEXT NOT NULL UNIQUE,
        name TEXT NOT NULL,
        created_at_ms INTEGER NOT NULL,
        -- By signing in; else an operator made them.
        has_signed_up INTEGER NOT NULL DEFAULT 0
      ) STRICT;

      CREATE TABLE access_tokens (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        user_id INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
        kind TEXT NOT NULL CHECK (kind IN ('daemon', 'mobile')),
        name TEXT NOT NULL,
        rights TEXT NOT NULL,
        -- Before every serial number that comes with it in line protocol.
        serial_number_prefix TEXT NOT NULL DEFAULT '',
        app_name TEXT NOT NULL DEFAULT '',
        -- Of a daemon token that its owner made.
        made_in_session_id INTEGER,
        hash BLOB NOT NULL UNIQUE,
        created_at_ms INTEGER NOT NULL,
        expires_at_ms INTEGER,
        -- For how long one like it is valid; a token that is replaced expires sooner.
        lifetime_ms INTEGER,
        last_used_at_ms INTEGER,
        revoked_at_ms INTEGER,
        -- By line protocol, with a temperature.
        has_stored_lines INTEGER NOT NULL DEFAULT 0
      ) STRICT;
      CREATE INDEX access_tokens_by_user ON access_tokens (user_id);

      -- One-time links to sign in with; one without a user makes the first user.
      CREATE TABLE sign_in_links (
        hash BLOB PRIMARY KEY,
        user_id INTEGER REFERENCES users (id) ON DELETE CASCADE,
        salt BLOB NOT NULL,
        created_at_ms INTEGER NOT NULL,
        expires_at_ms INTEGER,
        used_at_ms INTEGER
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX sign_in_links_by_user ON sign_in_links (user_id, created_at_ms);

      CREATE TABLE sensors (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        user_id INTEGER NOT NULL,
        serial_number TEXT NOT NULL,
        serial_number_key TEXT NOT NULL,
        alias TEXT NOT NULL,
        compensation_celsius REAL NOT NULL DEFAULT 0,
        created_at_ms INTEGER NOT NULL,
        -- Time of the last info that the measurement store was given; the next one is later.
        info_at_ms INTEGER NOT NULL,
        deleted_at_ms INTEGER,
        -- The journal row of its registration, its last change, or its deletion; and of the last
        -- change of its compensation.
        changed_seq INTEGER NOT NULL,
        compensated_seq INTEGER NOT NULL DEFAULT 0
      ) STRICT;
      CREATE INDEX sensors_changed ON sensors (user_id, changed_seq);
      CREATE UNIQUE INDEX sensors_live
        ON sensors (user_id, serial_number_key) WHERE deleted_at_ms IS NULL;

      -- Written with every commit that has news of a sensor, so narrow and apart from its row.
      CREATE TABLE sensor_latest (
        sensor_id INTEGER PRIMARY KEY,
        measured_at_ms INTEGER NOT NULL,
        temp_celsius REAL NOT NULL,
        last_seen_at_ms INTEGER NOT NULL,
        data_seq INTEGER NOT NULL,
        -- The oldest measurement of the row data_seq; the hour of the oldest one of the row before.
        oldest_at_ms INTEGER NOT NULL,
        before_hour INTEGER,
        before_seq INTEGER,
        -- The greatest time that gave way because it was ahead of now; 0: none ever did.
        gave_way_at_ms INTEGER NOT NULL
      ) STRICT;

      -- From which hour on the history of a sensor differs from what it was before a row of the
      -- journal, together with sensor_latest: the least hour of the rows since then. A row whose
      -- hour is not less than that of a later one says nothing, and is not kept. Rows older than a
      -- week become one, of the hour ${EVERYTHING_HOUR}.
      CREATE TABLE history_revisions (
        sensor_id INTEGER NOT NULL,
        hour INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        at_ms INTEGER NOT NULL,
        PRIMARY KEY (sensor_id, hour)
      ) STRICT, WITHOUT ROWID;
      CREATE TRIGGER history_revision AFTER UPDATE OF before_hour ON sensor_latest
      WHEN old.before_hour < new.before_hour BEGIN
        INSERT INTO history_revisions (sensor_id, hour, seq, at_ms)
        VALUES (old.sensor_id, old.before_hour, old.before_seq, old.last_seen_at_ms)
        ON CONFLICT (sensor_id, hour) DO UPDATE SET seq = excluded.seq, at_ms = excluded.at_ms;
        INSERT INTO history_revisions (sensor_id, hour, seq, at_ms)
        SELECT sensor_id, ${EVERYTHING_HOUR}, max(seq), min(at_ms) FROM history_revisions
        WHERE sensor_id = new.sensor_id AND at_ms < new.last_seen_at_ms - ${historyChangesMsMax}
        GROUP BY sensor_id
        ON CONFLICT (sensor_id, hour) DO UPDATE SET seq = excluded.seq;
        DELETE FROM history_revisions
        WHERE sensor_id = new.sensor_id AND at_ms < new.last_seen_at_ms - ${historyChangesMsMax}
          AND hour > ${EVERYTHING_HOUR};
      END;

      -- Counted when accepted, apart from the measurement store: what the store is held against.
      CREATE TABLE accepted_per_day (
        sensor_id INTEGER NOT NULL,
        day INTEGER NOT NULL,
        measurements INTEGER NOT NULL,
        PRIMARY KEY (sensor_id, day)
      ) STRICT, WITHOUT ROWID;

      -- A row has what one commit accepted (entries: columns, see journal-row.ts) and what it
      -- changed of sensors (sensor_infos: JSON). Repeated rows hold what was accepted before and is
      -- to be forwarded again; they are not news for the ledger.
      CREATE TABLE journal (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        committed_at_ms INTEGER NOT NULL,
        measurements INTEGER NOT NULL,
        is_repeated INTEGER NOT NULL DEFAULT 0,
        sensor_infos TEXT,
        entries BLOB
      ) STRICT;

      -- Measurements that the store refuses for good, until an operator settles them.
      CREATE TABLE set_aside (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        user_id INTEGER NOT NULL,
        sensor_id INTEGER NOT NULL,
        measured_at_ms INTEGER NOT NULL,
        tie_break_ns INTEGER NOT NULL,
        temp_celsius REAL NOT NULL,
        reason TEXT NOT NULL,
        set_aside_at_ms INTEGER NOT NULL,
        UNIQUE (sensor_id, measured_at_ms, tie_break_ns)
      ) STRICT;

      -- Lines and elements of batches that cannot be stored as they are, equal ones of a user once.
      -- Fields: which ones of a line were refused, as JSON; NULL: all of it.
      CREATE TABLE refused (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        user_id INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
        token_id INTEGER NOT NULL,
        kind TEXT NOT NULL CHECK (kind IN ('line', 'cut-line', 'element')),
        content BLOB NOT NULL,
        fields TEXT,
        unit_ns TEXT NOT NULL,
        serial_number_prefix TEXT NOT NULL,
        content_hash BLOB NOT NULL,
        reason TEXT NOT NULL,
        count INTEGER NOT NULL DEFAULT 1,
        received_at_ms INTEGER NOT NULL,
        -- The time that it has, where it was refused as ahead of its receipt.
        ahead_at_ms INTEGER,
        bytes INTEGER NOT NULL,
        UNIQUE (user_id, content_hash)
      ) STRICT;
      CREATE INDEX refused_by_user ON refused (user_id, id);

      -- What each user has in it, and how much had to make room.
      CREATE TABLE refused_totals (
        user_id INTEGER PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
        bytes INTEGER NOT NULL,
        dropped INTEGER NOT NULL DEFAULT 0
      ) STRICT;

      -- Series of line protocol without a temperature, by the hash of their keys.
      CREATE TABLE skipped_series (
        user_id INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
        series_hash BLOB NOT NULL,
        line BLOB NOT NULL,
        count INTEGER NOT NULL,
        last_at_ms INTEGER NOT NULL,
        PRIMARY KEY (user_id, series_hash)
      ) STRICT, WITHOUT ROWID;

      -- Deleted sensors whose measurements are still to be deleted from the store: after the rows
      -- up to after_seq are forwarded, not before due_at_ms, and more than once where the store
      -- needs it.
      CREATE TABLE sensor_deletions (
        sensor_id INTEGER PRIMARY KEY,
        user_id INTEGER NOT NULL,
        start_ms INTEGER NOT NULL,
        stop_ms INTEGER NOT NULL,
        after_seq INTEGER NOT NULL,
        passes INTEGER NOT NULL DEFAULT 0,
        due_at_ms INTEGER NOT NULL
      ) STRICT;

      -- Which measurement store has the measurements, of the journal's rows after since_seq.
      CREATE TABLE measurement_store (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        name TEXT NOT NULL,
        since_seq INTEGER NOT NULL
      ) STRICT;

      -- Every journal row up to this one is in the measurement store.
      CREATE TABLE journal_watermark (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        forwarded_seq INTEGER NOT NULL
      ) STRICT;
      INSERT INTO journal_watermark (id, forwarded_seq) VALUES (1, 0);

      -- The last row of the journal when an operator said that the clock is right, although it is
      -- before what was received until then.
      CREATE TABLE accepted_clock (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        seq INTEGER NOT NULL
      ) STRICT;

      -- People at identity providers. A user has at most one of each issuer.
      CREATE TABLE identities (
        issuer TEXT NOT NULL,
        subject TEXT NOT NULL,
        user_id INTEGER NOT NULL REFERENCES users (id) ON DELETE CASCADE,
        created_at_ms INTEGER NOT NULL,
        PRIMARY KEY (issuer, subject),
        UNIQUE (user_id, issuer)
      ) STRICT, WITHOUT ROWID;

      -- What event keys are encrypted with, and what it makes of a fixed block.
      CREATE TABLE event_secret (
        id INTEGER PRIMARY KEY CHECK (id = 1),
        secret BLOB NOT NULL,
        checksum INTEGER NOT NULL,
        journal_check BLOB NOT NULL
      ) STRICT;

      -- Which data these are: the id is another one after each restore, which brings back all that
      -- had been acknowledged up to a moment.
      CREATE TABLE data_identity (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        id TEXT NOT NULL,
        restored_to_ms INTEGER
      ) STRICT;
      INSERT INTO data_identity (one, id) VALUES (1, lower(hex(randomblob(16))));
    `,
  },
]

/**
 * For its writer, with what every thread expects in it: its tables, and the secret that each thread
 * reads for itself.
 *
 * @throws OtherFormat @throws DamagedData
 */
export function openControl(dataDir: string): Connection {
  const control = openForWriting(join(dataDir, CONTROL_FILE), CONTROL_MIGRATIONS)
  orDamaged(damagedFile(CONTROL_FILE), () => makeEventSecret(control))
  // Statements with several rows keep their undo data until they end, by default in 64 KiB that are
  // taken and given back each time, and in a file beyond.
  control.pragma('temp_store = MEMORY')
  return control
}
