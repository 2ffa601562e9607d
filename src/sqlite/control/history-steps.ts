// From when on the history of a sensor has changed since a row of the journal: the schema of
// control.db says how that is kept.

import { HOUR_MS } from '../../domain/time.ts'

/** Of the step that stands for all that are too old. */
const EVERYTHING_HOUR = -1_000_000_000
export const EVERYTHING_MS = EVERYTHING_HOUR * HOUR_MS

const STEPS = `
  SELECT min(hour) * ${HOUR_MS} FROM history_steps h WHERE h.sensor_id = s.id AND h.seq > @seq`
/** From when on the history of the sensor `s` with the state `l` differs. */
export const HISTORY_FROM = `
  CASE WHEN data_seq > @seq THEN min(oldest_at_ms,
    iif(before_seq > @seq, before_hour * ${HOUR_MS}, oldest_at_ms),
    ifnull((${STEPS}), oldest_at_ms)) END`
