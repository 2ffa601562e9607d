// Requests as domain values: the schema first, then what a schema cannot say (a real moment, no
// lone surrogates), and every fault of both together.

import type { AuthorizationGrant } from '../domain/access.ts'
import { ServiceError } from '../domain/errors.ts'
import type { RequestFault } from '../domain/errors.ts'
import type { HistoryQuestion } from '../domain/history.ts'
import type { SubmittedMeasurement, SubmittedMeasurements } from '../domain/measurement.ts'
import type { SensorChange } from '../domain/sensor.ts'
import { parseInstant } from '../domain/time.ts'
import type { EpochMs } from '../domain/time.ts'
import { questionFaults } from '../history/buckets.ts'
import { ScannedBatch } from './scan-batch.ts'
import {
  batchElementsMax,
  faultsOf,
  isBatch,
  isHistoryQuery,
  isMeasurement,
  isSensorPatch,
  isSignIn,
  pointerSegment,
} from './validate.ts'
import type { MeasurementRequest } from './wire.ts'

const ALIAS_CODE_POINTS_MAX = 128
const EVENT_ID_CODE_POINTS_MAX = 128

/** Periods may be widened by a day and must still be of years with four digits. */
const FIRST_ASKED_MS = Date.parse('0001-01-03T00:00:00Z')
const LAST_ASKED_MS = Date.parse('9999-12-29T00:00:00Z')

const INSTANT_DETAIL = 'must be a time like 2026-11-20T10:15:00.000Z or 2026-11-20T11:15:00+01:00'

/** @throws ServiceError `validation_failed` with every fault, if there is any */
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

/** A valid measurement; faults are added to `faults`. */
export function readMeasurement(body: unknown, faults: RequestFault[]): SubmittedMeasurement[] {
  const isValid = isMeasurement(body)
  if (!isValid) faults.push(...faultsOf(isMeasurement))
  const read = readElement(body, '', faults)
  return isValid ? [read] : []
}

/**
 * The measurements of a valid batch; faults are added to `faults`.
 *
 * @param body what its JSON says, or a batch that was scanned and has no faults
 * @throws ServiceError `batch_too_large`
 */
export function readBatch(body: unknown, faults: RequestFault[]): SubmittedMeasurements {
  if (body instanceof ScannedBatch) return body
  const elements = membersOf(body)['measurements']
  if (Array.isArray(elements) && elements.length > batchElementsMax) {
    throw new ServiceError('batch_too_large', { members: { limit: batchElementsMax } })
  }
  const found: RequestFault[] = isBatch(body) ? [] : faultsOf(isBatch)
  const read = (Array.isArray(elements) ? elements : []).map((element: unknown, index) =>
    readElement(element, `/measurements/${index}`, found),
  )
  for (const fault of found) faults.push(withElement(fault, elements))
  return read
}

/** What remains to be checked of an element whose form the schema has checked. */
function readElement(body: unknown, at: string, faults: RequestFault[]): SubmittedMeasurement {
  const element = membersOf(body) as Partial<MeasurementRequest>
  const { event_id: eventId, timestamp } = element
  if (typeof eventId === 'string' && !eventId.isWellFormed()) {
    faults.push(loneSurrogate(`${at}/event_id`))
  }
  const measuredAtMs = typeof timestamp === 'string' ? parseInstant(timestamp) : null
  if (measuredAtMs === undefined) faults.push(notAnInstant(`${at}/timestamp`))
  return {
    eventId: eventId ?? null,
    serialNumber: element.sn ?? '',
    // −0 is 0.
    tempCelsius: (element.temp ?? 0) + 0,
    measuredAtMs: measuredAtMs ?? null,
  }
}

/** A fault of a batch says which element it is of, and that one's event id where it is readable. */
function withElement(fault: RequestFault, elements: unknown): RequestFault {
  const index = /^\/measurements\/(\d+)/.exec(fault.pointer)?.[1]
  if (index === undefined || !Array.isArray(elements)) return fault
  const eventId = membersOf(elements[Number(index)])['event_id']
  return {
    ...fault,
    index: Number(index),
    ...(isReadableEventId(eventId) && { event_id: eventId }),
  }
}

function isReadableEventId(value: unknown): value is string {
  const isText = typeof value === 'string' && value !== '' && value.isWellFormed()
  return isText && hasAtMost(EVENT_ID_CODE_POINTS_MAX, value)
}

/** Whether a text is not longer than that; a very long one is not counted through. */
function hasAtMost(codePointsMax: number, text: string): boolean {
  return text.length <= 2 * codePointsMax && Array.from(text).length <= codePointsMax
}

/** The change that a valid patch asks for; faults are added to `faults`. */
export function readSensorPatch(body: unknown, faults: RequestFault[]): SensorChange {
  if (!isSensorPatch(body)) {
    faults.push(...faultsOf(isSensorPatch))
    const { alias: unfit } = membersOf(body)
    if (typeof unfit === 'string') faults.push(...aliasFaults(unfit.trim()))
    return {}
  }
  const { alias, compensation } = body
  const trimmed = alias?.trim()
  if (trimmed !== undefined) faults.push(...aliasFaults(trimmed))
  return {
    ...(trimmed !== undefined && { alias: trimmed }),
    ...(compensation !== undefined && { compensationCelsius: compensation + 0 }),
  }
}

function aliasFaults(trimmed: string): RequestFault[] {
  const pointer = '/alias'
  if (!trimmed.isWellFormed()) return [loneSurrogate(pointer)]
  const detail = `must NOT have more than ${ALIAS_CODE_POINTS_MAX} characters`
  return hasAtMost(ALIAS_CODE_POINTS_MAX, trimmed) ? [] : [{ pointer, code: 'maxLength', detail }]
}

/**
 * The grant of a valid sign-in; faults are added to `faults`.
 *
 * @param isRedirectUri whether a redirect URI is one of those that are configured
 */
export function readGrant(
  body: unknown,
  faults: RequestFault[],
  isRedirectUri: (redirectUri: string) => boolean,
): AuthorizationGrant {
  if (!isSignIn(body)) faults.push(...faultsOf(isSignIn))
  const { code, code_verifier: codeVerifier, redirect_uri: redirectUri } = membersOf(body)
  if (typeof redirectUri === 'string' && !isRedirectUri(redirectUri)) {
    const detail = 'must be one of the configured redirect URIs, byte for byte'
    faults.push({ pointer: '/redirect_uri', code: 'unknown_redirect_uri', detail })
  }
  return {
    code: String(code),
    codeVerifier: String(codeVerifier),
    redirectUri: String(redirectUri),
  }
}

/**
 * The question that valid query parameters ask; faults are added to `faults`. What is wrong with
 * one parameter does not hide what is wrong with the others.
 */
export function readHistoryQuestion(
  parameters: Readonly<Record<string, string>>,
  faults: RequestFault[],
  nowMs: EpochMs,
): HistoryQuestion {
  const found = isHistoryQuery(parameters) ? [] : faultsOf(isHistoryQuery)
  const { from, to, bucket, tz, fill } = parameters
  const fromMs = readInstantParameter('from', from, found)
  const toMs = readInstantParameter('to', to, found)
  const isSound = (name: string) => !found.some(({ pointer }) => pointer === `/${name}`)
  const hasBucket = bucket !== undefined && isSound('bucket')
  const question = {
    ...(fromMs !== undefined && { fromMs }),
    ...(toMs !== undefined && { toMs }),
    ...(hasBucket && { bucket: bucket as NonNullable<HistoryQuestion['bucket']> }),
    ...(tz !== undefined && isSound('tz') && { timeZone: tz }),
    isFilled: fill !== undefined && isSound('fill'),
  }
  if (isSound('from') && isSound('to')) found.push(...questionFaults(question, nowMs))
  faults.push(...found)
  return question
}

function readInstantParameter(
  name: string,
  text: string | undefined,
  faults: RequestFault[],
): number | undefined {
  const atMs = text === undefined ? undefined : parseInstant(text)
  if (text !== undefined && atMs === undefined) faults.push(notAnInstant(`/${name}`))
  if (atMs !== undefined && !(atMs >= FIRST_ASKED_MS && atMs <= LAST_ASKED_MS)) {
    const detail = 'must lie between the years 1 and 9999'
    faults.push({ pointer: `/${name}`, code: 'format', detail })
  }
  return atMs
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

function membersOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

function loneSurrogate(pointer: string): RequestFault {
  return { pointer, code: 'lone_surrogate', detail: 'must be well-formed Unicode' }
}

function notAnInstant(pointer: string): RequestFault {
  return { pointer, code: 'format', detail: INSTANT_DETAIL }
}
