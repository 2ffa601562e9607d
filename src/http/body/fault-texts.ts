// What is said of a fault that a schema finds, for people who have never seen a schema.

import type { ErrorObject } from 'ajv/dist/2020.js'
import { numberCharactersMax } from '../../domain/limits.ts'
import { mayBeThousandths } from '../../domain/temperature-unit.ts'
import common from '../../../schemas/common.json' with { type: 'json' }

const { celsius } = common.$defs

/** The parameters of ajv's errors. */
interface Limits {
  readonly limit: number
  readonly type: string
  readonly allowedValues: readonly string[]
}

const TEXTS: Readonly<Record<string, (limits: Limits, value: unknown) => string>> = {
  required: () => 'is missing',
  additionalProperties: () => 'is unknown',
  enum: ({ allowedValues }) => `must be one of: ${allowedValues.join(', ')}`,
  type: typeText,
  minimum: ({ limit }) => `must be at least ${limit}`,
  maximum: maximumText,
  minLength: ({ limit }) => (limit === 1 ? 'must not be empty' : `${atLeast(limit)} characters`),
  maxLength: ({ limit }) => `${atMost(limit)} characters`,
  minItems: ({ limit }) => (limit === 1 ? 'must not be empty' : `${atLeast(limit)} elements`),
  maxItems: ({ limit }) => `${atMost(limit)} elements`,
  minProperties: () => 'must not be empty',
}

const NO_UNIX_TIME = 'must be text such as 2026-11-20T10:15:00.000Z, not a Unix time'

const atLeast = (limit: number) => `must have at least ${limit}`
const atMost = (limit: number) => `must have at most ${limit}`

/** @param error its description stands for a pattern, which nobody can read */
export function faultText({ keyword, params, parentSchema, data }: ErrorObject): string {
  const { description, format } = (parentSchema ?? {}) as { description?: string; format?: string }
  if (keyword === 'type' && format === 'date-time' && typeof data === 'number') return NO_UNIX_TIME
  return TEXTS[keyword]?.(params as Limits, data) ?? `must be ${insideSentence(description)}`
}

function insideSentence(description = ''): string {
  return description.charAt(0).toLowerCase() + description.slice(1).replace(/\.$/, '')
}

function maximumText({ limit }: Limits, value: unknown): string {
  const isAsked = limit === celsius.maximum && typeof value === 'number' && mayBeThousandths(value)
  return `must be at most ${limit}${isAsked ? ': is it in thousandths of a degree?' : ''}`
}

function typeText({ type }: Limits, value: unknown): string {
  const text = `must be ${/^[aeio]/.test(type) ? 'an' : 'a'} ${type}`
  // Which stands for a number that is too long.
  const isLong = type === 'number' && Number.isNaN(value)
  return isLong ? `${text} of at most ${numberCharactersMax} characters` : text
}
