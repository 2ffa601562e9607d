// The description of a route.

import type { ErrorCode } from '../domain/errors.ts'

export type Tag =
  | 'Measurements'
  | 'Sensors'
  | 'Account'
  | 'Sign-in'
  | 'Daemon tokens'
  | 'Operations'
  | 'Documents'
  | 'Chart page'

export interface AnswerDescription {
  readonly description: string
  /** A file of schemas/response/ without its ending; `undefined`: not JSON, or no body. */
  readonly schema?: string
  /** Media types of bodies other than JSON. */
  readonly texts?: readonly string[]
  /** Names of headers in the components. */
  readonly headers?: readonly string[]
}

export interface RouteDescription {
  readonly id: string
  readonly tag: Tag
  readonly summary: string
  readonly description?: string
  readonly answers: Readonly<Record<number, AnswerDescription>>
  readonly codes?: readonly ErrorCode[]
  /** Whether it resumes after the event that `Last-Event-ID` names. */
  readonly isResumable?: boolean
  /** Query or form parameters without a schema. */
  readonly fields?: Readonly<
    Record<string, { readonly description: string; readonly example: string }>
  >
}
