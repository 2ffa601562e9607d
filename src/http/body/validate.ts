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
import type { RequestFault } from '../../domain/errors.ts'
import { elementFaultsMax, elementMembersMax } from '../../domain/limits.ts'
import { pointerSegment } from '../answers/fault-list.ts'
import { faultText } from './fault-texts.ts'
import { isTooLong } from './read-json.ts'
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

export const isMeasurement = compiled<Measurement>('measurement')
export const isBatch = compiled<MeasurementBatch>('measurement-batch')
/** A batch without its elements, which are checked against `isMeasurement` one by one. */
export const isBatchFrame = ajv.compile(withoutItems(batchSchema))
export const isBatchQuery = compiled<BatchQueryRequest>('batch-query')
export const isSensorPatch = compiled<SensorPatch>('sensor-patch')
export const isSignIn = compiled<AuthorizationGrant>('sign-in')
export const isAccountDeletion = compiled<AccountDeletion>('account-deletion')
export const isNewDaemonToken = compiled<NewDaemonToken>('new-daemon-token')
export const isTokenRotation = compiled<DaemonTokenRotation>('daemon-token-rotation')
export const isLinkSignIn = compiled<LinkGrant>('link-sign-in')
export const isHistoryQuery = compiled<HistoryQueryRequest>('history-query')
export const isChangesQuery = compiled<ChangesQueryRequest>('changes-query')
export const isSeriesQuery = compiled<SeriesQueryRequest>('series-query')

function compiled<T>(name: string): ValidateFunction<T> {
  return ajv.getSchema<T>(`/request/${name}.json`)!
}

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
  const { missingProperty, additionalProperty } = error.params as Record<string, string>
  const member = missingProperty ?? additionalProperty
  const inside = member === undefined ? '' : `/${pointerSegment(member)}`
  const pointer = `${at}${error.instancePath}${inside}`
  return { pointer, code: error.keyword, detail: faultText(error) }
}
