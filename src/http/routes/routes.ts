// How a row of a route table becomes a route of @koa/router, and what a row is made of.
//
// A row reads: path · right · input · what it answers, with the handler. The checks before that run
// in the promised order of errors: token, right, path (the sensor in it), then the input.

import { Router } from '@koa/router'
import type { RouterContext } from '@koa/router'
import type { Right } from '../../domain/access.ts'
import { ServiceError } from '../../domain/errors.ts'
import type { Sensors } from '../../sensors/sensors.ts'
import { requireRight } from '../callers/authenticate.ts'
import type { AnswerKind, ApiCall, Call, CallState, SensorCall } from '../call/call.ts'
import type { BodyGate } from '../body/gate.ts'
import { parseId } from './input.ts'
import type { Input, InputFacts, OpenInput } from './input.ts'

export const DAEMON_API_BASE = '/api/v1'
export const MOBILE_API_BASE = '/api/mobile/v1'

export type CallRouter = Router<CallState>

export type CallContext = RouterContext<CallState>

const VERBS = { GET: 'get', POST: 'post', PATCH: 'patch', DELETE: 'delete' } as const

type Method = keyof typeof VERBS

/** Method and path of a row, separated by a space, such as `GET /sensors/:id`. */
type Address = `${Method} ${string}`

type Handler<C, T> = (call: C, input: T) => void | Promise<void>

interface Answering<C, T> {
  readonly answer: AnswerKind
  readonly handler: Handler<C, T>
}

const answering =
  (answer: AnswerKind) =>
  <C, T>(handler: Handler<C, T>): Answering<C, T> => ({ answer, handler })

/** What a row may answer: see answers/answer-kind.ts. */
export const small = answering('small')
export const receipt = answering('receipt')
export const file = answering('file')
export const long = answering('long')

/** A row of a table, for the documents. */
export interface RouteRow {
  /** Method and pattern of the whole path, such as `GET /problems/{code}`. */
  readonly route: string
  /** Whether no API token is required. */
  readonly isOpen: boolean
  /** `undefined`: none is required. */
  readonly right: Right | undefined
  readonly input: InputFacts
  readonly answer: AnswerKind
}

/** The routes of a table and its rows, in order. */
export interface RouteTable {
  readonly router: CallRouter
  readonly rows: readonly RouteRow[]
}

/** Creates the routes that need no token. */
export class OpenRoutes implements RouteTable {
  readonly router: CallRouter
  readonly rows: RouteRow[] = []

  constructor(base: string) {
    this.router = createRouter(base)
  }

  add<T>(address: Address, input: OpenInput<T>, { answer, handler }: Answering<Call, T>): void {
    const facts = { isOpen: true, right: undefined, input, answer }
    addRoute(this, address, facts, async (ctx) => {
      const call = callOf(ctx)
      await handler(call, await input.read(call))
    })
  }
}

/** Creates the routes of one API; its kind of token is checked before they are reached. */
export class ApiRoutes implements RouteTable {
  readonly router: CallRouter
  readonly rows: RouteRow[] = []
  readonly #sensors: Sensors
  readonly #bodies: BodyGate

  constructor(base: string, sensors: Sensors, bodies: BodyGate) {
    this.router = createRouter(base)
    this.#sensors = sensors
    this.#bodies = bodies
  }

  /** @param right `undefined`: any live token will do */
  add<T>(
    address: Address,
    right: Right | undefined,
    input: Input<T>,
    { answer, handler }: Answering<ApiCall, T>,
  ): void {
    // An async function would keep its input alive while the handler waits for the disk.
    addRoute(this, address, { isOpen: false, right, input, answer }, (ctx) => {
      const call = apiCallOf(ctx, right)
      const read = input.read(call, this.#bodies)
      return read instanceof Promise
        ? read.then((value) => handler(call, value))
        : handler(call, read)
    })
  }

  /** A row whose path contains a sensor: `:id`. Another user's sensor is 404. */
  own<T>(
    address: Address,
    right: Right | undefined,
    input: Input<T, SensorCall>,
    { answer, handler }: Answering<SensorCall, T>,
  ): void {
    addRoute(this, address, { isOpen: false, right, input, answer }, async (ctx) => {
      const call = await this.#withSensor(apiCallOf(ctx, right))
      await handler(call, await input.read(call, this.#bodies))
    })
  }

  async #withSensor(call: ApiCall): Promise<SensorCall> {
    const sensorId = parseId(call.parameters['id'])
    const sensor = sensorId && (await this.#sensors.find(call.principal.user.id, sensorId))
    if (!sensor) throw new ServiceError('sensor_not_found')
    return { ...call, sensor }
  }
}

/** Paths are compared exactly: case and a trailing slash count. */
function createRouter(base: string): CallRouter {
  return new Router<CallState>({ prefix: base, strict: true, sensitive: true })
}

function addRoute(
  { router, rows }: { readonly router: CallRouter; readonly rows: RouteRow[] },
  address: Address,
  facts: Omit<RouteRow, 'route'>,
  run: (ctx: CallContext) => void | Promise<void>,
): void {
  const [method, path] = address.split(/ +/) as [Method, string]
  const base = router.opts.prefix ?? ''
  const route = `${method} ${base}${path.replaceAll(/:(\w+)/g, '{$1}')}`
  rows.push({ route, ...facts })
  router[VERBS[method]](path, (ctx) => {
    ctx.state.route = route
    ctx.state.bounds = facts.input.bounds
    ctx.state.answer = facts.answer
    return run(ctx)
  })
}

function callOf({ state, params }: CallContext): Call {
  return { ...state.call, parameters: params }
}

function apiCallOf({ state, params }: CallContext, right: Right | undefined): ApiCall {
  const { call, principal } = state
  if (principal === undefined) throw new Error('BUG: a route of an API without a principal')
  if (right !== undefined) requireRight(principal, right)
  return { ...call, parameters: params, principal }
}
