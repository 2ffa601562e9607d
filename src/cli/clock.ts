// `thermolog clock`: says that the clock is right, although it is before the newest receipt.

import type { Command } from 'commander'
import { formatSecond } from '../domain/time.ts'
import { example } from './arguments.ts'
import { withOperations } from './open-operations.ts'
import { printText } from './terminal/print.ts'

export function addCommands(program: Command): void {
  const clock = program
    .command('clock')
    .description('look after the clock that times of receipt are taken from')
    .addHelpText('after', example('thermolog clock accept'))
  clock
    .command('accept')
    .description('say that the clock is right, whatever was received until now')
    .addHelpText(
      'after',
      '\nWhere the clock was ahead for a while, what was received then is later than now, and the' +
        '\nservice takes nothing until it knows that the clock is right. Set the clock first.' +
        `\n${example('thermolog clock accept')}`,
    )
    .action(accept)
}

async function accept(): Promise<void> {
  const { nowMs, newestReceiptMs } = await withOperations((operations) =>
    operations.acceptClock({}),
  )
  const received =
    newestReceiptMs === null
      ? 'nothing was received yet'
      : `the newest measurement was received at ${formatSecond(newestReceiptMs)}`
  printText(`the clock is accepted: it is ${formatSecond(nowMs)}, and ${received}`)
}
