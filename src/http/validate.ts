// Holding requests against the schemas of schemas/request/, which are compiled once. What does not
// fit becomes a list of faults: all of them, each with a pointer, none with a value that was sent.

import { Ajv2020 } from 'ajv/dist/2020.js'
import type { ErrorObject, ValidateFunction } from 'ajv/dist/2020.js'
import commonSchema from '../../schemas/common.json' with { type: 'json' }
import historyQuerySchema from '../../schemas/request/history-query.json' with { type: 'json' }
import batchSchema from '../../schemas/request/measurement-batch.json' with { type: 'json' }
import measurementSchema from '../../schemas/request/measurement.json' with { type: 'json' }
import signInSchema from '../../schemas/request/sign-in.json' with { type: 'json' }
import sensorPatchSchema from '../../schemas/request/sensor-patch.json' with { type: 'json' }
import type { RequestFault } from '../domain/errors.ts'
import { problemErrorsMax } from '../domain/limits.ts'
import type {
  HistoryQueryRequest,
  MeasurementBatchRequest,
  MeasurementRequest,
  SensorPatchRequest,
  SignInRequest,
} from './wire.ts'

/** Names in pointers are cut here: a body may have a name of four million characters. */
const NAME_CHARACTERS_MAX = 128

export const batchElementsMax = batchSchema.properties.measurements.maxItems

// Keys of their own make the relative references between the files work.
const ajv = new Ajv2020({
  allErrors: true,
  ownProperties: true,
  strict: true,
  strictRequired: false,
  formats: { 'date-time': true },
})
ajv.addSchema(commonSchema, '/common.json')
ajv.addSchema(measurementSchema, '/request/measurement.json')

export const isMeasurement = ajv.getSchema<MeasurementRequest>('/request/measurement.json')!
export const isBatch = compile<MeasurementBatchRequest>(batchSchema, 'measurement-batch')
export const isSensorPatch = compile<SensorPatchRequest>(sensorPatchSchema, 'sensor-patch')
export const isSignIn = compile<SignInRequest>(signInSchema, 'sign-in')
export const isHistoryQuery = compile<HistoryQueryRequest>(historyQuerySchema, 'history-query')

function compile<T>(schema: object, name: string): ValidateFunction<T> {
  const key = `/request/${name}.json`
  ajv.addSchema(schema, key)
  return ajv.getSchema<T>(key)!
}

/** What a validation that just failed found; at most as many faults as a problem names. */
export function faultsOf(validate: ValidateFunction): RequestFault[] {
  return (validate.errors ?? []).slice(0, problemErrorsMax).map(toFault)
}

function toFault(error: ErrorObject): RequestFault {
  const { instancePath, keyword } = error
  const { missingProperty, additionalProperty } = error.params as Record<string, string>
  if (missingProperty !== undefined) {
    const pointer = `${instancePath}/${pointerSegment(missingProperty)}`
    return { pointer, code: keyword, detail: 'is missing' }
  }
  if (additionalProperty !== undefined) {
    const pointer = `${instancePath}/${pointerSegment(additionalProperty)}`
    return { pointer, code: keyword, detail: 'is not known here' }
  }
  const { allowedValues } = error.params as { allowedValues?: readonly string[] }
  const detail = allowedValues ? `must be one of: ${allowedValues.join(', ')}` : error.message
  return { pointer: instancePath, code: keyword, detail: detail ?? 'is not valid' }
}

/** A name as one segment of a JSON pointer (RFC 6901), cut when it is very long. */
export function pointerSegment(name: string): string {
  const isLong = name.length > NAME_CHARACTERS_MAX
  const shown = isLong ? `${name.slice(0, NAME_CHARACTERS_MAX)}…` : name
  return shown.toWellFormed().replaceAll('~', '~0').replaceAll('/', '~1')
}
