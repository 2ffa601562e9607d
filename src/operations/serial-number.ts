// Serial numbers as people type them. Their form is that of the API, in schemas/.

import common from '../../schemas/common.json' with { type: 'json' }
import { usage } from './failure.ts'

const { pattern, maxLength } = common.$defs.serialNumber
const SERIAL_NUMBER = new RegExp(pattern)

/** @throws OperationError if no sensor can have it */
export function checkSerialNumber(serialNumber: unknown): string {
  if (isSerialNumber(serialNumber)) return serialNumber
  throw usage(
    `${JSON.stringify(serialNumber) ?? 'nothing'} is not a valid serial number`,
    `It has 1 to ${maxLength} letters, digits and : . _ - with at least one letter or digit.`,
  )
}

export function isSerialNumber(text: unknown): text is string {
  return typeof text === 'string' && text.length <= maxLength && SERIAL_NUMBER.test(text)
}
