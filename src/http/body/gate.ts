// The one way in for every body: bounded, decompressed if necessary, and parsed in turn.
//
// Each row of the route tables says what it takes for a body; of a row that takes none, none is
// read. A body counts its bytes in the budget that all share (upload-budget.ts) from their arrival
// until its request is answered, so what is built from many large bodies does not fill the memory
// either. A client that disconnects half way ends the read like any other end. Compressed bodies
// are received whole before they are decompressed: decompression does not depend on the connection,
// and a compressor takes memory of its own.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { createGunzip, createInflate, createInflateRaw } from 'node:zlib'
import { ServiceError } from '../../domain/errors.ts'
import {
  requestBodyBytesMax,
  signInBodyBytesMax,
  statementFormBytesMax,
} from '../../domain/limits.ts'
import { giveBack } from '../../bytes/give-back.ts'
import type { Clock } from '../../ports/system.ts'
import { ClientGone } from '../call/call.ts'
import type { ApiCall, Call } from '../call/call.ts'
import { Turns } from '../answers/turns.ts'
import type { LetOthers } from '../answers/turns.ts'
import { UploadBudget } from './upload-budget.ts'
import type { Upload } from './upload-budget.ts'
import { endWithAnswer } from './rest-of-body.ts'

export type Packing = 'gzip' | 'deflate'

export interface BodyBounds {
  /** `lines` come with any media type; `none`: a body is ignored. */
  readonly type: 'none' | 'json' | 'form' | 'lines'
  /** In which it may be compressed. */
  readonly packings: readonly Packing[]
  /** After decompression. */
  readonly bytesMax: number
  /** What a body counts at least, for what may be said of it. */
  readonly countedBytesMin?: number
}

/** What the gate is told of a request, and what it notes. */
export interface BodyState {
  /** What its route takes. */
  bounds?: BodyBounds
  /** Closed when the request is answered, or its answer is taken. */
  body?: Upload
}

const anyPacking: readonly Packing[] = ['gzip', 'deflate']

export const noBody: BodyBounds = { type: 'none', packings: [], bytesMax: 0 }

export const jsonBody: BodyBounds = {
  type: 'json',
  packings: anyPacking,
  bytesMax: requestBodyBytesMax,
}

/** A batch: 500 empty elements are 1.5 KB, and their faults more than a hundred. */
export const batchBody: BodyBounds = { ...jsonBody, countedBytesMin: 16 * 1_024 }

/** JSON of somebody who is not known yet. */
export const signInBody: BodyBounds = {
  type: 'json',
  packings: anyPacking,
  bytesMax: signInBodyBytesMax,
}

/** A form of somebody who is not known. */
export const openForm: BodyBounds = { type: 'form', packings: [], bytesMax: signInBodyBytesMax }

/** A form with a statement. */
export const statementForm: BodyBounds = {
  type: 'form',
  packings: [],
  bytesMax: statementFormBytesMax,
}

/** Line protocol. */
export const linesBody: BodyBounds = {
  type: 'lines',
  packings: ['gzip'],
  bytesMax: requestBodyBytesMax,
}

/** Compression can lengthen what it cannot shorten, by at most this much for bodies of our size. */
const COMPRESSION_OVERHEAD_BYTES_MAX = 64 * 1024

/** Larger bodies are parsed in turn. */
const TURN_BYTES_MIN = 16 * 1024

const FORM_TYPE = 'application/x-www-form-urlencoded'

/** A request whose body is to be read. */
export interface Sending {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** Whose share of the budget it takes; `undefined`: nobody's, because the user is not known. */
  readonly userId: number | undefined
  readonly state: BodyState
}

/** A request with its user, if that is known. */
export function sendingOf(call: Call | ApiCall): Sending {
  const { req: request, res: response, state } = call.ctx
  const userId = 'principal' in call ? call.principal.user.id : undefined
  return { request, response, userId, state }
}

type Parse<T> = (bytes: Buffer, letOthers: LetOthers) => T | Promise<T>

export class BodyGate {
  readonly #budget: UploadBudget
  readonly #turns = new Turns()
  readonly #letOthers: LetOthers = () => this.#turns.next()

  /** @param inFlightBytesMax of all bodies whose requests are not answered yet */
  constructor(inFlightBytesMax: number, clock: Clock) {
    this.#budget = new UploadBudget(inFlightBytesMax, clock)
  }

  /** Bytes of the budget in use. */
  get inFlightBytes(): number {
    return this.#budget.bytes
  }

  /**
   * The result of `parse` for the bytes of a body. The bytes are invalid afterwards. Long parsing
   * gives others their turn. `state.body` must be closed when the request is answered.
   *
   * @throws ServiceError `length_required`, `unsupported_media_type`, `unsupported_encoding`,
   *   `body_too_large`, `invalid_request` (broken compression), `overloaded`, `request_timeout`
   * @throws ClientGone when the client disconnects half way
   */
  async read<T>(sending: Sending, parse: Parse<T>): Promise<T> {
    const { request, response, state } = sending
    const bounds = boundsOf(state)
    const packing = checkHead(request, response, bounds)
    const overheadBytes = packing === undefined ? 0 : overheadOf(bounds)
    const sentBytesMax = bounds.bytesMax + overheadBytes
    if (Number(request.headers['content-length'] ?? 0) > sentBytesMax) throw tooLarge(bounds)
    const upload = this.#budget.open(sending.userId, bounds.countedBytesMin)
    state.body = upload
    const small = packing === undefined ? takeSmall(request, sentBytesMax) : undefined
    if (small !== undefined) {
      const turn = upload.take(small.length)
      if (turn !== undefined) await turn
      return parse(small, this.#letOthers)
    }
    if (request.headers.expect !== undefined) response.writeContinue()
    const sent = await receive(request, { upload, bounds, overheadBytes })
    const body =
      packing === undefined ? joined(sent) : await unpack(sent, packing, { upload, bounds })
    return this.#parse(body, parse)
  }

  async #parse<T>(body: Buffer, parse: Parse<T>): Promise<T> {
    if (body.length > TURN_BYTES_MIN) await this.#turns.next()
    try {
      const parsed = parse(body, this.#letOthers)
      return parsed instanceof Promise ? await parsed : parsed
    } finally {
      giveBack(body)
    }
  }
}

/** @throws for a route that takes no body */
function boundsOf({ bounds }: BodyState): BodyBounds {
  if (bounds === undefined || bounds.type === 'none') {
    throw new Error('BUG: a body is read of a route without bounds')
  }
  return bounds
}

/** Lower for small bodies: 51 compressed sign-ins would take the budget of all. */
function overheadOf({ bytesMax }: BodyBounds): number {
  return Math.min(COMPRESSION_OVERHEAD_BYTES_MAX, bytesMax)
}

function tooLarge({ bytesMax }: BodyBounds): ServiceError {
  return new ServiceError('body_too_large', { members: { limit: bytesMax } })
}

/** A small body that came with its head, as those of single measurements do: it takes no turns. */
function takeSmall(request: IncomingMessage, bytesMax: number): Buffer | undefined {
  const { complete, readableLength } = request
  const isSmall = readableLength <= Math.min(TURN_BYTES_MIN, bytesMax)
  if (!complete || readableLength === 0 || !isSmall) return undefined
  return request.read() as Buffer
}

interface Collecting {
  readonly upload: Upload
  readonly bounds: BodyBounds
  /** What may come beyond the bounds. */
  readonly overheadBytes?: number
}

/** Receives a body. */
function receive(request: IncomingMessage, collecting: Collecting): Promise<Buffer[]> {
  const { upload } = collecting
  return new Promise((resolve, reject) => {
    const onClose = () => reject(new ClientGone())
    if (request.destroyed) return onClose()
    const { chunks, stop } = collect(request, collecting, reject)
    upload.beginReceiving(stop)
    request.on('end', () => {
      request.removeListener('close', onClose)
      upload.noteReceived()
      resolve(chunks)
    })
    request.on('close', onClose)
  })
}

/** Decompresses a body, and returns the share of the budget of what is decompressed. */
function unpack(
  packed: readonly Buffer[],
  packing: Packing,
  collecting: Collecting,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const unpacker = unpackerFor(packed[0], packing)
    const { chunks } = collect(unpacker, collecting, (reason) => {
      unpacker.destroy()
      reject(reason)
    })
    unpacker.on('end', () => resolve(joined(chunks)))
    unpacker.on('error', (cause) => {
      const detail = `The body is not valid ${packing}.`
      reject(new ServiceError('invalid_request', { detail, cause }))
    })
    for (const chunk of packed) {
      unpacker.write(chunk, () => {
        collecting.upload.give(chunk.length)
        giveBack(chunk)
      })
    }
    unpacker.end()
  })
}

/** Collects what a stream brings, in its user's turn, until it is stopped. */
function collect(
  stream: NodeJS.ReadableStream,
  { upload, bounds, overheadBytes = 0 }: Collecting,
  reject: (reason: unknown) => void,
) {
  const chunks: Buffer[] = []
  let bytes = 0
  const onData = (chunk: Buffer) => {
    bytes += chunk.length
    try {
      if (bytes > bounds.bytesMax + overheadBytes) throw tooLarge(bounds)
      chunks.push(chunk)
      const turn = upload.take(chunk.length)
      if (turn === undefined) return
      stream.pause()
      turn.then(() => stream.resume(), stop)
    } catch (error) {
      stop(error)
    }
  }
  const stop = (reason: unknown) => {
    stream.removeListener('data', onData)
    reject(reason)
  }
  stream.on('data', onData)
  return { chunks, stop }
}

function joined(chunks: Buffer[]): Buffer {
  if (chunks.length === 1) return chunks[0]!
  const bytes = Buffer.concat(chunks)
  chunks.forEach(giveBack)
  return bytes
}

/**
 * What the head of a request says of its body.
 *
 * @returns how it is compressed; `undefined`: it is not
 * @throws ServiceError `length_required`, `unsupported_media_type`, `unsupported_encoding`
 */
export function checkHead(
  request: IncomingMessage,
  response: ServerResponse,
  { type, packings }: BodyBounds,
): Packing | undefined {
  checkLength(request, response)
  const { headers } = request
  const mediaType = headers['content-type']
  if (type === 'json') checkJson(mediaType)
  if (type === 'form') checkForm(mediaType)
  const encoding = headers['content-encoding']?.trim().toLowerCase() || 'identity'
  if (encoding === 'identity') return undefined
  const packing = packings.find((name) => name === encoding || `x-${name}` === encoding)
  if (packing !== undefined) return packing
  response.setHeader('Accept-Encoding', packings.join(', ') || 'identity')
  throw new ServiceError('unsupported_encoding')
}

/**
 * Without a length HTTP takes the body for empty, and what follows for the next request.
 *
 * @throws ServiceError `length_required`, with which the connection ends
 */
export function checkLength(request: IncomingMessage, response: ServerResponse): void {
  const { 'content-length': length, 'transfer-encoding': coding } = request.headers
  if (length !== undefined || coding !== undefined) return
  endWithAnswer(request, response)
  throw new ServiceError('length_required')
}

/** @throws ServiceError `unsupported_media_type` unless it is JSON in UTF-8 */
function checkJson(header: string | undefined): void {
  if (header === 'application/json') return
  const [type = '', ...parameters] = (header ?? '').toLowerCase().split(';')
  const isJson = type.trim() === 'application/json'
  if (!isJson || !parameters.every(isUtf8OrNoCharset)) {
    throw new ServiceError('unsupported_media_type')
  }
}

function isUtf8OrNoCharset(parameter: string): boolean {
  const [name = '', value = ''] = parameter.split('=')
  return name.trim() !== 'charset' || /^\s*"?utf-?8"?\s*$/.test(value)
}

/** @throws ServiceError `unsupported_media_type` */
function checkForm(header = ''): void {
  const [type = ''] = header.toLowerCase().split(';')
  if (type.trim() === FORM_TYPE) return
  throw new ServiceError('unsupported_media_type', { detail: `Send ${FORM_TYPE}.` })
}

function unpackerFor(packed: Buffer | undefined, packing: Packing) {
  if (packing === 'gzip') return createGunzip()
  // Some clients send deflate without its zlib wrapper, whose first byte names the method: 8.
  const isWrapped = ((packed?.[0] ?? 0) & 0x0f) === 8
  return isWrapped ? createInflate() : createInflateRaw()
}
