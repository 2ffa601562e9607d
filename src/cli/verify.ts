// `thermolog verify`: checks that everything acknowledged is stored, once and correctly.

import type { Command } from 'commander'
import type { Verdict } from '../data-dir/verdict.ts'
import { describeFinding, formatDay } from '../domain/finding.ts'
import { grouped } from '../domain/grouped.ts'
import type { Finding } from '../domain/finding.ts'
import { failed } from '../operations/operations.ts'
import type { OperationError } from '../operations/operations.ts'
import { example } from './arguments.ts'
import { asTypedHere, counted, printJson, printText, readableTime } from './terminal/print.ts'
import { StepProgress } from './terminal/progress.ts'
import { readSettingsWithData } from './read-settings.ts'

export function addCommands(program: Command): void {
  program
    .command('verify')
    .description('check that journal, ledger, measurements and summaries agree')
    .option('--archive <file>', 'check a backup, without DATA_DIR; - is standard input')
    .option('--json', 'print the findings as JSON')
    .action(verify)
    .addHelpText(
      'after',
      '\nIt only reads, and can run while the service does. Exit codes: 0 clean, 1 not.' +
        `\n${example('thermolog verify --archive thermolog-2026-11-20.tar')}`,
    )
}

interface VerifyOptions {
  readonly archive?: string
  readonly json?: boolean
}

async function verify({ archive, json }: VerifyOptions): Promise<void> {
  const progress = new StepProgress()
  try {
    const verdict = await (archive === undefined
      ? verdictOnData(progress)
      : verdictOnArchive(archive, progress))
    progress.end()
    if (json === true) printJson(jsonOf(verdict))
    else sayVerdict(verdict)
    if (verdict.findingsTotal > 0) throw isWrong(verdict)
  } finally {
    progress.end()
  }
}

async function verdictOnData(progress: StepProgress): Promise<Verdict> {
  const config = await readSettingsWithData()
  const { database } = config
  if (database === undefined) {
    const { verifyData } = await import('../data-dir/verify.ts')
    return verifyData(config, progress)
  }
  const { verifyDatabase } = await import('../data-dir/verify-database.ts')
  return verifyDatabase(database, progress)
}

async function verdictOnArchive(file: string, progress: StepProgress): Promise<Verdict> {
  const { verifyArchiveFile } = await import('../data-dir/verify-archive.ts')
  const verdict = await verifyArchiveFile(file, progress)
  const { store, files, taken_at: takenAt } = verdict.manifest
  progress.note(`a backup taken at ${readableTime(takenAt)}`)
  if (files['measurements.db'] === undefined) {
    progress.note(`not checked: the measurements, which are in ${JSON.stringify(store)}`)
  }
  return verdict
}

function sayVerdict(verdict: Verdict): void {
  const { findings, findingsTotal, sensors, measurements, events, moving } = verdict
  for (const finding of findings) printText(asTypedHere(describeFinding(finding)))
  const checked = `${counted(measurements, 'measurement')} of ${counted(sensors, 'sensor')}`
  printText(`checked ${checked} and ${counted(events, 'event id')}`)
  if (moving > 0) {
    const unsettled = `${counted(moving, 'sensor')} never settled`
    printText(`${unsettled}: the newest days are right but for what waits in the journal`)
  }
  if (findingsTotal === 0) printText('nothing is wrong')
}

function isWrong({ findings, findingsTotal }: Verdict): OperationError {
  const more = findingsTotal - findings.length
  const unnamed = more === 0 ? '' : `, ${grouped(more)} not listed`
  const message = `${counted(findingsTotal, 'thing')} ${findingsTotal === 1 ? 'is' : 'are'} wrong`
  return failed(`${message}${unnamed}`)
}

function jsonOf(verdict: Verdict) {
  const { sensors, measurements, events, moving } = verdict
  return {
    clean: verdict.findingsTotal === 0,
    findings_total: verdict.findingsTotal,
    findings: verdict.findings.map(jsonOfFinding),
    sensors,
    measurements,
    event_ids: events,
    moving_sensors: moving,
  }
}

function jsonOfFinding({ check, where, sensorId, dayMs, problem, remedy }: Finding) {
  const day = dayMs === undefined ? null : formatDay(dayMs)
  return { check, where, sensor_id: sensorId ?? null, day, problem, remedy }
}
