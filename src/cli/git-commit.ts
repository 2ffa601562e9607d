// The commit of a checkout.

import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'

/** @returns `411ceda01234`, with `-dirty` where files differ from it; `undefined` without Git */
export function describeCommit(checkout: string): string | undefined {
  // Git would also find a repository around a folder that has none of its own.
  if (!existsSync(join(checkout, '.git'))) return undefined
  const args = ['describe', '--always', '--dirty', '--abbrev=12', '--exclude=*']
  const { status, stdout } = spawnSync('git', args, { cwd: checkout, encoding: 'utf8' })
  return status === 0 ? stdout.trim() : undefined
}
