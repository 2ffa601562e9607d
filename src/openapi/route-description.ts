// The description of a route, and the parts of the document in which it may stand.

import type { ErrorCode } from '../domain/errors.ts'

/** What the document is divided into, and what it says of each part. */
export const TAGS = {
  Measurements: 'Submitting measurements, and reading them raw or in buckets.',
  'InfluxDB-compatible writes':
    'What senders to InfluxDB call, such as Telegraf; they need only the URL and a token. ' +
    'Responses are InfluxDB’s.',
  Sensors: 'Listing, naming, correcting and deleting sensors. A first measurement registers one.',
  Account: 'The token of a request and its user.',
  'Sign-in': 'How a person gets a mobile token: OpenID Connect with PKCE.',
  'Daemon tokens': 'Tokens that people make for their devices.',
  Operations: 'For operators and load balancers.',
  Documents: 'This description, and explanations of errors.',
  'Chart page': 'A page that shows your sensors after you sign in; it calls the mobile API.',
} as const

export type Tag = keyof typeof TAGS

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
