// The inputs of routes: where a handler's argument comes from and which schema it has to meet. In
// the order in which failures are promised: the body's type, its size, its form, then every fault
// of body and query together.

import type { RequestFault } from '../domain/errors.ts'
import type { HistoryQuestion } from '../domain/history.ts'
import type { AuthorizationGrant } from '../domain/access.ts'
import { ServiceError } from '../domain/errors.ts'
import type { SubmittedMeasurements } from '../domain/measurement.ts'
import { refusalError } from '../domain/refusal.ts'
import type { SensorChange } from '../domain/sensor.ts'
import { formatInstant } from '../domain/time.ts'
import type { Acceptor } from '../ingest/accept.ts'
import type { ApiCall, Call } from './call.ts'
import type { SignInLimit } from './rate-limit.ts'
import { parseJson } from './read-body.ts'
import type { BodyReader } from './read-body.ts'
import type { SmallBodyReader } from './read-small-body.ts'
import {
  readBatch,
  readGrant,
  readHistoryQuestion,
  readMeasurement,
  readParameters,
  readSensorPatch,
  refuseParameters,
  throwFaults,
} from './read-request.ts'
import type { Input } from './routes.ts'
import { BatchScanner } from './scan-batch.ts'
import { isRedirectUri } from './sign-in-settings.ts'
import type { MobileSettings } from './sign-in-settings.ts'

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

export const historyQuery: Input<HistoryQuestion> = {
  place: 'query',
  schema: 'history-query',
  read(call) {
    const faults: RequestFault[] = []
    const parameters = readParameters(call.query, faults)
    const question = readHistoryQuestion(parameters, faults, call.receivedAtMs)
    throwFaults(faults)
    return question
  },
}

export function sensorPatch(bodies: BodyReader): Input<SensorChange> {
  const read = (call: ApiCall) => readBody(bodies, call, readSensorPatch)
  return { place: 'body', schema: 'sensor-patch', read }
}

/** One measurement; turned away before its body is read while submissions are refused. */
export function measurement(bodies: BodyReader, acceptor: Acceptor): Input<SubmittedMeasurements> {
  const read = (call: ApiCall) => {
    refuseIfNeeded(acceptor)
    return readBody(bodies, call, readMeasurement)
  }
  return { place: 'body', schema: 'measurement', read }
}

/**
 * A batch of them; turned away before its body is read while submissions are refused. One in the
 * everyday form is scanned, any other body goes by way of its JSON.
 */
export function measurementBatch(
  bodies: BodyReader,
  acceptor: Acceptor,
): Input<SubmittedMeasurements> {
  const scanner = new BatchScanner()
  const parse = (bytes: Buffer) => scanner.scan(bytes) ?? parseJson(bytes)
  const read = async (call: ApiCall) => {
    refuseIfNeeded(acceptor)
    const body = await bodies.read(call.ctx.req, call.ctx.res, parse)
    const { value, faults } = readWithFaults(body, call.query, readBatch)
    if (faults.length === 0) return value
    const more = await findMore(acceptor, call, value, faults)
    const serverTime = { server_time: formatInstant(call.receivedAtMs) }
    throwFaults([...faults, ...more], more.length > 0 ? serverTime : {})
    return value
  }
  return { place: 'body', schema: 'measurement-batch', read }
}

/** What a phone brings back; counted against its address before the body is read. */
export function signInRequest(
  bodies: SmallBodyReader,
  limit: SignInLimit,
  settings: MobileSettings,
): Input<AuthorizationGrant, Call> {
  const read = async ({ ctx, query, parameters }: Call) => {
    const provider = settings.signInProviders.find(({ id }) => id === parameters['idp'])
    if (provider === undefined) throw new ServiceError('unknown_provider')
    await limit.count(ctx.req)
    const body = await bodies.readJson(ctx)
    const faults: RequestFault[] = []
    refuseParameters(query, faults)
    const grant = readGrant(body, faults, (redirectUri) =>
      isRedirectUri(redirectUri, provider, settings),
    )
    throwFaults(faults)
    return grant
  }
  return { place: 'body', schema: 'sign-in', read }
}

/** What an identity provider has to say, in the query that it sends a browser with. */
export const relayedQuery: Input<URLSearchParams, Call> = {
  place: 'query',
  schema: undefined,
  read: ({ query }) => new URLSearchParams(query),
}

/** The same in the form that it has a browser post. */
export function relayedForm(bodies: SmallBodyReader): Input<URLSearchParams, Call> {
  return { place: 'body', schema: undefined, read: ({ ctx }) => bodies.readForm(ctx) }
}

function refuseIfNeeded(acceptor: Acceptor): void {
  const refusal = acceptor.refusal()
  if (refusal !== undefined) throw refusalError(refusal)
}

/**
 * What is wrong with the times of the elements whose form is right: every fault is to be told at
 * once, and which events are known already, so that their times do not matter, the ledger knows.
 */
async function findMore(
  acceptor: Acceptor,
  { principal, receivedAtMs }: ApiCall,
  elements: SubmittedMeasurements,
  faults: readonly RequestFault[],
): Promise<RequestFault[]> {
  const unfit = new Set(faults.map(({ index }) => index))
  const all = Array.from({ length: elements.length }, (_, index) => index)
  const places = all.filter((index) => !unfit.has(index))
  const measurements = places.flatMap((index) => elements.at(index) ?? [])
  if (measurements.length === 0) return []
  const userId = principal.user.id
  const found = await acceptor.check({ userId, receivedAtMs, measurements })
  return found.map((fault) => {
    const index = places[fault.index ?? 0] ?? 0
    const eventId = elements.at(index)?.eventId ?? null
    const pointer = `/measurements/${index}${fault.pointer}`
    return { ...fault, index, pointer, ...(eventId !== null && { event_id: eventId }) }
  })
}

async function readBody<T>(
  bodies: BodyReader,
  { ctx, query }: ApiCall,
  read: (body: unknown, faults: RequestFault[]) => T,
): Promise<T> {
  const body = await bodies.readJson(ctx.req, ctx.res)
  const { value, faults } = readWithFaults(body, query, read)
  throwFaults(faults)
  return value
}

function readWithFaults<T>(
  body: unknown,
  query: string,
  read: (body: unknown, faults: RequestFault[]) => T,
): { value: T; faults: RequestFault[] } {
  const faults: RequestFault[] = []
  refuseParameters(query, faults)
  const value = read(body, faults)
  return { value, faults }
}
