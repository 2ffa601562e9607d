// `thermolog doctor`: whether everything that the service needs is right, and what to do.

import type { Command } from 'commander'
import type { SettingsReport } from '../config.ts'
import { readServiceUnits } from '../config-environment.ts'
import type { CheckResult } from '../doctor/check.ts'
import { failed } from '../operations/operations.ts'
import { example } from './arguments.ts'
import { reportOnSettings } from './read-settings.ts'
import { asTypedHere, counted, printJson, printTable, printText } from './terminal/print.ts'
import { versionText } from './version.ts'

const LABELS = { wrong: 'WRONG', warning: 'warning', ok: 'ok' }
const LABEL_WIDTH = 9
const CHECK_WIDTH = 10

export function addCommands(program: Command): void {
  program
    .command('doctor')
    .description('check settings, clock, disk, memory, store, providers, proxy, port and backup')
    .option('--json', 'print the results as JSON')
    .action(doctor)
    .addHelpText(
      'after',
      '\nIt changes nothing, and can run while the service does. Exit codes: 0 nothing is wrong,' +
        ` 1 something is.\n${example('thermolog doctor')}`,
    )
}

async function doctor({ json }: { readonly json?: boolean }): Promise<void> {
  const report = reportOnSettings()
  const { bySeverity, checkSettings, examine } = await import('../doctor/doctor.ts')
  const ofSettings = checkSettings(report.problems, report.warnings)
  const { config } = report
  const rest = config === undefined ? [] : await examine(config, readServiceUnits())
  const results = bySeverity([...ofSettings, ...rest])
  if (json === true) printJson(jsonOf(report, results))
  else show(report, results)
  const wrong = results.filter(({ state }) => state === 'wrong').length
  if (wrong > 0) throw failed(`${counted(wrong, 'thing')} ${wrong === 1 ? 'is' : 'are'} wrong`)
}

function show({ understood }: SettingsReport, results: readonly CheckResult[]): void {
  printText(`Thermolog ${versionText()}\n`)
  for (const { check, state, message, remedy } of results) {
    const label = LABELS[state].padEnd(LABEL_WIDTH) + check.padEnd(CHECK_WIDTH)
    printText(`${label} ${asOneLine(message)}`)
    if (remedy !== undefined) printText(`${''.padEnd(LABEL_WIDTH)}→ ${asOneLine(remedy)}`)
  }
  printText('')
  const rows = understood.map(({ name, value, source }) => {
    return { setting: name, value: value ?? '(hidden)', from: source }
  })
  printTable(rows, 'no settings')
}

function asOneLine(text: string): string {
  return asTypedHere(text.replaceAll(/[\r\n]+/g, ' '))
}

function jsonOf({ understood }: SettingsReport, results: readonly CheckResult[]) {
  return {
    version: versionText(),
    state: results[0]?.state ?? 'ok',
    checks: results.map(({ check, state, message, remedy }) => {
      return { check, state, message, remedy: remedy ?? null }
    }),
    settings: understood.map(({ name, value, source }) => ({ name, value: value ?? null, source })),
  }
}
