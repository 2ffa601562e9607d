// promtool, Prometheus's own judge of metrics, rules and settings, where it is installed.

import { spawnSync } from 'node:child_process'
import { leaveOut } from './left-out.ts'

export interface Verdict {
  readonly exitCode: number | null
  /** All that it says. */
  readonly output: string
}

/** Leaves out the test where there is no promtool. */
export function needPromtool(test: Mocha.Context): void {
  if (spawnSync('promtool', ['--version']).error !== undefined) leaveOut(test, 'promtool')
}

export function promtool(args: readonly string[], input = ''): Verdict {
  const { status, stdout, stderr } = spawnSync('promtool', args, { input, encoding: 'utf8' })
  return { exitCode: status, output: stdout + stderr }
}
