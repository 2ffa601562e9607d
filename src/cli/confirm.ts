// Asks before measurements are deleted: only a backup can bring them back.

import { createInterface } from 'node:readline'
import { escaped } from '../domain/escaped.ts'
import { failed, usage } from '../operations/operations.ts'

export interface DeletionOptions {
  /** Delete without asking. */
  readonly yes?: boolean
}

/**
 * Asks a person to confirm a deletion.
 *
 * @param preview what would be deleted, `undefined` for nothing; not called with `--yes`
 * @throws OperationError unless the answer is yes, also if there is no terminal to ask on
 */
export async function confirmDeletion(
  { yes }: DeletionOptions,
  preview: () => Promise<string | undefined>,
): Promise<void> {
  if (yes === true) return
  const what = await preview()
  if (what === undefined) return
  if (!process.stdin.isTTY || !process.stderr.isTTY) {
    throw usage(`this permanently deletes ${what}`, 'Add --yes: there is no terminal to ask on.')
  }
  const answer = await ask(`This permanently deletes ${escaped(what)}.\nType yes to continue: `)
  if (answer?.trim().toLowerCase() !== 'yes') throw failed('nothing was deleted')
}

/** @returns `undefined` if the input ends or is interrupted */
function ask(question: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const terminal = createInterface({ input: process.stdin, output: process.stderr })
    terminal.once('close', () => resolve(undefined))
    terminal.question(question, (answer) => {
      resolve(answer)
      terminal.close()
    })
  })
}
