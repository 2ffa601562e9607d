// Users and groups of the system by name or number.

import { readFileSync } from 'node:fs'

export interface Account {
  readonly uid: number
  readonly gid: number
  readonly name: string
  readonly home: string
}

/**
 * @param group by default the user's own
 * @throws Error if there is no such user or group
 */
export function readAccount(user: string, group?: string): Account {
  const [name, , uid, ownGroup, , home] = lineOf('/etc/passwd', user)
  const [, , gid] = group === undefined ? [null, null, ownGroup] : lineOf('/etc/group', group)
  return { uid: Number(uid), gid: Number(gid), name: name ?? user, home: home || '/' }
}

function lineOf(file: string, nameOrId: string): readonly string[] {
  const lines = readFileSync(file, 'utf8').split('\n')
  const entries = lines.map((line) => line.split(':')).filter(([, , id]) => /^\d+$/.test(id ?? ''))
  const found =
    entries.find(([name]) => name === nameOrId) ?? entries.find(([, , id]) => id === nameOrId)
  if (found === undefined) throw new Error(`${nameOrId} is not in ${file}`)
  return found
}
