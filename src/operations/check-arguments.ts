// Checks what operators type. Limits that also apply to clients come from schemas/.

import { nameFault } from '../domain/names.ts'
import { grouped } from '../domain/grouped.ts'
import { ALL_RIGHTS, isEmail } from '../domain/access.ts'
import type { Right } from '../domain/access.ts'
import common from '../../schemas/common.json' with { type: 'json' }
import { usage } from './operations.ts'

const KNOWN_SCOPES = `Scopes: ${ALL_RIGHTS.join(', ')}.`
const { pattern, maxLength } = common.$defs.serialNumber
const prefixSchema = common.$defs.serialNumberPrefix
const { minimum, maximum } = common.$defs.compensation
const SERIAL_NUMBER = new RegExp(pattern)
const PREFIX = new RegExp(prefixSchema.pattern)

/** @throws OperationError if no user could have this address */
export function checkEmail(email: unknown): string {
  const text = typeof email === 'string' ? email.trim() : ''
  if (!isEmail(text)) {
    throw usage(`${quote(email)} is not a valid e-mail address`, 'Example: a@example.org')
  }
  return text
}

/**
 * A name or an alias, without surrounding spaces.
 *
 * @param what what the name is for, shown in the message
 */
export function checkName(what: string, name: unknown): string {
  const text = typeof name === 'string' ? name.trim() : ''
  const fault = nameFault(text)
  if (fault !== undefined) throw usage(`${what} ${fault.detail}`)
  return text
}

/** @throws OperationError if no sensor can have it */
export function checkSerialNumber(serialNumber: unknown): string {
  if (!isSerialNumber(serialNumber)) {
    throw usage(
      `${quote(serialNumber)} is not a valid serial number`,
      `It has 1 to ${maxLength} letters, digits and : . _ - with at least one letter or digit.`,
    )
  }
  return serialNumber
}

export function isSerialNumber(text: unknown): text is string {
  return typeof text === 'string' && text.length <= maxLength && SERIAL_NUMBER.test(text)
}

/** How many are to be listed. */
export function checkLimit(limit: unknown, max: number): number {
  const isLimit = typeof limit === 'number' && Number.isInteger(limit) && limit >= 1
  if (isLimit && limit <= max) return limit
  throw usage(`a limit is 1 to ${grouped(max)}, not ${String(limit)}`)
}

/** Scopes as rights; all rights if none is given. */
export function checkScopes(scopes: unknown): readonly Right[] {
  if (scopes === undefined) return ALL_RIGHTS
  if (!Array.isArray(scopes) || scopes.length === 0)
    throw usage('a token needs a scope', KNOWN_SCOPES)
  const unknown = scopes.filter((scope) => !ALL_RIGHTS.some((right) => right === scope))
  if (unknown.length > 0) {
    throw usage(`${unknown.map(quote).join(', ')} is not a scope`, KNOWN_SCOPES)
  }
  return ALL_RIGHTS.filter((right) => scopes.includes(right))
}

/** @throws OperationError unless it is a positive integer */
export function checkId(id: unknown): number {
  if (typeof id !== 'number' || !Number.isSafeInteger(id) || id < 1) {
    throw usage(`${quote(id)} is not a valid id`, 'Ids are positive integers.')
  }
  return id
}

/** @throws OperationError unless it is an allowed compensation */
export function checkCompensation(celsius: unknown): number {
  if (typeof celsius === 'number' && celsius >= minimum && celsius <= maximum) return celsius + 0
  throw usage(`a compensation must be from ${minimum} to ${maximum} °C, not ${quote(celsius)}`)
}

function quote(value: unknown): string {
  return JSON.stringify(value) ?? 'nothing'
}

/** @returns the prefix, `''` if none is given */
export function checkPrefix(value: unknown): string {
  const prefix = value ?? ''
  const isShort = typeof prefix === 'string' && prefix.length <= prefixSchema.maxLength
  if (isShort && PREFIX.test(prefix)) return prefix
  throw usage(
    `${JSON.stringify(value)} is not a valid prefix of serial numbers`,
    `It has at most ${prefixSchema.maxLength} letters, digits and : . _ -`,
  )
}
