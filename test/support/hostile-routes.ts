// The routes of the service, as its own published document has them: what is described there is
// attacked, with nothing to add here for a new route.

import type { Seeded } from './seeded.ts'

/** What the body of a request is read as. */
export type BodyFormat = 'json' | 'lines' | 'form'

export interface HostileRoute {
  readonly method: string
  /** With its parameters in braces. */
  readonly pattern: string
  /** Examples of the parameters in the path, by name. */
  readonly places: ReadonlyMap<string, string>
  /** Examples of the parameters in the query, by name. */
  readonly query: ReadonlyMap<string, string>
  /** Examples of the headers, by name. */
  readonly headers: ReadonlyMap<string, string>
  /** `undefined`: it takes no body. */
  readonly format: BodyFormat | undefined
  /** Bodies that the document gives as examples. */
  readonly bodies: readonly string[]
  /** The token that it asks for or takes. */
  readonly token: 'daemon' | 'mobile' | undefined
}

interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly example?: string | number
  readonly schema?: { readonly enum?: readonly string[] }
}

interface Content {
  readonly example?: unknown
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>
  readonly schema?: {
    readonly properties?: Readonly<Record<string, { readonly examples?: readonly string[] }>>
  }
}

interface Operation {
  readonly parameters?: readonly (Parameter & { readonly $ref?: string })[]
  readonly requestBody?: { readonly content: Readonly<Record<string, Content>> }
  readonly security?: readonly Readonly<Record<string, unknown>>[]
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly parameters: Readonly<Record<string, Parameter>> }
}

const FORMATS: Readonly<Record<string, BodyFormat>> = {
  'application/json': 'json',
  'text/plain': 'lines',
  'application/x-www-form-urlencoded': 'form',
}

/** Sensors have ids from 1; so many of them are asked for. */
const IDS = 300

/** @throws Error for a body in a format for which there are no hostile ones */
export async function readRoutes(url: string): Promise<HostileRoute[]> {
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as Document
  return Object.entries(document.paths).flatMap(([pattern, operations]) =>
    Object.entries(operations).map(([verb, operation]) =>
      routeOf(document, `${verb.toUpperCase()} ${pattern}`, operation),
    ),
  )
}

function routeOf(document: Document, address: string, operation: Operation): HostileRoute {
  const [method = '', pattern = ''] = address.split(' ')
  const parameters = (operation.parameters ?? []).map((parameter) => {
    const shared = parameter.$ref?.split('/').at(-1)
    return shared === undefined ? parameter : document.components.parameters[shared]
  })
  const examples = (place: Parameter['in']) =>
    new Map(
      parameters.flatMap((parameter) => {
        if (parameter?.in !== place) return []
        const { name, example = parameter.schema?.enum?.[0] ?? 'x' } = parameter
        return [[name, String(example)] as const]
      }),
    )
  const kinds = (operation.security ?? []).flatMap((scheme) => Object.keys(scheme))
  return {
    method,
    pattern,
    places: examples('path'),
    query: examples('query'),
    headers: examples('header'),
    token: (['daemon', 'mobile'] as const).find((kind) => kinds.includes(`${kind}Token`)),
    ...bodyOf(address, operation),
  }
}

function bodyOf(
  address: string,
  { requestBody }: Operation,
): Pick<HostileRoute, 'format' | 'bodies'> {
  if (requestBody === undefined) return { format: undefined, bodies: [] }
  const [type = '', content = {}] = Object.entries(requestBody.content)[0] ?? []
  const format = FORMATS[type]
  if (format === undefined) throw new Error(`${address}: no hostile bodies of ${type}`)
  if (format === 'form') return { format, bodies: [formOf(content)] }
  const { example, examples = {} } = content
  const values = [example, ...Object.values(examples).map(({ value }) => value)]
  const bodies = values
    .filter((value) => value !== undefined)
    .map((value) => (typeof value === 'string' ? value : JSON.stringify(value)))
  if (bodies.length === 0) throw new Error(`${address}: no example of its body`)
  return { format, bodies }
}

function formOf({ schema }: Content): string {
  const fields = Object.entries(schema?.properties ?? {})
  const pairs = fields.flatMap(([name, { examples }]) => {
    return examples?.[0] === undefined ? [] : [[name, examples[0]] as [string, string]]
  })
  return new URLSearchParams(pairs).toString()
}

/** The path with its examples in it, and ids of sensors that there may be. */
export function pathOf({ pattern, places }: HostileRoute, random: Seeded): string {
  return pattern.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const example = places.get(name) ?? ''
    return /^\d+$/.test(example) ? String(1 + random.below(IDS)) : encodeURIComponent(example)
  })
}
