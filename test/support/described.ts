// Every answer that a test gets has to be one that the description of the API names: its status,
// its type, and its body as the schema there has it. The description is the one that the service
// itself serves. What it has no route for can only be refused.

import { Ajv2020 } from 'ajv/dist/2020.js'
import type { ValidateFunction } from 'ajv/dist/2020.js'
import type { TestAnswer, TestRequest } from './http.ts'

interface Operation {
  readonly responses: Readonly<Record<string, { readonly content?: Record<string, object> }>>
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

type Compile = (pointer: readonly string[]) => ValidateFunction

interface Description {
  readonly document: Document
  /** What a part of the document demands. */
  readonly compile: Compile
}

const PROBLEM = ['components', 'schemas', 'ProblemResponse']
const EVENT = ['components', 'schemas', 'LiveEvent']
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
  const [pattern, verb, { responses }] = route
  const response = responses[status]
  if (response === undefined) throw new Error(`${place} is not described`)
  if (!hasBody) return
  if (response.content?.[type] === undefined) throw new Error(`${place} ${type} is not described`)
  if (!/[/+]json$/.test(type) || headers['content-encoding'] !== undefined) return
  const ofMedia = ['paths', pattern, verb, 'responses', String(status), 'content', type, 'schema']
  expectValid(compile(ofMedia), answer.body, place)
}

/** @throws Error when the description does not have such an event of a stream */
export async function expectEventDescribed(
  url: string,
  event: { readonly id: string; readonly event: string; readonly data: string },
): Promise<void> {
  const { compile } = await descriptionOf(url)
  expectValid(compile(EVENT), event, 'an event')
  const ofData = [...EVENT, 'properties', 'data', 'contentSchema']
  expectValid(compile(ofData), JSON.parse(event.data), `the data of ${event.event}`)
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
  const text = await (await fetch(`${url}/openapi.json`)).text()
  const known = descriptions.get(text) ?? describe(JSON.parse(text) as Document)
  descriptions.set(text, known)
  return known
}

function describe(document: Document): Description {
  const ajv = new Ajv2020({ allErrors: true, strict: false, formats: { 'date-time': true } })
  ajv.addSchema({ $id: 'api', ...document })
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
