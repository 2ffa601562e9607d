// Goal: nothing is sent that is more than its row of the route tables says. Method: a table.

import { expect } from 'chai'
import { Readable } from 'node:stream'
import { checkAnswer } from '../../../src/http/answers/answer-kind.ts'
import type { AnswerKind } from '../../../src/http/call/call.ts'

const KIB_64 = 64 * 1_024
const SENT: Readonly<Record<string, unknown>> = {
  nothing: undefined,
  'an empty body': null,
  'a small text': 'x'.repeat(KIB_64),
  'a text': 'x'.repeat(KIB_64 + 1),
  'a text of few characters and more bytes': 'é'.repeat(KIB_64 / 2 + 1),
  'small bytes': Buffer.alloc(KIB_64),
  bytes: Buffer.alloc(KIB_64 + 1),
  'a stream': Readable.from([]),
}
const SMALL = ['nothing', 'an empty body', 'a small text', 'small bytes']
const WHOLE = Object.keys(SENT).filter((what) => what !== 'a stream')
const FIT: Readonly<Record<AnswerKind, readonly string[]>> = {
  small: SMALL,
  receipt: WHOLE,
  file: WHOLE,
  long: [...SMALL, 'a stream'],
}

describe('checkAnswer', () => {
  for (const [kind, fit] of Object.entries(FIT)) {
    it(`takes what is ${kind}, and nothing else`, () => {
      const taken = Object.entries(SENT).filter(([, body]) => isTaken(kind as AnswerKind, body))
      expect(taken.map(([what]) => what)).to.have.members(fit)
    })
  }
})

function isTaken(kind: AnswerKind, body: unknown): boolean {
  try {
    checkAnswer(kind, body)
    return true
  } catch {
    return false
  }
}
