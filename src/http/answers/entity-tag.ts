// Entity tags: what a client has already is not sent again.

import { hash } from 'node:crypto'
import type { Context } from 'koa'

const TAG_CHARACTERS = 22

/** A weak tag, as compressed and plain bodies share it, of a text that changes with the answer. */
export function entityTag(version: string): string {
  return `W/"${hash('sha256', version, 'base64url').slice(0, TAG_CHARACTERS)}"`
}

/** Whether `If-None-Match` names the tag; compared weakly, as RFC 9110 has it. */
export function isKnown({ req }: Context, tag: string): boolean {
  const header = req.headers['if-none-match']
  if (header === undefined) return false
  const opaque = tag.slice(2)
  return header.split(',').some((item) => {
    const known = item.trim()
    return known === '*' || known === tag || known === opaque
  })
}

/** Answers that nothing has changed. */
export function answerUnchanged(ctx: Context, tag: string): void {
  ctx.set('ETag', tag)
  ctx.status = 304
}
