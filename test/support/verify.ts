// `thermolog verify` as a test asks it.

import { expect } from 'chai'
import { runCommand } from './command.ts'
import type { Environment } from './command.ts'

export interface VerifyAnswer {
  readonly clean: boolean
  readonly findings: readonly {
    readonly check: string
    readonly where: string
    readonly sensor_id: number | null
    readonly day: string | null
    readonly problem: string
    readonly remedy: string
  }[]
  readonly sensors: number
  readonly measurements: number
  readonly event_ids: number
  readonly moving_sensors: number
}

/** What it says, with the exit code that goes with it. */
export async function verify(
  dataDir: string,
  environment: Environment = {},
): Promise<VerifyAnswer> {
  const { exitCode, stdout, stderr } = await runCommand(dataDir, ['verify', '--json'], environment)
  expect(stdout, stderr).not.to.equal('')
  const answer = JSON.parse(stdout) as VerifyAnswer
  expect(exitCode, stderr).to.equal(answer.clean ? 0 : 1)
  return answer
}

/** @returns how many measurements there are */
export async function expectClean(dataDir: string, environment: Environment = {}): Promise<number> {
  const { clean, findings, measurements } = await verify(dataDir, environment)
  expect(clean, JSON.stringify(findings.slice(0, 5), undefined, 2)).to.equal(true)
  return measurements
}
