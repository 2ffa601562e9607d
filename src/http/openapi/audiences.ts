// Documents to generate clients from: the operations of one API, with one kind of token and only
// the components they need; and the same in OpenAPI 3.0 for generators that read nothing newer.

import type { JsonObject } from '../body/schema-files.ts'
import { DAEMON_API_BASE, MOBILE_API_BASE } from '../requests/routes.ts'
import { toOpenApi30 } from './openapi-3-0.ts'

interface Document extends JsonObject {
  readonly info: JsonObject
  readonly tags: readonly { readonly name: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, JsonObject>>>>
  readonly components: Readonly<Record<string, JsonObject>>
}

const AUDIENCES = {
  daemon: { base: DAEMON_API_BASE, title: 'Thermolog for daemons', token: 'daemonToken' },
  mobile: { base: MOBILE_API_BASE, title: 'Thermolog for apps', token: 'mobileToken' },
}

/** Every document by the name of its file, made from the whole. */
export const DOCUMENTS: ReadonlyMap<string, (whole: object) => object> = new Map([
  ['daemon.json', (whole) => documentFor('daemon', whole as Document)],
  ['mobile.json', (whole) => documentFor('mobile', whole as Document)],
  ['daemon-3.0.json', (whole) => toOpenApi30(documentFor('daemon', whole as Document))],
  ['mobile-3.0.json', (whole) => toOpenApi30(documentFor('mobile', whole as Document))],
])

function documentFor(audience: keyof typeof AUDIENCES, whole: Document): JsonObject {
  const { base, title, token } = AUDIENCES[audience]
  const paths = Object.fromEntries(
    Object.entries(whole.paths)
      .filter(([path]) => path.startsWith(`${base}/`))
      .map(([path, operations]) => [path, withPlainNames(operations)]),
  )
  const tags = new Set(membersCalled('tags', paths).flat())
  const { securitySchemes, examples: _forPeople, responses, ...others } = whole.components
  const components = { ...others, responses: withoutExamples(responses) as JsonObject }
  return {
    ...whole,
    info: { ...whole.info, title },
    tags: whole.tags.filter(({ name }) => tags.has(name)),
    paths,
    components: {
      ...onlyReferenced(components, paths),
      securitySchemes: { [token]: securitySchemes?.[token] },
    },
  }
}

/** Two APIs in one document cannot both have `listSensors`. Codes and samples are for people. */
function withPlainNames(operations: Readonly<Record<string, JsonObject>>): JsonObject {
  return Object.fromEntries(
    Object.entries(operations).map(([method, whole]) => {
      const { 'x-problem-codes': _codes, 'x-codeSamples': _samples, ...operation } = whole
      const operationId = String(operation['operationId']).replace(/O[fn]Phone$/, '')
      return [method, { ...operation, operationId }]
    }),
  )
}

/** The examples of every failure are a sixth of the whole: people read them there. */
function withoutExamples(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const members = Object.entries(value).filter(([name]) => name !== 'examples')
  return Object.fromEntries(members.map(([name, member]) => [name, withoutExamples(member)]))
}

/** The components that something refers to, be it through others. */
function onlyReferenced(components: Document['components'], root: unknown): JsonObject {
  const found = new Set<string>()
  const follow = (value: unknown): void => {
    for (const reference of membersCalled('$ref', value).map(String)) {
      if (found.has(reference)) continue
      found.add(reference)
      const [, , kind = '', name = ''] = reference.split('/')
      follow(components[kind]?.[name])
    }
  }
  follow(root)
  return Object.fromEntries(
    Object.entries(components).map(([kind, all]) => {
      const kept = Object.entries(all).filter(([name]) => found.has(`#/components/${kind}/${name}`))
      return [kind, Object.fromEntries(kept)]
    }),
  )
}

/** Every member of such a name in a value, however deep. */
function membersCalled(name: string, value: unknown): unknown[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([member, part]: [string, unknown]) => {
    return member === name ? [part] : membersCalled(name, part)
  })
}
