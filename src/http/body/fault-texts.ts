// What is said of a fault that a schema finds, for people who have never seen a schema.

import type { ErrorObject } from 'ajv/dist/2020.js'

/** The parameters of ajv's errors. */
interface Limits {
  readonly limit: number
  readonly type: string
  readonly allowedValues: readonly string[]
}

const TEXTS: Readonly<Record<string, (limits: Limits) => string>> = {
  required: () => 'is missing',
  additionalProperties: () => 'is unknown',
  enum: ({ allowedValues }) => `must be one of: ${allowedValues.join(', ')}`,
  type: ({ type }) => `must be ${/^[aeio]/.test(type) ? 'an' : 'a'} ${type}`,
  minimum: ({ limit }) => `must be at least ${limit}`,
  maximum: ({ limit }) => `must be at most ${limit}`,
  minLength: ({ limit }) => (limit === 1 ? 'must not be empty' : `${atLeast(limit)} characters`),
  maxLength: ({ limit }) => `${atMost(limit)} characters`,
  minItems: ({ limit }) => (limit === 1 ? 'must not be empty' : `${atLeast(limit)} elements`),
  maxItems: ({ limit }) => `${atMost(limit)} elements`,
  minProperties: () => 'must not be empty',
}

const atLeast = (limit: number) => `must have at least ${limit}`
const atMost = (limit: number) => `must have at most ${limit}`

/** @param error its description stands for a pattern, which nobody can read */
export function faultText({ keyword, params, parentSchema }: ErrorObject): string {
  const { description } = (parentSchema ?? {}) as { description?: string }
  return TEXTS[keyword]?.(params as Limits) ?? `is not as described: ${description}`
}
