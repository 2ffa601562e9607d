// `thermolog verify`: checks that everything acknowledged is stored, once and correctly.

import { readText } from '../commands/arguments.ts'
import { optional } from '../commands/command.ts'
import type { Shown } from '../commands/command.ts'
import type { Verdict } from '../data-dir/verdict.ts'
import { describeFinding, formatDay } from '../domain/finding.ts'
import { counted, grouped } from '../domain/grouped.ts'
import type { Finding } from '../domain/finding.ts'
import { failed } from '../operations/failure.ts'
import type { OperationError } from '../operations/failure.ts'
import { localCommand } from './local-command.ts'
import { readSettingsWithData } from './read-settings.ts'
import { asTypedHere, readableTime } from './terminal/terminal.ts'
import type { Terminal } from './terminal/terminal.ts'
import { StepProgress } from './terminal/progress.ts'

const STDIN = '-'

export const commands = [
  localCommand({
    path: 'verify',
    help: 'check that journal, ledger, measurements and summaries agree',
    details: 'It only reads, and can run while the service does. Exit codes: 0 clean, 1 not.',
    example: 'thermolog verify --archive thermolog-2026-11-20.tar',
    json: 'print the findings as JSON',
    arguments: {
      archive: optional(
        '--archive <file>',
        'check a backup, without DATA_DIR; - is standard input',
        readText,
      ),
    },
    run: async (terminal, { archive }) => {
      const progress = new StepProgress(terminal)
      try {
        return await (archive === undefined
          ? verdictOnData(terminal, progress)
          : verdictOnArchive(terminal, archive, progress))
      } finally {
        progress.end()
      }
    },
    present: showVerdict,
  }),
] as const

async function verdictOnData(terminal: Terminal, progress: StepProgress): Promise<Verdict> {
  const config = await readSettingsWithData(terminal)
  const { database } = config
  if (database === undefined) {
    const { verifyData } = await import('../data-dir/verify.ts')
    return verifyData(config, progress)
  }
  const { verifyDatabase } = await import('../data-dir/verify-database.ts')
  return verifyDatabase(database, progress)
}

async function verdictOnArchive(
  { io }: Terminal,
  file: string,
  progress: StepProgress,
): Promise<Verdict> {
  const { verifyArchiveFile } = await import('../data-dir/verify-archive.ts')
  const verdict = await verifyArchiveFile(file === STDIN ? io.stdin : file, progress)
  const { store, files, taken_at: takenAt } = verdict.manifest
  progress.note(`a backup taken at ${readableTime(takenAt)}`)
  if (files['measurements.db'] === undefined) {
    progress.note(`not checked: the measurements, which are in ${JSON.stringify(store)}`)
  }
  return verdict
}

function showVerdict(verdict: Verdict): Shown {
  const { findings, findingsTotal, sensors, measurements, events, moving } = verdict
  const checked = `${counted(measurements, 'measurement')} of ${counted(sensors, 'sensor')}`
  const unsettled = `${counted(moving, 'sensor')} never settled`
  return {
    json: jsonOf(verdict),
    lines: [
      ...findings.map((finding) => asTypedHere(describeFinding(finding))),
      `checked ${checked} and ${counted(events, 'event id')}`,
      ...(moving > 0
        ? [`${unsettled}: the newest days are right but for what waits in the journal`]
        : []),
      ...(findingsTotal === 0 ? ['nothing is wrong'] : []),
    ],
    ...(findingsTotal > 0 && { failure: isWrong(verdict) }),
  }
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
