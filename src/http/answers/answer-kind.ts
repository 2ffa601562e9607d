// What an answer may be. Each row of the route tables says it, and nothing else is sent: an answer
// is bounded before it is made, since its client may never take it.
//
// - A small one has at most 64 KiB.
// - A receipt says what became of a submission: nothing may keep it back once measurements are
//   stored. It is bounded by its request; one that is not small stays in its user's share of the
//   bodies (body/upload-budget.ts) until it is taken, and so does the problem that a batch may be
//   answered with, of at most 256 KiB. All other problems are small.
// - A file has the same bytes for everyone, which are in memory once.
// - A long one takes a place before anything is read for it, and keeps it until it is taken: among
//   those of a user and of all (long-answers.ts), or among the streams of live events.

import { Readable } from 'node:stream'
import { smallAnswerBytesMax } from '../../domain/limits.ts'
import type { AnswerKind } from '../call/call.ts'

/** @throws Error for an answer that is not what its row says */
export function checkAnswer(kind: AnswerKind, body: unknown): void {
  const isStream = body instanceof Readable
  const isFit = isStream ? kind === 'long' : kind === 'receipt' || kind === 'file' || isSmall(body)
  if (isFit) return
  const found = isStream ? 'a stream' : `${bytesOf(body)} bytes`
  throw new Error(`BUG: an answer of kind ${kind} is ${found}`)
}

/** Whether an answer has no more than a small one. */
export function isSmall(body: unknown): boolean {
  return bytesOf(body) <= smallAnswerBytesMax
}

/** Of an answer that is made whole. */
export function bytesOf(body: unknown): number {
  if (typeof body === 'string') return Buffer.byteLength(body)
  return Buffer.isBuffer(body) ? body.length : 0
}
