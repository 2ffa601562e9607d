// `thermolog clock`: says that the clock is right, although it is before the newest receipt.

import { formatSecond } from '../domain/time.ts'
import { usage } from '../operations/failure.ts'
import { operatorCommand } from './context.ts'

const accept = operatorCommand({
  path: 'clock accept',
  help: 'say that the clock is right, whatever was received until now',
  details:
    'Where the clock was ahead for a while, what was received then is later than now, and the\n' +
    'service takes nothing until it knows that the clock is right. Set the clock first.',
  example: 'thermolog clock accept',
  arguments: {},
  run: async ({ clock, ownClock }) => {
    if (ownClock === undefined) throw usage('the clock that counts is that of the database')
    const newestReceiptMs = (await ownClock.accept()) ?? null
    return { nowMs: clock.nowMs(), newestReceiptMs }
  },
  present: ({ nowMs, newestReceiptMs }) => {
    const received =
      newestReceiptMs === null
        ? 'nothing was received yet'
        : `the newest measurement was received at ${formatSecond(newestReceiptMs)}`
    return { lines: [`the clock is accepted: it is ${formatSecond(nowMs)}, and ${received}`] }
  },
})

export const commands = [accept] as const
