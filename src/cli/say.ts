// What a command says on standard error besides its results: why it failed, or what looks wrong.

import { logForm } from '../config-environment.ts'
import { priorityOf } from '../system/log.ts'
import { escapedLines } from './terminal/print.ts'

/** @param text may have several lines */
export function say(text: string, level: 'warn' | 'error'): void {
  const priority = logForm(2) === 'journal' ? priorityOf(level) : ''
  process.stderr.write(`thermolog: ${escapedLines(text)}\n`.replace(/^(?!$)/gm, priority))
}
