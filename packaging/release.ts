// What is being packaged: the version, and the commit and its time.

import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describeCommit } from '../src/cli/git-commit.ts'

export const CHECKOUT = fileURLToPath(new URL('../', import.meta.url))

export interface Release {
  readonly version: string
  /** `undefined` outside a Git checkout. */
  readonly commit: string | undefined
  /** Seconds since 1970: the time of every file in an artefact. */
  readonly madeAtS: number
}

/** @throws Error if nothing says when it was made */
export function readRelease(): Release {
  const { version } = JSON.parse(readFileSync(`${CHECKOUT}package.json`, 'utf8')) as Release
  return { version, commit: describeCommit(CHECKOUT), madeAtS: timeOfCommit() }
}

function timeOfCommit(): number {
  const given = process.env['SOURCE_DATE_EPOCH']
  const options = { cwd: CHECKOUT, encoding: 'utf8' } as const
  const { stdout, stderr } = spawnSync('git', ['log', '-1', '--format=%ct'], options)
  const text = given ?? stdout
  if (/^\d+\n?$/.test(text)) return Number(text)
  const why = given === undefined ? (stderr?.trim() ?? 'git is missing') : `it is ${given}`
  throw new Error(
    `Set SOURCE_DATE_EPOCH to the seconds since 1970, or package a Git checkout (${why})`,
  )
}
