// Reads request bodies: bounded, and decompressed if necessary.
//
// A body counts its decompressed bytes, and all bodies share one budget (upload-budget.ts), so many
// large bodies at once are rejected instead of filling the memory. A client that disconnects half
// way ends the read like any other end. Compressed bodies are received whole before they are
// decompressed: they are bounded too, and decompression does not depend on the connection. A user's
// are decompressed one after another: side by side they would all meet that user's share of the
// budget, and all be rejected half decompressed.

import { ClientGone } from '../answers/call.ts'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createGunzip, createInflate, createInflateRaw } from 'node:zlib'
import { ServiceError } from '../../domain/errors.ts'
import { giveBack } from '../../domain/give-back.ts'
import type { Clock } from '../../ports/system.ts'
import type { LetOthers } from './read-json.ts'
import { UploadBudget } from './upload-budget.ts'
import type { Upload } from './upload-budget.ts'

/** Compression can lengthen what it cannot shorten, by at most this much for bodies of our size. */
const COMPRESSION_OVERHEAD_BYTES_MAX = 64 * 1024

/** Larger bodies are parsed in turn. */
const TURN_BYTES_MIN = 16 * 1024

type Encoding = 'identity' | 'gzip' | 'deflate'

export interface BodyReaderSettings {
  readonly bodyBytesMax: number
  /** All bodies being read at the same time. */
  readonly inFlightBytesMax: number
}

/** A request whose body is to be read. */
export interface Sending {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** Whose share of the budget it takes; `undefined`: nobody's, because the user is not known. */
  readonly userId: number | undefined
}

type Parse<T> = (bytes: Buffer, letOthers: LetOthers) => T | Promise<T>

export class BodyReader {
  readonly #bodyBytesMax: number
  readonly #budget: UploadBudget
  readonly #turns = new Turns()
  /** Settled when the last compressed body of that user, so far, is parsed. */
  readonly #unpacked = new Map<number, Promise<unknown>>()
  readonly #letOthers: LetOthers = () => this.#turns.next()

  constructor({ bodyBytesMax, inFlightBytesMax }: BodyReaderSettings, clock: Clock) {
    this.#bodyBytesMax = bodyBytesMax
    this.#budget = new UploadBudget(inFlightBytesMax, clock)
  }

  /** Bytes of the budget in use. */
  get inFlightBytes(): number {
    return this.#budget.bytes
  }

  /**
   * The result of `parse` for the bytes of a JSON body. The bytes are invalid afterwards. Long
   * parsing gives others their turn.
   *
   * @throws ServiceError `unsupported_media_type`, `unsupported_encoding`, `body_too_large`,
   *   `invalid_request` (broken compression), `overloaded`, `request_timeout`
   * @throws ClientGone when the client disconnects half way
   */
  read<T>(sending: Sending, parse: Parse<T>): Promise<T> {
    checkMediaType(sending.request.headers['content-type'])
    return this.readAny(sending, parse)
  }

  /** The same for a body of any media type. */
  async readAny<T>(sending: Sending, parse: Parse<T>): Promise<T> {
    const { headers } = sending.request
    const encoding = encodingOf(headers['content-encoding'], sending.response)
    const isPacked = encoding !== 'identity'
    const bytesMax = this.#bodyBytesMax + (isPacked ? COMPRESSION_OVERHEAD_BYTES_MAX : 0)
    if (Number(headers['content-length'] ?? 0) > bytesMax) throw this.#tooLarge()
    const small = isPacked ? undefined : takeSmall(sending.request, bytesMax)
    if (small !== undefined) return parse(small, this.#letOthers)
    const upload = this.#budget.open(sending.userId)
    try {
      if (headers.expect !== undefined) sending.response.writeContinue()
      const sent = await this.#receive(sending.request, upload, bytesMax)
      if (!isPacked) return await this.#parse(sent, parse)
      return await this.#afterOthersOf(sending.userId, async () => {
        return this.#parse(await this.#unpack(sent, encoding, upload), parse)
      })
    } finally {
      upload.close()
    }
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

  async #afterOthersOf<T>(userId: number | undefined, work: () => Promise<T>): Promise<T> {
    if (userId === undefined) return work()
    const before = this.#unpacked.get(userId)
    const done = before === undefined ? work() : before.then(work, work)
    this.#unpacked.set(userId, done)
    try {
      return await done
    } finally {
      if (this.#unpacked.get(userId) === done) this.#unpacked.delete(userId)
    }
  }

  #receive(request: IncomingMessage, upload: Upload, bytesMax: number): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = []
      let bytes = 0
      const onData = (chunk: Buffer) => {
        bytes += chunk.length
        try {
          if (bytes > bytesMax) throw this.#tooLarge()
          upload.arrive(chunk.length)
        } catch (error) {
          return stop(error)
        }
        chunks.push(chunk)
      }
      const stop = (reason: unknown) => {
        request.removeListener('data', onData)
        reject(reason)
      }
      upload.onTooSlow(stop)
      const onClose = () => reject(new ClientGone())
      const onEnd = () => {
        request.removeListener('close', onClose)
        upload.noteReceived()
        if (chunks.length === 1) return resolve(chunks[0]!)
        resolve(Buffer.concat(chunks, bytes))
        chunks.forEach(giveBack)
      }
      if (request.destroyed) return onClose()
      request.on('data', onData)
      request.on('end', onEnd)
      request.on('close', onClose)
    })
  }

  #unpack(packed: Buffer, encoding: 'gzip' | 'deflate', upload: Upload): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const unpacker = unpackerFor(packed, encoding)
      const chunks: Buffer[] = []
      let bytes = 0
      unpacker.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        try {
          if (bytes > this.#bodyBytesMax) throw this.#tooLarge()
          upload.take(chunk.length)
        } catch (error) {
          unpacker.destroy()
          return reject(error)
        }
        chunks.push(chunk)
      })
      unpacker.on('end', () => resolve(Buffer.concat(chunks, bytes)))
      unpacker.on('error', (cause) => {
        const detail = `The body is not valid ${encoding}.`
        reject(new ServiceError('invalid_request', { detail, cause }))
      })
      unpacker.end(packed)
    })
  }

  #tooLarge(): ServiceError {
    return new ServiceError('body_too_large', { members: { limit: this.#bodyBytesMax } })
  }
}

/**
 * One per round of the event loop: a burst of batches would otherwise keep everyone waiting until
 * all of them are parsed.
 */
class Turns {
  readonly #waiting: (() => void)[] = []

  next(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#waiting.push(resolve) === 1) setImmediate(() => this.#take())
    })
  }

  #take(): void {
    this.#waiting.shift()?.()
    if (this.#waiting.length > 0) setImmediate(() => this.#take())
  }
}

/** A small body that came with its head, as those of single measurements do: it takes no turns. */
function takeSmall(request: IncomingMessage, bytesMax: number): Buffer | undefined {
  const { complete, readableLength } = request
  const isSmall = readableLength <= Math.min(TURN_BYTES_MIN, bytesMax)
  if (!complete || readableLength === 0 || !isSmall) return undefined
  return request.read() as Buffer
}

/** @throws ServiceError `unsupported_media_type` unless it is JSON in UTF-8 */
export function checkMediaType(header: string | undefined): void {
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

/** @throws ServiceError `unsupported_encoding` */
export function encodingOf(header: string | undefined, response: ServerResponse): Encoding {
  if (header === undefined) return 'identity'
  const encoding = header.trim().toLowerCase()
  if (encoding === '' || encoding === 'identity') return 'identity'
  if (encoding === 'gzip' || encoding === 'x-gzip') return 'gzip'
  if (encoding === 'deflate') return 'deflate'
  response.setHeader('Accept-Encoding', 'gzip, deflate')
  throw new ServiceError('unsupported_encoding')
}

function unpackerFor(packed: Buffer, encoding: 'gzip' | 'deflate') {
  if (encoding === 'gzip') return createGunzip()
  // Some clients send deflate without its zlib wrapper, whose first byte names the method: 8.
  const isWrapped = ((packed[0] ?? 0) & 0x0f) === 8
  return isWrapped ? createInflate() : createInflateRaw()
}
