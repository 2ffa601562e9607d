// `thermolog doctor`: whether everything that the service needs is right, and what to do.

import type { Shown } from '../commands/command.ts'
import type { SettingsReport } from '../config.ts'
import { readServiceUnits } from '../config-environment.ts'
import type { CheckResult } from '../doctor/check.ts'
import { counted } from '../domain/grouped.ts'
import { failed } from '../operations/failure.ts'
import { localCommand } from './local-command.ts'
import { reportOnSettings } from './read-settings.ts'
import { asTypedHere } from './terminal/terminal.ts'
import { versionText } from './version.ts'

const LABELS = { wrong: 'WRONG', warning: 'warning', ok: 'ok' }
const LABEL_WIDTH = 9
const CHECK_WIDTH = 10

interface Examination {
  readonly version: string
  readonly report: SettingsReport
  readonly results: readonly CheckResult[]
}

export const commands = [
  localCommand({
    path: 'doctor',
    help: 'check settings, clock, disk, memory, store, providers, proxy, port and backup',
    details:
      'It changes nothing, and can run while the service does. Exit codes: 0 nothing is wrong,' +
      ' 1 something is.',
    example: 'thermolog doctor',
    json: 'print the results as JSON',
    arguments: {},
    run: async (terminal): Promise<Examination> => {
      const report = reportOnSettings(terminal)
      const { bySeverity, checkSettings, examine } = await import('../doctor/doctor.ts')
      const ofSettings = checkSettings(report.problems, report.warnings)
      const { config } = report
      const units = readServiceUnits(terminal.io)
      const rest = config === undefined ? [] : await examine(config, units)
      const results = bySeverity([...ofSettings, ...rest])
      return { version: versionText(), report, results }
    },
    present: showExamination,
  }),
] as const

function showExamination(examination: Examination): Shown {
  const { version, report, results } = examination
  const wrong = results.filter(({ state }) => state === 'wrong').length
  const rows = report.understood.map(({ name, value, source }) => {
    return { setting: name, value: value ?? '(hidden)', from: source }
  })
  return {
    json: jsonOf(examination),
    lines: [
      `Thermolog ${version}\n`,
      ...results.flatMap(linesOf),
      '',
      { rows, whenEmpty: 'no settings' },
    ],
    ...(wrong > 0 && {
      failure: failed(`${counted(wrong, 'thing')} ${wrong === 1 ? 'is' : 'are'} wrong`),
    }),
  }
}

function linesOf({ check, state, message, remedy }: CheckResult): string[] {
  const label = LABELS[state].padEnd(LABEL_WIDTH) + check.padEnd(CHECK_WIDTH)
  const said = `${label} ${asOneLine(message)}`
  return remedy === undefined ? [said] : [said, `${''.padEnd(LABEL_WIDTH)}→ ${asOneLine(remedy)}`]
}

function asOneLine(text: string): string {
  return asTypedHere(text.replaceAll(/[\r\n]+/g, ' '))
}

function jsonOf({ version, report, results }: Examination) {
  return {
    version,
    state: results[0]?.state ?? 'ok',
    checks: results.map(({ check, state, message, remedy }) => {
      return { check, state, message, remedy: remedy ?? null }
    }),
    settings: report.understood.map(({ name, value, source }) => {
      return { name, value: value ?? null, source }
    }),
  }
}
