// Bodies that are one JSON value, read and held against what they may be.

import type { RequestFault } from '../../domain/errors.ts'
import type { ApiCall } from '../answers/call.ts'
import type { BodyReader, Sending } from '../body/read-body.ts'
import { readJson } from '../body/read-json.ts'
import { refuseParameters } from './parameters.ts'
import { throwFaults } from './values.ts'

export function sendingOf({ ctx, principal }: ApiCall): Sending {
  return { request: ctx.req, response: ctx.res, userId: principal.user.id }
}

export async function readBody<T>(
  bodies: BodyReader,
  call: ApiCall,
  read: (body: unknown, faults: RequestFault[]) => T,
): Promise<T> {
  const body = await bodies.read(sendingOf(call), readJson)
  const { value, faults } = readWithFaults(body, call.query, read)
  throwFaults(faults)
  return value
}

export function readWithFaults<T>(
  body: unknown,
  query: string,
  read: (body: unknown, faults: RequestFault[]) => T,
): { value: T; faults: RequestFault[] } {
  const faults: RequestFault[] = []
  refuseParameters(query, faults)
  const value = read(body, faults)
  return { value, faults }
}
