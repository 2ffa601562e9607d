// What a route takes for a body. Each row of the route tables says it, and the gate (gate.ts)
// reads no body of a route that does not.

import {
  requestBodyBytesMax,
  signInBodyBytesMax,
  statementFormBytesMax,
} from '../../domain/limits.ts'

export type Packing = 'gzip' | 'deflate'

export interface BodyBounds {
  /** `lines` come with any media type; `none`: a body is ignored. */
  readonly type: 'none' | 'json' | 'form' | 'lines'
  /** In which it may be compressed. */
  readonly packings: readonly Packing[]
  /** After decompression. */
  readonly bytesMax: number
}

/** What the gate is told of a request, and what it notes. */
export interface BodyState {
  /** What its route takes. */
  bounds?: BodyBounds
  /** Closed when the request is answered. */
  body?: { close(): void }
}

const anyPacking: readonly Packing[] = ['gzip', 'deflate']

export const noBody: BodyBounds = { type: 'none', packings: [], bytesMax: 0 }

export const jsonBody: BodyBounds = {
  type: 'json',
  packings: anyPacking,
  bytesMax: requestBodyBytesMax,
}

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
