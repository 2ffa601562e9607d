// The schemas in schemas/request/, compiled once, and the faults they find in a request. No fault
// contains a value that was sent.

import { Ajv2020 } from 'ajv/dist/2020.js'
import type { ErrorObject, ValidateFunction } from 'ajv/dist/2020.js'
import type {
  AccountDeletion,
  BatchQueryRequest,
  ChangesQueryRequest,
  HistoryQueryRequest,
  DaemonTokenRotation,
  LinkGrant,
  MeasurementBatch,
  Measurement,
  NewDaemonToken,
  SensorPatch,
  SeriesQueryRequest,
  AuthorizationGrant,
} from '../../../schemas/messages.d.ts'
import type { FaultCode, RequestFault } from '../../domain/errors.ts'
import { elementFaultsMax, elementMembersMax } from '../../domain/limits.ts'
import { pointerSegment } from '../answers/fault-list.ts'
import { faultText } from './fault-texts.ts'
import { isTooLong, Repeated } from './read-json.ts'
import { SCHEMA_FILES } from './schema-files.ts'
import batchSchema from '../../../schemas/request/measurement-batch.json' with { type: 'json' }

export const batchElementsMax = batchSchema.properties.measurements.maxItems

// Keys of their own make the relative references between the files work. That the schemas are valid
// is left to the tests: compiling the schema of schemas takes longer than compiling ours.
const ajv = new Ajv2020({
  allErrors: true,
  // Faults are told in the words of the schema's description.
  verbose: true,
  meta: false,
  validateSchema: false,
  ownProperties: true,
  strict: true,
  strictRequired: false,
  formats: { 'date-time': true },
})
for (const [name, schema] of SCHEMA_FILES) {
  if (!name.startsWith('response/')) ajv.addSchema(schema, `/${name}`)
}

/** What the schemas in schemas/request/ describe, by their names. */
export interface Requests {
  'account-deletion': AccountDeletion
  'batch-query': BatchQueryRequest
  'changes-query': ChangesQueryRequest
  'daemon-token-rotation': DaemonTokenRotation
  'history-query': HistoryQueryRequest
  'link-sign-in': LinkGrant
  measurement: Measurement
  'measurement-batch': MeasurementBatch
  'new-daemon-token': NewDaemonToken
  'sensor-patch': SensorPatch
  'series-query': SeriesQueryRequest
  'sign-in': AuthorizationGrant
}

/** Compiled now: the first request should not wait for it. */
export const validators = Object.fromEntries(
  Array.from(SCHEMA_FILES.keys())
    .filter((file) => file.startsWith('request/'))
    .map((file) => [file.slice('request/'.length, -'.json'.length), ajv.getSchema(`/${file}`)]),
) as unknown as { readonly [Name in keyof Requests]: ValidateFunction<Requests[Name]> }

export const isMeasurement = validators.measurement
/** A batch without its elements, which are checked against `isMeasurement` one by one. */
export const isBatchFrame = ajv.compile(withoutItems(batchSchema))

function withoutItems(schema: typeof batchSchema): object {
  const { items: _items, ...measurements } = schema.properties.measurements
  return { ...schema, properties: { measurements } }
}

/**
 * The faults that a schema finds in a value; only some of them if there are very many.
 *
 * @param at a JSON pointer to the value
 */
export function faultsIn(validate: ValidateFunction, value: unknown, at = ''): RequestFault[] {
  if (isTooLong(value)) {
    const detail = `has more than ${elementMembersMax} members`
    return [{ pointer: at, code: 'maxProperties', detail }]
  }
  return allFaultsIn(validate, value, at).slice(0, elementFaultsMax)
}

/** A value that is valid against a schema, else `undefined`; faults are added to `faults`. */
export function validated<T>(
  validate: ValidateFunction<T>,
  value: unknown,
  faults: RequestFault[],
): T | undefined {
  const found = faultsIn(validate, value)
  faults.push(...found)
  return found.length === 0 ? (value as T) : undefined
}

/** All faults that a schema finds in a value, which must be small. */
export function allFaultsIn(validate: ValidateFunction, value: unknown, at = ''): RequestFault[] {
  if (validate(value)) return []
  return (validate.errors ?? []).map((error) => toFault(error, at))
}

function toFault(error: ErrorObject, at: string): RequestFault {
  if (error.data instanceof Repeated) {
    const pointer = `${at}${error.instancePath}`
    return { pointer, code: 'repeated_member', detail: 'appears more than once' }
  }
  const { missingProperty, additionalProperty } = error.params as Record<string, string>
  const member = missingProperty ?? additionalProperty
  const inside = member === undefined ? '' : `/${pointerSegment(member)}`
  const pointer = `${at}${error.instancePath}${inside}`
  return { pointer, code: error.keyword as FaultCode, detail: faultText(error) }
}
