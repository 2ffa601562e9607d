// The schemas in schemas/ as components of the OpenAPI document: the same files that validate
// requests and, in tests, responses. Every message and every $def becomes its own component;
// references between files become references between components.
//
// Published response schemas are open, because a member may be added at any time, and give the
// width of each number, which generators use for its type.

import { SCHEMA_FILES } from '../http/body/schema-files.ts'
import type { JsonObject } from '../http/body/schema-files.ts'
import { EXAMPLES } from './examples.ts'
import { NAMED_EXAMPLES } from './named-examples.ts'

/** Ends the name of a file whose members are query parameters. */
const QUERY = '-query.json'

const HISTORY = 'history-query'

const INT32_MAX = 2 ** 31 - 1

/** All components by name. */
export function schemaComponents(): JsonObject {
  const components: Record<string, unknown> = {}
  for (const [file, { $defs = {}, ...message }] of SCHEMA_FILES) {
    if (file.endsWith(QUERY)) continue
    const parts = Object.entries($defs).map(([name, part]) => [capitalised(name), part] as const)
    if (file !== 'common.json') parts.unshift([message.title, message])
    for (const [name, part] of parts) {
      if (name in components) throw new Error(`BUG: two schemas are called ${name}`)
      components[name] = published(part, file)
    }
  }
  return components
}

/**
 * A reference to the component of a schema file, named by its path in schemas/ without extension.
 */
export function schemaReference(name: string): JsonObject {
  const file = SCHEMA_FILES.get(`${name}.json`)
  if (file === undefined) throw new Error(`BUG: no schema ${name}`)
  return { $ref: `#/components/schemas/${file.title}` }
}

/** The JSON content of a message: its schema and an example, or several. */
export function jsonOf(folder: 'request' | 'response', schema: string): JsonObject {
  const name = `${folder}/${schema}`
  const example = EXAMPLES.get(name)
  if (example === undefined) throw new Error(`BUG: no example of ${name}`)
  const examples = NAMED_EXAMPLES.get(name)
  const shown = examples === undefined ? { example } : { examples }
  return { 'application/json': { schema: schemaReference(name), ...shown } }
}

/** The parameters of a query whose schema is in schemas/request/. */
export function queryParameters(name: string): JsonObject[] {
  if (name === HISTORY) return historyReferences()
  const own = parametersOf(name)
  // Histories of several sensors have the same parameters as those of one.
  return name === 'series-query' ? [...own, ...historyReferences()] : own
}

/** The parameters of histories, which operations share, by component name. */
export function historyParameters(): JsonObject {
  return Object.fromEntries(
    parametersOf(HISTORY).map((parameter) => [componentNameOf(parameter), parameter]),
  )
}

function historyReferences(): JsonObject[] {
  return parametersOf(HISTORY).map((parameter) => ({
    $ref: `#/components/parameters/${componentNameOf(parameter)}`,
  }))
}

function componentNameOf({ name }: JsonObject): string {
  return `History${capitalised(String(name))}`
}

function parametersOf(query: string): JsonObject[] {
  const properties = SCHEMA_FILES.get(`request/${query}.json`)?.properties
  if (properties === undefined) throw new Error(`BUG: no schema of a query ${query}`)
  return Object.entries(properties).map(([name, { description, examples, ...schema }]) => ({
    name,
    in: 'query',
    ...(name === 'sensors' && { required: true }),
    description,
    schema: published(schema, `request/${query}.json`),
    ...(Array.isArray(examples) && { example: examples[0] as unknown }),
  }))
}

/** Part of a file as published. */
function published(part: unknown, file: string): unknown {
  if (Array.isArray(part)) return part.map((element) => published(element, file))
  if (typeof part !== 'object' || part === null) return part
  const { $schema: _dialect, title: _title, properties, ...schema } = part as JsonObject
  const open: Record<string, unknown> = formatOf(schema)
  for (const [name, value] of Object.entries(schema)) {
    open[name] = name === '$ref' ? componentOf(String(value), file) : published(value, file)
  }
  if (!file.startsWith('request/')) delete open['additionalProperties']
  // A client would check each time against it; it only promises a number of fraction digits.
  if (schema['format'] === 'date-time') delete open['pattern']
  if (properties !== undefined) open['properties'] = ofEach(properties, file)
  return open
}

/** Applies to each property, whose names may equal keywords. */
function ofEach(properties: unknown, file: string): JsonObject {
  return Object.fromEntries(
    Object.entries(properties as JsonObject).map(([name, schema]) => [
      name,
      published(schema, file),
    ]),
  )
}

function formatOf({ type, maximum }: JsonObject): Record<string, unknown> {
  const types = [type].flat()
  if (types.includes('number')) return { format: 'double' }
  if (!types.includes('integer')) return {}
  return { format: Number(maximum ?? 0) > INT32_MAX ? 'int64' : 'int32' }
}

function componentOf(reference: string, file: string): string {
  const [target = '', pointer = ''] = reference.split('#')
  const definition = /^\/\$defs\/(\w+)$/.exec(pointer)?.[1]
  if (definition !== undefined) return `#/components/schemas/${capitalised(definition)}`
  const { pathname } = new URL(target, `schemas://root/${file}`)
  return String(schemaReference(pathname.slice(1, -'.json'.length))['$ref'])
}

function capitalised(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1)
}
