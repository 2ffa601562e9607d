// `retry` and `drop`, which `journal` and `refused` have for what they list: some by id, or all.

import { setImmediate } from 'node:timers/promises'
import { failed, usage } from '../operations/failure.ts'
import { idsReader } from './arguments.ts'
import { flag, several } from './command.ts'

const UNKNOWN_NAMED_MAX = 100

/** @param name the command that lists them @param items all of them */
export function choiceOf(name: string, items: string) {
  const list = `thermolog ${name} list`
  return {
    ids: several('[id...]', `ids, see \`${list}\``, idsReader(list)),
    all: flag('--all', `all ${items}`),
  }
}

interface Choice {
  readonly ids: readonly number[] | undefined
  readonly all: boolean
}

interface Known {
  /** The command that is carried out, such as `journal retry`. */
  readonly path: string
  /** One of what it lists. */
  readonly item: string
  /** The first thing from this id on. */
  readonly from: (id: number) => Promise<{ readonly id: number } | undefined>
}

/**
 * The ids of what is there, `undefined` for all.
 *
 * @throws OperationError if neither is chosen, or both, or something that is not there
 */
export async function chosenIds(
  { ids, all }: Choice,
  { path, item, from }: Known,
): Promise<readonly number[] | undefined> {
  const list = `${path.split(' ')[0]} list`
  if (all === (ids !== undefined)) {
    const problem = all ? '--all and ids exclude each other' : 'no id is named'
    throw usage(problem, `Name ids from \`thermolog ${list}\`, or use: thermolog ${path} --all`)
  }
  const unknown: number[] = []
  for (const id of new Set(ids)) {
    // Each is a read on the service's own thread: requests come in between.
    await setImmediate()
    if ((await from(id))?.id !== id) unknown.push(id)
  }
  if (unknown.length === 0) return ids && [...new Set(ids)]
  const named = unknown.slice(0, UNKNOWN_NAMED_MAX).join(', ')
  const more = unknown.length > UNKNOWN_NAMED_MAX ? ' and more' : ''
  const hint = `See \`thermolog ${list}\`. Nothing was changed.`
  throw failed(`no ${item} has the id ${named}${more}`, hint)
}
