// The query of a request, and the inputs of routes that have none.

import { ServiceError } from '../../domain/errors.ts'
import type { RequestFault } from '../../domain/errors.ts'
import type { Call } from '../answers/call.ts'
import { pointerSegment } from '../answers/fault-list.ts'
import type { Input } from './routes.ts'
import { throwFaults } from './values.ts'

/** Nothing: the route has no parameters, and a body is not looked at. */
export const none: Input<undefined, Call> = {
  place: 'nowhere',
  schema: undefined,
  read(call) {
    const faults: RequestFault[] = []
    refuseParameters(call.query, faults)
    throwFaults(faults)
    return undefined
  },
}

/** Nothing, whatever the request has: monitors add parameters of their own. */
export const anything: Input<undefined, Call> = {
  place: 'nowhere',
  schema: undefined,
  read: () => undefined,
}

/**
 * The parameters of a query, each once; repeated ones are added to `faults`. A `+` is a plus: no
 * parameter can hold a space, and offsets and time zones do hold pluses.
 *
 * @throws ServiceError `invalid_request` when the query is not encoded properly
 */
export function readParameters(query: string, faults: RequestFault[]): Record<string, string> {
  const parameters = Object.create(null) as Record<string, string>
  for (const pair of query.split('&')) {
    if (pair === '') continue
    const equals = pair.indexOf('=')
    const name = decodeComponent(equals === -1 ? pair : pair.slice(0, equals))
    if (name in parameters) {
      const pointer = `/${pointerSegment(name)}`
      faults.push({ pointer, code: 'repeated_parameter', detail: 'is there more than once' })
    }
    parameters[name] = equals === -1 ? '' : decodeComponent(pair.slice(equals + 1))
  }
  return parameters
}

/** Adds a fault for each parameter, for routes that have none. */
export function refuseParameters(query: string, faults: RequestFault[]): void {
  if (query === '') return
  for (const name of Object.keys(readParameters(query, faults))) {
    const pointer = `/${pointerSegment(name)}`
    faults.push({ pointer, code: 'additionalProperties', detail: 'is not known here' })
  }
}

function decodeComponent(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch (cause) {
    throw new ServiceError('invalid_request', { detail: 'The query is not encoded.', cause })
  }
}
