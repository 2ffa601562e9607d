// Submitting one measurement: from its JSON into the journal, and back with the receipt.

import type { MeasurementResponse } from '../../../schemas/messages.d.ts'
import { ServiceError } from '../../domain/errors.ts'
import type { RequestFault } from '../../domain/errors.ts'
import type { Receipt, ReceiptItem, SubmittedMeasurement } from '../../domain/measurement.ts'
import { formatInstant } from '../../domain/time.ts'
import { presentExisting } from '../batch/batch-receipt.ts'
import { readSingle } from '../batch/read-element.ts'
import { readSubmission, receiptOf } from '../batch/submission.ts'
import type { Intake, ReadMeasurements } from '../batch/submission.ts'
import { jsonBody } from '../body/gate.ts'
import { readJson } from '../body/read-json.ts'
import { answerJson } from '../call/call.ts'
import type { ApiCall } from '../call/call.ts'
import type { Input } from '../routes/input.ts'

/** One measurement. */
export function measurement(intake: Intake): Input<ReadMeasurements> {
  const reading = { parse: readJson, read: readSingle }
  const read = (call: ApiCall) => readSubmission(intake, call, reading)
  return { bounds: jsonBody, schema: 'measurement', read }
}

export function postMeasurement({ submissions }: Intake) {
  return (call: ApiCall, { measurements }: ReadMeasurements): Promise<void> => {
    const submitted = measurements.at(0)
    if (submitted === undefined) throw new Error('BUG: a submission of nothing')
    const { principal, receivedAtMs } = call
    const submission = { userId: principal.user.id, receivedAtMs, measurements }
    return answerMeasurement(call, submitted, submissions.submit(submission))
  }
}

async function answerMeasurement(
  call: ApiCall,
  submitted: SubmittedMeasurement,
  accepted: Promise<Receipt>,
): Promise<void> {
  const item = (await receiptOf(call, accepted, asSingle)).at(0)
  if (item.status === 'conflict') throw conflictError(submitted, item)
  const text = JSON.stringify(presentMeasurement(submitted, item))
  answerJson(call, item.status === 'created' ? 201 : 200, text)
}

/** The receipt of a single submission. */
function presentMeasurement(
  submitted: SubmittedMeasurement,
  item: ReceiptItem,
): MeasurementResponse {
  return {
    data: {
      event_id: submitted.eventId,
      sn: item.serialNumber,
      sensor_id: item.sensorId,
      temp: submitted.tempCelsius,
      timestamp: formatInstant(item.measuredAtMs),
      status: item.status,
    },
  }
}

/** The journal's pointers start at the element, which is the whole body here. */
function asSingle({ pointer, code, detail }: RequestFault): RequestFault {
  return { pointer, code, detail }
}

function conflictError(submitted: SubmittedMeasurement, item: ReceiptItem): ServiceError {
  if (item.existing === undefined) throw new Error('BUG: a conflict without what it is with')
  const existing = presentExisting(submitted.eventId ?? '', item.existing)
  return new ServiceError('event_id_conflict', { members: { existing } })
}
