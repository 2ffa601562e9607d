// The name of a request in answers and in the log.

import { randomUUID } from 'node:crypto'

const WELL_FORMED = /^[A-Za-z0-9._-]{1,128}$/

/** The client's own request id when it is well-formed, else a random one. */
export function requestIdFrom(header: string | string[] | undefined): string {
  return typeof header === 'string' && WELL_FORMED.test(header) ? header : randomUUID()
}
