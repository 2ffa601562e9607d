// Reads what people type. Errors have one form: what was given, what would be right, where to find
// it. Limits that also apply to clients come from schemas/.

import { readDuration } from '../config-values.ts'
import { ALL_RIGHTS, isEmail } from '../domain/access.ts'
import type { Right } from '../domain/access.ts'
import { grouped } from '../domain/grouped.ts'
import { nameFault } from '../domain/names.ts'
import { DAY_MS, parseInstant } from '../domain/time.ts'
import { usage } from '../operations/failure.ts'
import common from '../../schemas/common.json' with { type: 'json' }

const KNOWN_SCOPES = `Scopes: ${ALL_RIGHTS.join(', ')}.`
const prefixSchema = common.$defs.serialNumberPrefix
const { minimum, maximum } = common.$defs.compensation
const PREFIX = new RegExp(prefixSchema.pattern)
const LIFETIME_MS_MAX = 100 * 366 * DAY_MS

export function readText(text: string): string {
  return text
}

export function readEmail(text: unknown): string {
  const address = typeof text === 'string' ? text.trim() : ''
  if (isEmail(address)) return address
  throw usage(`${quote(text)} is not a valid e-mail address`, 'Example: a@example.org')
}

/** @returns a reader of a name without surrounding spaces. @param what is named, for the message */
export function nameReader(what: string): (text: string) => string {
  return (text) => {
    const name = text.trim()
    const fault = nameFault(name)
    if (fault === undefined) return name
    throw usage(`${what} ${fault.detail}`)
  }
}

/** @returns the rights, in their own order */
export function readScopes(texts: readonly string[]): readonly Right[] {
  const unknown = texts.filter((text) => !ALL_RIGHTS.some((right) => right === text))
  if (unknown.length > 0) {
    throw usage(`${unknown.map(quote).join(', ')} is not a scope`, KNOWN_SCOPES)
  }
  return ALL_RIGHTS.filter((right) => texts.includes(right))
}

/** A prefix of serial numbers. */
export function readPrefix(text: string): string {
  if (text.length <= prefixSchema.maxLength && PREFIX.test(text)) return text
  throw usage(
    `${quote(text)} is not a valid prefix of serial numbers`,
    `It has at most ${prefixSchema.maxLength} letters, digits and : . _ -`,
  )
}

/** @returns a reader of one id. @param seeAlso the command that lists ids of this kind */
export function idReader(seeAlso: string): (text: string) => number {
  return (text) => {
    if (/^[1-9]\d{0,14}$/.test(text)) return Number(text)
    throw usage(
      `${quote(text)} is not a valid id`,
      `Ids are positive integers; \`${seeAlso}\` lists them.`,
    )
  }
}

/** @returns a reader of several ids. @param seeAlso see `idReader` */
export function idsReader(seeAlso: string): (texts: readonly string[]) => readonly number[] {
  const read = idReader(seeAlso)
  return (texts) => texts.map(read)
}

/** @returns a reader of a number of things, at least 1. @param option for the message */
export function countReader(option: string, max = 999_999_999): (text: string) => number {
  return (text) => {
    if (!/^[1-9]\d{0,8}$/.test(text)) {
      throw usage(`${option} must be a positive integer, not ${quote(text)}`)
    }
    if (Number(text) <= max) return Number(text)
    throw usage(`${option} is 1 to ${grouped(max)}, not ${text}`)
  }
}

/** @returns a reader of a duration, in milliseconds. @param option for the message */
export function durationReader(
  option: string,
  { maxMs, atMost } = { maxMs: LIFETIME_MS_MAX, atMost: 'a hundred years' },
): (text: string) => number {
  return (text) => {
    let durationMs: number
    try {
      durationMs = readDuration(text)
    } catch (error) {
      throw usage(`${option} ${(error as Error).message}, not ${quote(text)}`)
    }
    if (durationMs <= maxMs) return durationMs
    throw usage(`${option} is at most ${atMost}, not ${text}`)
  }
}

/** @returns a reader of an instant; a date means midnight UTC. @param option see above */
export function timeReader(option: string): (text: string) => number {
  return (text) => {
    const atMs = parseInstant(/^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}T00:00:00Z` : text)
    if (atMs !== undefined) return atMs
    throw usage(
      `${option} ${quote(text)} is not a valid time`,
      'Examples: 2026-11-20T10:15:00Z, 2026-11-20T11:15:00+01:00, or 2026-11-20 for midnight UTC.',
    )
  }
}

/** @returns a reader of one of these words. @param option see above */
export function choiceReader<T extends string>(
  option: string,
  choices: readonly T[],
): (text: string) => T {
  return (text) => {
    const choice = choices.find((known) => known === text)
    if (choice !== undefined) return choice
    throw usage(`${option} must be one of ${choices.join(', ')}, not ${quote(text)}`)
  }
}

/** @returns a compensation in °C */
export function readCompensation(text: string): number {
  if (!/^[+-]?(\d+(\.\d*)?|\.\d+)$/.test(text)) {
    throw usage(`--compensation must be a number such as -0.4, not ${quote(text)}`)
  }
  const celsius = Number(text)
  if (celsius >= minimum && celsius <= maximum) return celsius + 0
  throw usage(`a compensation must be from ${minimum} to ${maximum} °C, not ${text}`)
}

function quote(value: unknown): string {
  return JSON.stringify(value) ?? 'nothing'
}
