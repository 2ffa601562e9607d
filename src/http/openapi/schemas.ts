// The schemas of schemas/ as components of an OpenAPI document: the very files that requests are
// held against, and the answers of the tests. Every message and every $def becomes a component of
// its own; references between files become references between components.

import common from '../../../schemas/common.json' with { type: 'json' }
import batchQuery from '../../../schemas/request/batch-query.json' with { type: 'json' }
import historyQuery from '../../../schemas/request/history-query.json' with { type: 'json' }
import batch from '../../../schemas/request/measurement-batch.json' with { type: 'json' }
import measurement from '../../../schemas/request/measurement.json' with { type: 'json' }
import sensorPatch from '../../../schemas/request/sensor-patch.json' with { type: 'json' }
import seriesQuery from '../../../schemas/request/series-query.json' with { type: 'json' }
import signIn from '../../../schemas/request/sign-in.json' with { type: 'json' }
import batchReceipt from '../../../schemas/response/batch-receipt.json' with { type: 'json' }
import bootstrap from '../../../schemas/response/bootstrap.json' with { type: 'json' }
import daemonMe from '../../../schemas/response/daemon-me.json' with { type: 'json' }
import dashboard from '../../../schemas/response/dashboard.json' with { type: 'json' }
import health from '../../../schemas/response/health.json' with { type: 'json' }
import history from '../../../schemas/response/history.json' with { type: 'json' }
import accepted from '../../../schemas/response/measurement.json' with { type: 'json' }
import explanation from '../../../schemas/response/problem-explanation.json' with { type: 'json' }
import liveEvent from '../../../schemas/response/live-event.json' with { type: 'json' }
import problem from '../../../schemas/response/problem.json' with { type: 'json' }
import readiness from '../../../schemas/response/readiness.json' with { type: 'json' }
import sensorList from '../../../schemas/response/sensor-list.json' with { type: 'json' }
import sensor from '../../../schemas/response/sensor.json' with { type: 'json' }
import series from '../../../schemas/response/series.json' with { type: 'json' }
import signedIn from '../../../schemas/response/sign-in.json' with { type: 'json' }
import user from '../../../schemas/response/user.json' with { type: 'json' }

export type JsonObject = Readonly<Record<string, unknown>>

/** A file of schemas/. */
interface SchemaFile {
  readonly title: string
  readonly $defs?: Readonly<Record<string, JsonObject>>
  readonly [member: string]: unknown
}

/** By their names relative to schemas/. */
const FILES: ReadonlyMap<string, SchemaFile> = new Map<string, SchemaFile>([
  ['common.json', common],
  ['request/measurement.json', measurement],
  ['request/measurement-batch.json', batch],
  ['request/sensor-patch.json', sensorPatch],
  ['request/sign-in.json', signIn],
  ['response/batch-receipt.json', batchReceipt],
  ['response/bootstrap.json', bootstrap],
  ['response/daemon-me.json', daemonMe],
  ['response/dashboard.json', dashboard],
  ['response/health.json', health],
  ['response/history.json', history],
  ['response/live-event.json', liveEvent],
  ['response/measurement.json', accepted],
  ['response/problem-explanation.json', explanation],
  ['response/problem.json', problem],
  ['response/readiness.json', readiness],
  ['response/sensor-list.json', sensorList],
  ['response/sensor.json', sensor],
  ['response/series.json', series],
  ['response/sign-in.json', signedIn],
  ['response/user.json', user],
])

/** Schemas whose members are parameters of a query, by their names in schemas/request/. */
const QUERIES: ReadonlyMap<string, { readonly properties: Readonly<Record<string, JsonObject>> }> =
  new Map<string, { readonly properties: Readonly<Record<string, JsonObject>> }>([
    ['batch-query', batchQuery],
    ['history-query', historyQuery],
    ['series-query', { properties: { ...seriesQuery.properties, ...historyQuery.properties } }],
  ])

/** All components by name. */
export function schemaComponents(): JsonObject {
  const components: Record<string, unknown> = {}
  const add = (name: string, schema: unknown) => {
    if (name in components) throw new Error(`BUG: two schemas are called ${name}`)
    components[name] = schema
  }
  for (const [file, { $defs = {}, ...schema }] of FILES) {
    const message = { ...schema, $schema: undefined }
    if (file !== 'common.json') add(schema.title, withComponents(message, file))
    for (const [name, definition] of Object.entries($defs)) {
      add(capitalised(name), withComponents(definition, file))
    }
  }
  return components
}

/** A reference to the component of a file, named relative to schemas/ and without its ending. */
export function schemaReference(name: string): JsonObject {
  const file = FILES.get(`${name}.json`)
  if (file === undefined) throw new Error(`BUG: no schema ${name}`)
  return { $ref: `#/components/schemas/${file.title}` }
}

/** The parameters of a query whose schema is a file of schemas/request/. */
export function queryParameters(name: string): JsonObject[] {
  const query = QUERIES.get(name)
  if (query === undefined) throw new Error(`BUG: no schema of a query ${name}`)
  return Object.entries(query.properties).map(([parameter, { description, ...schema }]) => ({
    name: parameter,
    in: 'query',
    ...(parameter === 'sensors' && { required: true }),
    ...(description !== undefined && { description }),
    schema: withComponents(schema, `request/${name}.json`),
  }))
}

/** A copy of part of a file, whose references name components. */
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
