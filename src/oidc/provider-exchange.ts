// One HTTP exchange with an identity provider: over https or on loopback, without following
// redirects, with a bounded JSON response, all within the time of the caller's signal.

import { isSecureUrl } from '../domain/secure-url.ts'

/** Discovery, key sets and tokens are a few KB. */
const ANSWER_BYTES_MAX = 256 * 1024

/** The provider could not be reached, or its response is unusable. The message is for the log. */
export class ProviderFault extends Error {}

export interface ProviderAnswer {
  readonly status: number
  /** Of the header `Date`. */
  readonly date: string | null
  /** The members of the JSON object; none if the body is anything else. */
  readonly members: Readonly<Record<string, unknown>>
}

export interface ProviderRequest {
  readonly method?: 'GET' | 'POST'
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as a form. */
  readonly form?: URLSearchParams
}

/**
 * @throws ProviderFault if it cannot be reached, redirects or responds with too much
 * @throws DOMException `TimeoutError` or `AbortError` when the signal ends it
 */
export async function askProvider(
  url: string,
  request: ProviderRequest,
  signal: AbortSignal,
): Promise<ProviderAnswer> {
  const { status, date, text } = await fetchText(url, request, signal)
  return { status, date, members: membersOf(text) }
}

/** Like `askProvider`, with the body as bytes. */
export async function fetchText(
  url: string,
  { method = 'GET', headers = {}, form }: ProviderRequest,
  signal: AbortSignal,
): Promise<{ status: number; date: string | null; text: string }> {
  if (!isSecureUrl(url)) throw new ProviderFault('a URL is neither https nor on loopback')
  try {
    const response = await fetch(url, {
      method,
      headers: { accept: 'application/json', ...headers },
      redirect: 'manual',
      signal,
      ...(form !== undefined && { body: form }),
    })
    const { status } = response
    if (status >= 300 && status < 400) throw new ProviderFault('it redirects')
    // A cached response has an old date.
    const date = response.headers.has('age') ? null : response.headers.get('date')
    return { status, date, text: await readBounded(response) }
  } catch (error) {
    if (signal.aborted) throw signal.reason
    if (error instanceof ProviderFault) throw error
    throw new ProviderFault(`it cannot be reached: ${reasonOf(error)}`, { cause: error })
  }
}

async function readBounded({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  if (body === null) return ''
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    bytes += chunk.length
    // Leaving the loop cancels the rest.
    if (bytes > ANSWER_BYTES_MAX) throw new ProviderFault('a response is too long')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function membersOf(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

/** `fetch` puts the actual reason into the cause of its error. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error
  const { code, message } = cause as { readonly code?: string; readonly message?: string }
  return code ?? message ?? 'no reason is known'
}
