// The schemas in schemas/ as components of the OpenAPI document: the same files that validate
// requests and, in tests, responses. Every message and every $def becomes a component of its own;
// references between files become references between components.

import { SCHEMA_FILES } from '../body/schema-files.ts'
import type { JsonObject } from '../body/schema-files.ts'
import { EXAMPLES } from './examples.ts'

/** Ends the name of a file whose members are query parameters. */
const QUERY = '-query.json'

/** All components by name. */
export function schemaComponents(): JsonObject {
  const components: Record<string, unknown> = {}
  const add = (name: string, schema: unknown) => {
    if (name in components) throw new Error(`BUG: two schemas are called ${name}`)
    components[name] = schema
  }
  for (const [file, { $defs = {}, ...schema }] of SCHEMA_FILES) {
    if (file.endsWith(QUERY)) continue
    const message = { ...schema, $schema: undefined }
    if (file !== 'common.json') add(schema.title, withComponents(message, file))
    for (const [name, definition] of Object.entries($defs)) {
      add(capitalised(name), withComponents(definition, file))
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

/** The JSON content of a message: its schema and an example. */
export function jsonOf(folder: 'request' | 'response', schema: string): JsonObject {
  const name = `${folder}/${schema}`
  const example = EXAMPLES.get(name)
  if (example === undefined) throw new Error(`BUG: no example of ${name}`)
  return { 'application/json': { schema: schemaReference(name), example } }
}

/** The parameters of a query whose schema is in schemas/request/. */
export function queryParameters(name: string): JsonObject[] {
  return Object.entries(propertiesOf(name)).map(([parameter, { description, ...schema }]) => ({
    name: parameter,
    in: 'query',
    ...(parameter === 'sensors' && { required: true }),
    ...(description !== undefined && { description }),
    schema: withComponents(schema, `request/${name}.json`),
  }))
}

function propertiesOf(query: string): Readonly<Record<string, JsonObject>> {
  const properties = SCHEMA_FILES.get(`request/${query}.json`)?.properties
  if (properties === undefined) throw new Error(`BUG: no schema of a query ${query}`)
  // Histories of several sensors have the parameters of one.
  return query === 'series-query' ? { ...properties, ...propertiesOf('history-query') } : properties
}

/** A copy of part of a file, with references to components. */
function withComponents(part: unknown, file: string): unknown {
  if (Array.isArray(part)) return part.map((element) => withComponents(element, file))
  if (typeof part !== 'object' || part === null) return part
  return Object.fromEntries(
    Object.entries(part).map(([name, value]) => [
      name,
      name === '$ref' ? componentOf(String(value), file) : withComponents(value, file),
    ]),
  )
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
