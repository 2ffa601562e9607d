// The server's time, because the clocks of processes differ.

/** SQL: milliseconds since 1970. */
export const SERVER_TIME_MS = '(extract(epoch FROM statement_timestamp()) * 1000)::bigint'
