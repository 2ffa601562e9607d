// Converts our documents to OpenAPI 3.0: `nullable` for a type or null, one example instead of
// several, and nothing next to a `$ref`.

import type { JsonObject } from '../http/body/schema-files.ts'

export function toOpenApi30(document: JsonObject): JsonObject {
  const { info, ...rest } = document as { readonly info: { readonly license: JsonObject } }
  const { identifier: _identifier, ...license } = info.license
  return { ...(convert(rest) as object), openapi: '3.0.3', info: { ...info, license } }
}

function convert(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(convert)
  if (typeof value !== 'object' || value === null) return value
  // The values of examples are not schemas.
  const members: Record<string, unknown> = {}
  for (const [name, member] of Object.entries(value as JsonObject)) {
    members[name] = name === 'example' || name === 'value' ? member : convert(member)
  }
  return schema30(members)
}

function schema30(schema: Readonly<Record<string, unknown>>): JsonObject {
  const { type, anyOf, examples, contentMediaType: _mediaType, $ref, ...rest } = schema
  const others = rest as JsonObject
  if (typeof $ref === 'string') {
    return Object.keys(others).length === 0 ? { $ref } : { ...others, allOf: [{ $ref }] }
  }
  return {
    ...(type !== undefined && ofType(type)),
    ...(Array.isArray(anyOf) && ofAny(anyOf)),
    ...ofExamples(examples),
    ...others,
  }
}

function ofType(type: unknown): JsonObject {
  if (!Array.isArray(type)) return { type }
  return {
    type: type.find((name) => name !== 'null') as unknown,
    ...(type.includes('null') && { nullable: true }),
  }
}

const isNull = ({ type }: JsonObject) => type === 'null'

/** Each of ours is a type or null. */
function ofAny(anyOf: readonly JsonObject[]): JsonObject {
  const others = anyOf.filter((option) => !isNull(option))
  return { allOf: others, ...(anyOf.some(isNull) && { nullable: true }) }
}

/** In a schema, examples are a list; in a response, they have names and stay. */
function ofExamples(examples: unknown): JsonObject {
  if (!Array.isArray(examples)) return examples === undefined ? {} : { examples }
  return { example: examples[0] as unknown }
}
