// The faults of a request, found by its schema. No fault holds a value that was sent.

import type { ErrorObject, ValidateFunction } from 'ajv/dist/2020.js'
import type { RequestFault } from '../../domain/errors.ts'
import { elementFaultsMax, elementMembersMax } from '../../domain/limits.ts'
import { pointerSegment } from '../answers/fault-list.ts'
import { isTooLong } from './read-json.ts'

/**
 * What a schema finds wrong with a value: some of it, where it is very much.
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

/** All that a schema finds wrong with a value, which has to be small. */
export function allFaultsIn(validate: ValidateFunction, value: unknown, at = ''): RequestFault[] {
  if (validate(value)) return []
  return (validate.errors ?? []).map((error) => toFault(error, at))
}

function toFault(error: ErrorObject, at: string): RequestFault {
  const { keyword } = error
  const place = `${at}${error.instancePath}`
  const { missingProperty, additionalProperty } = error.params as Record<string, string>
  if (missingProperty !== undefined) {
    const pointer = `${place}/${pointerSegment(missingProperty)}`
    return { pointer, code: keyword, detail: 'is missing' }
  }
  if (additionalProperty !== undefined) {
    const pointer = `${place}/${pointerSegment(additionalProperty)}`
    return { pointer, code: keyword, detail: 'is not known here' }
  }
  const { allowedValues } = error.params as { allowedValues?: readonly string[] }
  const detail = allowedValues ? `must be one of: ${allowedValues.join(', ')}` : error.message
  return { pointer: place, code: keyword, detail: detail ?? 'is not valid' }
}
