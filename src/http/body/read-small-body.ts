// Reads the small bodies of sign-in with koa-bodyparser, and covers what it leaves open: it treats
// another content type as no body, replaces invalid UTF-8, and waits forever for a compressed
// upload that breaks off. So types are checked first, and compressed bodies go through the gate.

import { ClientGone } from '../call/call.ts'
import type { Call } from '../call/call.ts'
import { setTimeout as pause } from 'node:timers/promises'
import bodyParser from 'koa-bodyparser'
import { ServiceError } from '../../domain/errors.ts'
import { signInBodyBytesMax } from '../../domain/limits.ts'
import { SECOND_MS } from '../../domain/time.ts'
import type { Clock } from '../../ports/system.ts'
import { BodyGate, checkHead, openForm, sendingOf, signInBody } from './gate.ts'
import { readJson } from './read-json.ts'

const REPLACEMENT_CHARACTER = '\uFFFD'
const PACKED_BODIES_MAX = 256
/** 16 KiB at 512 bytes a second. */
const ARRIVAL_MS_MAX = 32 * SECOND_MS

/** JSON is parsed like that of all others. */
const textOptions = {
  enableTypes: ['text'],
  extendTypes: { text: ['application/json'] },
  textLimit: String(signInBodyBytesMax),
}

/** A small body is read at once. */
async function noTurns(): Promise<void> {}

export class SmallBodyReader {
  readonly #readText = bodyParser(textOptions)
  readonly #parseForm = bodyParser({ enableTypes: ['form'], formLimit: String(signInBodyBytesMax) })
  readonly #packed: BodyGate

  constructor(clock: Clock) {
    this.#packed = new BodyGate(PACKED_BODIES_MAX * signInBodyBytesMax, clock)
  }

  /**
   * The value of a JSON body.
   *
   * @throws ServiceError `length_required`, `unsupported_media_type`, `unsupported_encoding`,
   *   `body_too_large`, `invalid_request`, `malformed_json`
   * @throws ClientGone when the client disconnects half way
   */
  async readJson(call: Call): Promise<unknown> {
    const { ctx } = call
    if (checkHead(ctx.req, ctx.res, signInBody) !== undefined) {
      return this.#packed.read(sendingOf(call), readJson)
    }
    const text = await read(ctx, this.#readText)
    if (text.includes(REPLACEMENT_CHARACTER)) {
      throw new ServiceError('malformed_json', { detail: 'The body is not valid UTF-8.' })
    }
    return readJson(Buffer.from(text), noTurns)
  }

  /**
   * The parameters of a form.
   *
   * @throws ServiceError as `readJson` does
   * @throws ClientGone when the client disconnects half way
   */
  async readForm({ ctx }: Call): Promise<URLSearchParams> {
    checkHead(ctx.req, ctx.res, openForm)
    return new URLSearchParams(await read(ctx, this.#parseForm))
  }
}

/** @returns the text of a body */
async function read(ctx: Call['ctx'], parse: ReturnType<typeof bodyParser>): Promise<string> {
  const { req, res } = ctx
  if (req.destroyed) throw new ClientGone()
  if (req.headers.expect !== undefined) res.writeContinue()
  const deadline = new AbortController()
  try {
    await Promise.race([parse(ctx, async () => undefined), tooSlow(deadline.signal)])
    const { rawBody } = ctx.request
    return typeof rawBody === 'string' ? rawBody : ''
  } catch (error) {
    throw translated(error)
  } finally {
    deadline.abort()
  }
}

async function tooSlow(signal: AbortSignal): Promise<never> {
  await pause(ARRIVAL_MS_MAX, undefined, { signal })
  throw new ServiceError('request_timeout')
}

function translated(error: unknown): Error {
  if (error instanceof ServiceError) return error
  const { type } = error as { readonly type?: string }
  if (type === 'request.aborted') return new ClientGone()
  if (type !== 'entity.too.large') return new ServiceError('invalid_request')
  return new ServiceError('body_too_large', { members: { limit: signInBodyBytesMax } })
}
