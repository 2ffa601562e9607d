// Documents to generate clients from: the operations of one API, with one kind of token and only
// the components they need; also in OpenAPI 3.0, for older generators.

import type { ErrorCode } from '../domain/errors.ts'
import type { JsonObject } from '../http/body/schema-files.ts'
import { DAEMON_API_BASE, MOBILE_API_BASE } from '../http/routes/routes.ts'
import type { NamedExample } from './named-examples.ts'
import { toOpenApi30 } from './openapi-3-0.ts'
import { problemResponses } from './problem-answers.ts'

interface Document extends JsonObject {
  readonly info: JsonObject
  readonly tags: readonly { readonly name: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, JsonObject>>>>
  readonly components: Readonly<Record<string, JsonObject>>
}

/** Generators name packages and files after the titles. */
const AUDIENCES = {
  daemon: { base: DAEMON_API_BASE, title: 'Thermolog daemon', token: 'daemonToken' },
  mobile: { base: MOBILE_API_BASE, title: 'Thermolog mobile', token: 'mobileToken' },
}

/** Every document by file name, made from the whole. */
export const DOCUMENTS: ReadonlyMap<string, (whole: object) => object> = new Map([
  ['daemon.json', (whole) => documentFor('daemon', whole as Document)],
  ['mobile.json', (whole) => documentFor('mobile', whole as Document)],
  ['daemon-3.0.json', (whole) => toOpenApi30(documentFor('daemon', whole as Document))],
  ['mobile-3.0.json', (whole) => toOpenApi30(documentFor('mobile', whole as Document))],
])

function documentFor(audience: keyof typeof AUDIENCES, whole: Document): JsonObject {
  const { base, title, token } = AUDIENCES[audience]
  const own = Object.entries(whole.paths).filter(([path]) => path.startsWith(`${base}/`))
  const codes = new Set(membersCalled('x-problem-codes', own).flat() as ErrorCode[])
  const paths = Object.fromEntries(
    own.map(([path, operations]) => [path, withPlainNames(operations)]),
  )
  const tags = new Set(membersCalled('tags', paths).flat())
  const { securitySchemes, examples: _forPeople, responses, schemas, ...others } = whole.components
  const components = {
    ...others,
    schemas: { ...schemas, Problem: withoutReadiness(schemas?.['Problem'] as JsonObject) },
    responses: withoutExamples({ ...responses, ...problemResponses(codes) }) as JsonObject,
  }
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

/** One document for two APIs cannot have `listSensors` twice. Codes and samples are for people. */
function withPlainNames(operations: Readonly<Record<string, JsonObject>>): JsonObject {
  return Object.fromEntries(
    Object.entries(operations).map(([method, whole]) => {
      const { 'x-problem-codes': _codes, 'x-codeSamples': _samples, ...operation } = whole
      // Generators warn about an example of a body.
      const { requestBody } = operation
      const operationId = String(operation['operationId']).replace(/O[fn]Phone$/, '')
      const body = requestBody === undefined ? {} : { requestBody: withoutExamples(requestBody) }
      return [method, { ...(withOneExample(operation) as JsonObject), ...body, operationId }]
    }),
  )
}

/** Keeps the first of several named examples. */
function withOneExample(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(withOneExample)
  return Object.fromEntries(
    Object.entries(value).map(([name, member]: [string, unknown]) => {
      const isNamed = name === 'examples' && !Array.isArray(member)
      return isNamed
        ? ['example', firstValue(member as JsonObject)]
        : [name, withOneExample(member)]
    }),
  )
}

function firstValue(examples: JsonObject): unknown {
  const [first] = Object.values(examples)
  return (first as NamedExample).value
}

/** Drops examples of messages, which are large: people read them in the whole document. */
function withoutExamples(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const members = Object.entries(value).filter(([name]) => !/^examples?$/.test(name))
  return Object.fromEntries(members.map(([name, member]) => [name, withoutExamples(member)]))
}

/** Members of a problem that only `/readyz` returns, for operators. */
const READINESS = new Set(['backlog', 'measurement_store', 'database'])

function withoutReadiness(problem: JsonObject): JsonObject {
  const members = Object.entries(problem['properties'] as JsonObject)
  return {
    ...problem,
    properties: Object.fromEntries(members.filter(([name]) => !READINESS.has(name))),
  }
}

/** The components referred to, directly or indirectly. */
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

/** Every member with this name in a value, at any depth. */
function membersCalled(name: string, value: unknown): unknown[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([member, part]: [string, unknown]) => {
    return member === name ? [part] : membersCalled(name, part)
  })
}
