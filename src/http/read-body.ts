// Reading request bodies: JSON, bounded, decompressed when need be.
//
// A body counts its decompressed bytes, and all bodies together have a budget, so that many large
// ones at a time are turned away instead of filling the memory. A client that goes away in the
// middle settles the reading like any other end. Compressed bodies are taken in whole before they
// are unpacked: they are bounded as well, and nothing of a connection hangs on the unpacking.

import { isUtf8 } from 'node:buffer'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createGunzip, createInflate, createInflateRaw } from 'node:zlib'
import { ServiceError } from '../domain/errors.ts'
import { giveBack } from '../domain/give-back.ts'
import { refusalError } from '../domain/refusal.ts'
import { ClientGone } from './errors.ts'

/** Compression can lengthen what it cannot shorten, by this much at most for bodies of our size. */
const COMPRESSION_OVERHEAD_BYTES_MAX = 64 * 1024

/** Larger bodies are taken apart in turn. */
const TURN_BYTES_MIN = 16 * 1024

type Encoding = 'identity' | 'gzip' | 'deflate'

export interface BodyReaderSettings {
  readonly bodyBytesMax: number
  /** All bodies that are being read at a time. */
  readonly inFlightBytesMax: number
}

export class BodyReader {
  readonly #settings: BodyReaderSettings
  readonly #turns = new Turns()
  #inFlightBytes = 0

  constructor(settings: BodyReaderSettings) {
    this.#settings = settings
  }

  /** Bytes of the budget that are taken. */
  get inFlightBytes(): number {
    return this.#inFlightBytes
  }

  /**
   * The body as what its JSON says.
   *
   * @throws ServiceError as `read` does, and `malformed_json`
   * @throws ClientGone when the client goes away in the middle
   */
  readJson(request: IncomingMessage, response: ServerResponse): Promise<unknown> {
    return this.read(request, response, parseJson)
  }

  /**
   * The body as what `parse` makes of its bytes, which are plain JSON if they are JSON at all, and
   * which are gone afterwards.
   *
   * @throws ServiceError `unsupported_media_type`, `unsupported_encoding`, `body_too_large`,
   *   `invalid_request` (broken compression), `overloaded`
   * @throws ClientGone when the client goes away in the middle
   */
  async read<T>(
    request: IncomingMessage,
    response: ServerResponse,
    parse: (bytes: Buffer) => T,
  ): Promise<T> {
    checkMediaType(request.headers['content-type'])
    const encoding = encodingOf(request.headers['content-encoding'], response)
    const { bodyBytesMax } = this.#settings
    const bytesMax =
      encoding === 'identity' ? bodyBytesMax : bodyBytesMax + COMPRESSION_OVERHEAD_BYTES_MAX
    const announcedBytes = Number(request.headers['content-length'] ?? 0)
    if (announcedBytes > bytesMax) throw this.#tooLarge()
    const share = new BudgetShare(this)
    try {
      share.growTo(announcedBytes)
      if (request.headers.expect !== undefined) response.writeContinue()
      const sent = await this.#collect(request, share, bytesMax)
      const body = encoding === 'identity' ? sent : await this.#unpack(sent, encoding, share)
      if (body.length > TURN_BYTES_MIN) await this.#turns.next()
      try {
        return parse(body)
      } finally {
        giveBack(body)
      }
    } finally {
      share.free()
    }
  }

  /** @throws ServiceError `overloaded` when the budget has no room for so much */
  take(bytes: number): void {
    if (this.#inFlightBytes + bytes > this.#settings.inFlightBytesMax) {
      throw refusalError('overloaded')
    }
    this.#inFlightBytes += bytes
  }

  give(bytes: number): void {
    this.#inFlightBytes -= bytes
  }

  #collect(request: IncomingMessage, share: BudgetShare, bytesMax: number): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = []
      let bytes = 0
      const onData = (chunk: Buffer) => {
        bytes += chunk.length
        try {
          if (bytes > bytesMax) throw this.#tooLarge()
          share.growTo(bytes)
        } catch (error) {
          // What still comes is thrown away, so that the client gets to read the answer.
          request.removeListener('data', onData)
          request.resume()
          return reject(error)
        }
        chunks.push(chunk)
      }
      const onClose = () => reject(new ClientGone())
      const onEnd = () => {
        request.removeListener('close', onClose)
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

  #unpack(packed: Buffer, encoding: 'gzip' | 'deflate', share: BudgetShare): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const unpacker = unpackerFor(packed, encoding)
      const chunks: Buffer[] = []
      let bytes = 0
      unpacker.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        try {
          if (bytes > this.#settings.bodyBytesMax) throw this.#tooLarge()
          share.growTo(packed.length + bytes)
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
    return new ServiceError('body_too_large', { members: { limit: this.#settings.bodyBytesMax } })
  }
}

/**
 * One a round of the event loop: batches that come all at once would keep everybody else waiting
 * until all of them are taken apart.
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

/** What one body has taken of the budget. */
class BudgetShare {
  readonly #reader: BodyReader
  #bytes = 0

  constructor(reader: BodyReader) {
    this.#reader = reader
  }

  growTo(bytes: number): void {
    if (bytes <= this.#bytes) return
    this.#reader.take(bytes - this.#bytes)
    this.#bytes = bytes
  }

  free(): void {
    this.#reader.give(this.#bytes)
    this.#bytes = 0
  }
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
  // Some clients send deflate without its zlib wrapper, whose first byte tells the method: 8.
  const isWrapped = ((packed[0] ?? 0) & 0x0f) === 8
  return isWrapped ? createInflate() : createInflateRaw()
}

/** @throws ServiceError `malformed_json` */
export function parseJson(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) {
    throw new ServiceError('malformed_json', { detail: 'The body is not valid UTF-8.' })
  }
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch (cause) {
    throw new ServiceError('malformed_json', { cause })
  }
}
