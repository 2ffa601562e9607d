// What `verify` says at its end, also where it could not check everything.

import { StoreUnavailable } from '../domain/errors.ts'
import type { Finding, Report } from '../domain/finding.ts'

export interface Verdict {
  /** The first of them. */
  readonly findings: readonly Finding[]
  readonly findingsTotal: number
  readonly sensors: number
  readonly measurements: number
  readonly events: number
  /** Sensors that received data throughout, so that only bounds of their counts are known. */
  readonly moving: number
}

/** More are counted but not kept. */
const FINDINGS_MAX = 1_000

export class Findings {
  readonly findings: Finding[] = []
  findingsTotal = 0

  readonly report: Report = (finding) => {
    if (this.findingsTotal++ < FINDINGS_MAX) this.findings.push(finding)
  }
}

/** @throws the error itself unless it says that the store is out of reach */
export function reportUnreachable(error: unknown, where: string, report: Report): void {
  if (!(error instanceof StoreUnavailable)) throw error
  const problem = `it became unreachable, so the check is incomplete: ${error.message}`
  report({ check: 'counts', where, problem, remedy: 'Run this again when the store responds.' })
}
