// The time of the server: those of processes differ.

/** Milliseconds, in SQL. */
export const SERVER_TIME_MS = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint'
