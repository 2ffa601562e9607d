// `retry` and `drop`, which `journal` and `refused` have for what they list: some by id, or all.

import { setImmediate } from 'node:timers/promises'
import { failed, usage } from '../operations/failure.ts'
import { idsReader } from './arguments.ts'
import { flag, several } from './command.ts'

const UNKNOWN_NAMED_MAX = 100

interface Choice {
  readonly ids: readonly number[] | undefined
  readonly all: boolean
}

/** @param path of the command, such as `journal retry` @param items all that it may be about */
export function choiceOf(path: string, items: string) {
  const list = listOf(path)
  return {
    arguments: {
      ids: several('[id...]', `ids, see \`${list}\``, idsReader(list)),
      all: flag('--all', `all ${items}`),
    },
    check: ({ ids, all }: Choice) => {
      if (all !== (ids !== undefined)) return
      const problem = all ? '--all and ids exclude each other' : 'no id is named'
      throw usage(problem, `Name ids from \`${list}\`, or use: thermolog ${path} --all`)
    },
  }
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
 * @throws OperationError about ids of nothing that is there
 */
export async function chosenIds(
  { ids }: Choice,
  { path, item, from }: Known,
): Promise<readonly number[] | undefined> {
  const unknown: number[] = []
  for (const id of new Set(ids)) {
    // Each is a read on the service's own thread: requests come in between.
    await setImmediate()
    if ((await from(id))?.id !== id) unknown.push(id)
  }
  if (unknown.length === 0) return ids && [...new Set(ids)]
  const named = unknown.slice(0, UNKNOWN_NAMED_MAX).join(', ')
  const more = unknown.length > UNKNOWN_NAMED_MAX ? ' and more' : ''
  const hint = `See \`${listOf(path)}\`. Nothing was changed.`
  throw failed(`no ${item} has the id ${named}${more}`, hint)
}

/** The command that lists what another one is about. */
function listOf(path: string): string {
  return `thermolog ${path.split(' ')[0]} list`
}
