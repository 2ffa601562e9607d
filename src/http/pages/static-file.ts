// Files that are the same for everyone: compressed once, and sent only to clients that do not have
// them.

import { promisify } from 'node:util'
import { constants, gzip } from 'node:zlib'
import { answerUnchanged, entityTag, isKnown } from '../call/call.ts'
import type { Call } from '../call/call.ts'

/** By the ending of the name. */
const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  json: 'application/json; charset=utf-8',
  // Text, which browsers show.
  md: 'text/plain; charset=utf-8',
  svg: 'image/svg+xml',
  png: 'image/png',
  webmanifest: 'application/manifest+json',
}

export interface StaticFile {
  readonly type: string
  readonly tag: string
  readonly plain: Buffer
  /** `undefined`: compression is not worth it. */
  readonly zipped: Buffer | undefined
}

/** @param name whose ending tells the type */
export async function staticFile(name: string, content: string | Buffer): Promise<StaticFile> {
  const plain = Buffer.from(content)
  const type = TYPES[name.replace(/^.*\./, '')] ?? ''
  const zip = promisify(gzip)
  const isText = type !== 'image/png'
  const zipped = isText ? await zip(plain, { level: constants.Z_BEST_COMPRESSION }) : undefined
  return { type, tag: entityTag(plain.toString('latin1')), plain, zipped }
}

/** The last part of a file's path. */
export function nameOf({ pathname }: URL): string {
  return pathname.replace(/^.*\//, '')
}

/** @param cacheControl how long the client may keep it without asking */
export function answerFile(
  { ctx }: Call,
  { type, tag, plain, zipped }: StaticFile,
  cacheControl: string,
): void {
  ctx.set('Cache-Control', cacheControl)
  if (isKnown(ctx, tag)) return answerUnchanged(ctx, tag)
  ctx.set('ETag', tag)
  ctx.set('Content-Type', type)
  ctx.vary('Accept-Encoding')
  const isZipped = zipped !== undefined && ctx.acceptsEncodings('gzip', 'identity') === 'gzip'
  if (isZipped) ctx.set('Content-Encoding', 'gzip')
  ctx.body = isZipped ? zipped : plain
}
