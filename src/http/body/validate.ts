// The schemas of schemas/request/, compiled once.

import { Ajv2020 } from 'ajv/dist/2020.js'
import type { ValidateFunction } from 'ajv/dist/2020.js'
import commonSchema from '../../../schemas/common.json' with { type: 'json' }
import historyQuerySchema from '../../../schemas/request/history-query.json' with { type: 'json' }
import batchSchema from '../../../schemas/request/measurement-batch.json' with { type: 'json' }
import measurementSchema from '../../../schemas/request/measurement.json' with { type: 'json' }
import seriesQuerySchema from '../../../schemas/request/series-query.json' with { type: 'json' }
import signInSchema from '../../../schemas/request/sign-in.json' with { type: 'json' }
import sensorPatchSchema from '../../../schemas/request/sensor-patch.json' with { type: 'json' }
import type {
  HistoryQueryRequest,
  MeasurementBatchRequest,
  MeasurementRequest,
  SensorPatchRequest,
  SeriesQueryRequest,
  SignInRequest,
} from '../../../schemas/messages.d.ts'

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
/** A batch but for its elements, which are held against `isMeasurement` one by one. */
export const isBatchFrame = ajv.compile(withoutItems(batchSchema))
export const isSensorPatch = compile<SensorPatchRequest>(sensorPatchSchema, 'sensor-patch')
export const isSignIn = compile<SignInRequest>(signInSchema, 'sign-in')
export const isHistoryQuery = compile<HistoryQueryRequest>(historyQuerySchema, 'history-query')
export const isSeriesQuery = compile<SeriesQueryRequest>(seriesQuerySchema, 'series-query')

function compile<T>(schema: object, name: string): ValidateFunction<T> {
  const key = `/request/${name}.json`
  ajv.addSchema(schema, key)
  return ajv.getSchema<T>(key)!
}

function withoutItems(schema: typeof batchSchema): object {
  const { items: _items, ...measurements } = schema.properties.measurements
  return { ...schema, properties: { measurements } }
}
