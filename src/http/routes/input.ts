// What requests contain and how it is read: the query, a JSON body, values in either. All faults
// are collected before anything is refused.

import { ServiceError } from '../../domain/errors.ts'
import type { RequestFault } from '../../domain/errors.ts'
import { queryParametersMax } from '../../domain/limits.ts'
import { nameFault } from '../../domain/names.ts'
import { instantFault } from '../../domain/instant-fault.ts'
import { parseInstant } from '../../domain/time.ts'
import type { ApiCall, Call } from '../call/call.ts'
import { pointerSegment } from '../answers/fault-list.ts'
import { jsonBody, noBody, sendingOf, signInBody } from '../body/gate.ts'
import type { BodyBounds, BodyGate } from '../body/gate.ts'
import { readJson } from '../body/read-json.ts'
import type { SmallBodyReader } from '../body/read-small-body.ts'
import { allFaultsIn, validated, validators } from '../body/validate.ts'
import type { Requests } from '../body/validate.ts'

/** What a route takes, for the documents too. */
export interface InputFacts {
  readonly bounds: BodyBounds
  /** Of a JSON body: a file of schemas/request/ without its ending. */
  readonly schema?: string
  /** Whether that body may be missing. */
  readonly isOptional?: boolean
  /** The same for the query. */
  readonly querySchema?: string
}

/** What a route of an API reads from a request before its handler runs. */
export interface Input<T, C extends ApiCall = ApiCall> extends InputFacts {
  /** @throws ServiceError if the request cannot be read or is not valid against the schema */
  read(call: C, bodies: BodyGate): T | Promise<T>
}

/** The same of a route that needs no token. */
export interface OpenInput<T> extends InputFacts {
  /** @throws ServiceError as `Input.read` */
  read(call: Call): T | Promise<T>
}

/** Nothing: the route has no parameters, and ignores a body. */
export const none: OpenInput<undefined> = {
  bounds: noBody,
  read: ({ query }) => readValid(undefined, query, () => undefined),
}

/** Nothing, whatever the request contains: monitors add parameters of their own. */
export const anything: OpenInput<undefined> = {
  bounds: noBody,
  read: () => undefined,
}

/** A JSON body with what its schema says of it. */
export interface Sent<T> {
  /** `undefined` if there are faults. */
  readonly valid: T | undefined
  /** Whatever was sent, valid or not; none of anything but an object. */
  readonly members: Readonly<Record<string, unknown>>
  /** May be added to. */
  readonly faults: RequestFault[]
}

interface Reading<Body, T, C extends Call> {
  /** What the caller has to pass before the body is read. */
  readonly before?: (call: C) => void | Promise<void>
  readonly read: (sent: Sent<Body>, call: C) => T
  /** Whether every member may be left out, and the body with them. */
  readonly isOptional?: boolean
}

/** A JSON body that a schema describes, and no query. */
export function jsonInput<Name extends keyof Requests, T>(
  schema: Name,
  reading: Reading<Requests[Name], T, ApiCall>,
): Input<T> {
  const { isOptional = false } = reading
  const read = async (call: ApiCall, bodies: BodyGate) => {
    await reading.before?.(call)
    const isThere = !isOptional || hasBody(call)
    const body = isThere ? await bodies.read(sendingOf(call), readJson) : {}
    return readSent(schema, body, call, reading)
  }
  return { bounds: jsonBody, schema, isOptional, read }
}

/** The same of somebody who is not known yet. */
export function openJsonInput<Name extends keyof Requests, T>(
  schema: Name,
  bodies: SmallBodyReader,
  reading: Reading<Requests[Name], T, Call>,
): OpenInput<T> {
  const read = async (call: Call) => {
    await reading.before?.(call)
    return readSent(schema, await bodies.readJson(call), call, reading)
  }
  return { bounds: signInBody, schema, read }
}

function hasBody({ ctx }: Call): boolean {
  const { 'content-length': length = '0', 'transfer-encoding': encoding } = ctx.req.headers
  return length !== '0' || encoding !== undefined
}

function readSent<Name extends keyof Requests, T, C extends Call>(
  schema: Name,
  body: unknown,
  call: C,
  { read }: Reading<Requests[Name], T, C>,
): T {
  return readValid(body, call.query, (sent, faults) => {
    const valid = validated(validators[schema], sent, faults)
    return read({ valid, members: membersOf(sent), faults }, call)
  })
}

/**
 * The parameters of a query, each once; repeated ones are added to `faults`. A `+` stays a plus: no
 * parameter can contain a space, but offsets and time zones contain pluses.
 *
 * @throws ServiceError `invalid_request` if the query is not encoded correctly, `validation_failed`
 *   with all faults if it has more parameters than are inspected
 */
export function readParameters(query: string, faults: RequestFault[]): Record<string, string> {
  const parameters = Object.create(null) as Record<string, string>
  const pairs = query.split('&').filter((pair) => pair !== '')
  if (pairs.length > queryParametersMax) {
    const detail = `the query has more than ${queryParametersMax} parameters`
    throwFaults([...faults, { pointer: '', code: 'maxProperties', detail }])
  }
  for (const pair of pairs) {
    const equals = pair.indexOf('=')
    const name = decodeComponent(equals === -1 ? pair : pair.slice(0, equals))
    if (name in parameters) {
      const pointer = `/${pointerSegment(name)}`
      faults.push({ pointer, code: 'repeated_parameter', detail: 'appears more than once' })
    }
    parameters[name] = equals === -1 ? '' : decodeComponent(pair.slice(equals + 1))
  }
  return parameters
}

/** Adds a fault for each parameter, for routes without any. */
function refuseParameters(query: string, faults: RequestFault[]): void {
  if (query === '') return
  for (const name of Object.keys(readParameters(query, faults))) {
    const pointer = `/${pointerSegment(name)}`
    faults.push({ pointer, code: 'additionalProperties', detail: 'is unknown' })
  }
}

function decodeComponent(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch (cause) {
    throw new ServiceError('invalid_request', { detail: 'The query is wrongly encoded.', cause })
  }
}

const INSTANT_DETAIL = 'must be a time like 2026-11-20T10:15:00.000Z or 2026-11-20T11:15:00+01:00'

/** @throws ServiceError `validation_failed` with all faults, if there are any */
export function throwFaults(
  faults: readonly RequestFault[],
  members: Readonly<Record<string, unknown>> = {},
): void {
  if (faults.length === 0) return
  const detail = faults.length === 1 ? 'The request has one fault.' : undefined
  throw new ServiceError('validation_failed', {
    detail: detail ?? `The request has ${faults.length} faults.`,
    faults,
    members,
  })
}

export function membersOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

export function loneSurrogate(pointer: string): RequestFault {
  return { pointer, code: 'lone_surrogate', detail: 'must be well-formed Unicode' }
}

/** The faults of a name; that it is empty is for its schema to say. */
export function nameFaults(pointer: string, trimmed: string): RequestFault[] {
  const fault = trimmed === '' ? undefined : nameFault(trimmed)
  return fault === undefined ? [] : [{ pointer, ...fault }]
}

/** @param text that is no instant */
export function notAnInstant(pointer: string, text: string): RequestFault {
  const fault = instantFault(text)
  const detail = fault === undefined ? INSTANT_DETAIL : `${INSTANT_DETAIL}: ${fault}`
  return { pointer, code: 'format', detail }
}

/** The parameters of a query that a schema describes; faults are added to `faults`. */
export function readQuery<Name extends keyof Requests>(
  query: string,
  schema: Name,
  faults: RequestFault[],
): Partial<Requests[Name]> {
  return query === '' ? {} : checkParameters(readParameters(query, faults), schema, faults)
}

/** The same of parameters that are read already. */
export function checkParameters<Name extends keyof Requests>(
  parameters: object,
  schema: Name,
  faults: RequestFault[],
): Partial<Requests[Name]> {
  faults.push(...allFaultsIn(validators[schema], parameters))
  return parameters
}

/** @throws ServiceError `validation_failed` with all faults of the query and the body */
export function readValid<T>(
  body: unknown,
  query: string,
  read: (body: unknown, faults: RequestFault[]) => T,
): T {
  const faults: RequestFault[] = []
  const value = read(body, faults)
  // Last: it tells all faults at once when there are too many parameters.
  refuseParameters(query, faults)
  throwFaults(faults)
  return value
}

/** The id in a path, `undefined` if it cannot be one. */
export function parseId(text = ''): number | undefined {
  const id = /^[1-9][0-9]{0,15}$/.test(text) ? Number(text) : NaN
  return Number.isSafeInteger(id) ? id : undefined
}

/** Periods may be widened by a day, and years must still have four digits. */
const FIRST_ASKED_MS = Date.parse('0001-01-03T00:00:00Z')
const LAST_ASKED_MS = Date.parse('9999-12-29T00:00:00Z')

/**
 * What generated clients send: a space for the T or before the offset, an offset without a colon.
 */
const LOOSE_INSTANT =
  /^(\d{4}-\d{2}-\d{2})[T +](\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?)(?: *|\+)(Z|[+-]\d{2}:?\d{2})$/i

/** The instant in a parameter; a fault is added to `faults`. */
export function readInstant(
  name: string,
  text: string | undefined,
  faults: RequestFault[],
): number | undefined {
  const atMs = text === undefined ? undefined : parseInstant(strictInstant(text))
  if (text !== undefined && atMs === undefined) {
    const fault = notAnInstant(`/${name}`, text)
    faults.push({ ...fault, detail: `${fault.detail}; in a URL, write + as %2B` })
  }
  if (atMs !== undefined && !(atMs >= FIRST_ASKED_MS && atMs <= LAST_ASKED_MS)) {
    const detail = 'must lie between the years 1 and 9999'
    faults.push({ pointer: `/${name}`, code: 'format', detail })
  }
  return atMs
}

/** A loosely written instant in its proper form; anything else unchanged. */
function strictInstant(text: string): string {
  const [, date, time, offset = ''] = LOOSE_INSTANT.exec(text) ?? []
  return date === undefined
    ? text
    : `${date}T${time}${offset.replace(/(\d{2}):?(\d{2})$/, '$1:$2')}`
}
