// Every answer that a test gets has to be one that the description of the API names: its status,
// its type, and its body as the schema there has it. The description is the one that the service
// itself serves, but closed: what is published leaves room for members to come. What it has no
// route for can only be refused.

import { Ajv2020 } from 'ajv/dist/2020.js'
import type { ValidateFunction } from 'ajv/dist/2020.js'
import type { TestAnswer, TestRequest } from './http.ts'

interface Response {
  readonly content?: Record<string, object>
  readonly 'x-other-media-types'?: readonly string[]
}

interface Operation {
  readonly responses: Readonly<Record<string, Response & { readonly $ref?: string }>>
  readonly 'x-problem-codes'?: readonly string[]
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: {
    readonly responses: Readonly<Record<string, Response>>
    readonly schemas: Readonly<Record<string, object>>
  }
}

type Compile = (pointer: readonly string[]) => ValidateFunction

interface Description {
  readonly document: Document
  /** What a part of the document demands. */
  readonly compile: Compile
}

const component = (name: string) => ['components', 'schemas', name]
const RESPONSES = ['components', 'responses']
const PROBLEM = component('Problem')
const PROBLEM_TYPE = 'application/problem+json'
const EVENT = component('LiveEvent')
/** The component of an event's data. */
const EVENT_DATA: Readonly<Record<string, string>> = {
  sensor: 'SensorEvent',
  sensor_silent: 'SensorEvent',
  sensor_deleted: 'SensorDeletedEvent',
}
/** What can be said of an address or a method that is not described. */
const REFUSALS = new Set([400, 401, 403, 404, 405, 408, 429, 503])

/** By the address of the service. */
const served = new Map<string, Promise<Description>>()
/** By their texts, which are the same for most services. */
const descriptions = new Map<string, Description>()

/** @throws Error when the description does not have the answer */
export async function expectDescribed(
  url: string,
  { method = 'GET', path }: TestRequest,
  answer: TestAnswer,
): Promise<void> {
  const { status, headers } = answer
  const { document, compile } = await descriptionOf(url)
  const [address = ''] = path.split('?')
  const place = `${method} ${address}: ${status}`
  const type = headers['content-type']?.split(';')[0]
  const hasBody = method !== 'HEAD' && type !== undefined
  const route = routeOf(document, method === 'HEAD' ? 'get' : method.toLowerCase(), address)
  if (route === undefined) {
    if (!REFUSALS.has(status)) throw new Error(`${place}, and there is no such route`)
    if (hasBody) expectValid(compile(PROBLEM), answer.body, place)
    return
  }
  const [pattern, verb, operation] = route
  const found = responseIn(document, operation, ['paths', pattern, verb, 'responses'], status)
  if (found === undefined) throw new Error(`${place} is not described`)
  const { response, pointer } = found
  if (!hasBody || response['x-other-media-types']?.includes(type)) return
  if (response.content?.[type] === undefined) throw new Error(`${place} ${type} is not described`)
  if (!/[/+]json$/.test(type) || headers['content-encoding'] !== undefined) return
  expectValid(compile([...pointer, 'content', type, 'schema']), answer.body, place)
  if (type === PROBLEM_TYPE) expectCode(operation, answer, place)
}

/** The response of a status and where it is, which may be among those that operations share. */
function responseIn(
  { components }: Document,
  { responses }: Operation,
  path: readonly string[],
  status: number,
): { readonly response: Response; readonly pointer: readonly string[] } | undefined {
  const own = responses[status]
  const shared = own?.$ref?.split('/').at(-1)
  const response = shared === undefined ? own : components.responses[shared]
  const pointer = shared === undefined ? [...path, String(status)] : RESPONSES.concat(shared)
  return response && { response, pointer }
}

function expectCode({ 'x-problem-codes': codes }: Operation, answer: TestAnswer, place: string) {
  const { code } = answer.body as { readonly code: string }
  if (codes?.includes(code) === false) throw new Error(`${place} ${code} is not described`)
}

/** @throws Error when the description does not have such an event of a stream */
export async function expectEventDescribed(
  url: string,
  event: { readonly id: string; readonly event: string; readonly data: string },
): Promise<void> {
  const { compile } = await descriptionOf(url)
  expectValid(compile(EVENT), event, 'an event')
  const data = EVENT_DATA[event.event]
  if (data === undefined) return
  expectValid(compile(component(data)), JSON.parse(event.data), `the data of ${event.event}`)
}

function expectValid(validate: ValidateFunction, body: unknown, place: string): void {
  if (validate(body)) return
  const faults = JSON.stringify(validate.errors)
  throw new Error(`${place} is not described:\n${JSON.stringify(body)}\n${faults}`)
}

/** Pattern, verb and description of the route; one without parameters goes first. */
function routeOf(
  { paths }: Document,
  verb: string,
  address: string,
): [string, string, Operation] | undefined {
  const pattern = [address, ...Object.keys(paths)].find((known) => {
    if (!Object.hasOwn(paths, known)) return false
    const form = known.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')
    return new RegExp(`^${form}$`).test(address)
  })
  const operation = pattern === undefined ? undefined : paths[pattern]?.[verb]
  return pattern === undefined || operation === undefined ? undefined : [pattern, verb, operation]
}

function descriptionOf(url: string): Promise<Description> {
  const known = served.get(url) ?? read(url)
  served.set(url, known)
  return known
}

async function read(url: string): Promise<Description> {
  // On no connection that is kept: a service that stops waits for these.
  const headers = { connection: 'close' }
  const text = await (await fetch(`${url}/openapi.json`, { headers })).text()
  const known = descriptions.get(text) ?? describe(JSON.parse(text) as Document)
  descriptions.set(text, known)
  return known
}

const FORMATS = { 'date-time': true, double: true, int32: true, int64: true } as const

function describe(document: Document): Description {
  const ajv = new Ajv2020({ allErrors: true, strict: false, formats: FORMATS })
  const components = { ...document.components, schemas: closed(document.components.schemas) }
  ajv.addSchema({ $id: 'api', ...document, components })
  const compiled = new Map<string, ValidateFunction>()
  const compile: Compile = (pointer) => {
    const segments = pointer.map((segment) => {
      return encodeURIComponent(segment.replaceAll('~', '~0').replaceAll('/', '~1'))
    })
    const $ref = `api#/${segments.join('/')}`
    const validate = compiled.get($ref) ?? ajv.compile({ $ref })
    compiled.set($ref, validate)
    return validate
  }
  return { document, compile }
}

/** The schemas with no room for members that they do not name. */
function closed<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((element) => closed(element)) as Value
  const members = Object.entries(value).map(([name, member]) => [name, closed(member)])
  const isObject = 'properties' in value && 'type' in value && value.type === 'object'
  return { ...Object.fromEntries(members), ...(isObject && { additionalProperties: false }) }
}
