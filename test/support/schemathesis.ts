// Schemathesis, which questions a service from its description: with what the description allows,
// with what it forbids, without a token, by other methods. It is a Python program: SCHEMATHESIS
// names it, else it is `schemathesis` on PATH; test/schemathesis/requirements.txt says which.

import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import type { Environment } from './command.ts'
import { leaveOut } from './left-out.ts'

const CONFIG = fileURLToPath(new URL('../schemathesis/schemathesis.toml', import.meta.url))
const HOOKS = fileURLToPath(new URL('../schemathesis/hooks.py', import.meta.url))
const COMMAND = process.env['SCHEMATHESIS'] ?? 'schemathesis'
/** Counterexamples may have megabytes. */
const SHOWN_LINES_MAX = 200
const SHOWN_CHARACTERS_MAX = 300

export interface Verdict {
  readonly exitCode: number | null
  /** What it says: the beginnings of the first lines, and its summary. */
  readonly output: string
}

/** Leaves out the suite where there is none; with REQUIRE_SCHEMATHESIS=1 it fails. */
export function needSchemathesis(context: Mocha.Context): void {
  if (spawnSync(COMMAND, ['--version']).error === undefined) return
  if (process.env['REQUIRE_SCHEMATHESIS'] === '1') {
    throw new Error('REQUIRE_SCHEMATHESIS=1, but none found')
  }
  leaveOut(context, 'Schemathesis')
}

/**
 * Questions the service.
 *
 * @param environment what the file of settings refers to
 * @param flags of `schemathesis run`
 */
export async function question(
  url: string,
  environment: Environment,
  flags: readonly string[],
): Promise<Verdict> {
  const directory = await mkdtemp(join(tmpdir(), 'thermolog-schemathesis-'))
  const run = ['run', `${url}/openapi.json`, '--checks', 'all', ...flags]
  const args = ['--config-file', CONFIG, '--no-color', ...run]
  const env = {
    PATH: process.env['PATH'],
    PYTHONDONTWRITEBYTECODE: '1',
    SCHEMATHESIS_HOOKS: HOOKS,
    ...environment,
  }
  const child = spawn(COMMAND, args, { cwd: directory, env, stdio: ['ignore', 'pipe', 'pipe'] })
  const killWithUs = () => child.kill('SIGKILL')
  process.once('exit', killWithUs)
  const [stdout, stderr, [exitCode]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit') as Promise<[number | null]>,
  ])
  process.off('exit', killWithUs)
  await rm(directory, { recursive: true })
  return { exitCode, output: shortened(stdout + stderr) }
}

function shortened(output: string): string {
  const lines = output.split('\n').map((line) => line.slice(0, SHOWN_CHARACTERS_MAX))
  const summary = lines.findIndex((line) => /^=+ SUMMARY =+$/.test(line))
  if (lines.length <= SHOWN_LINES_MAX || summary === -1) return lines.join('\n')
  return [...lines.slice(0, SHOWN_LINES_MAX), '…', ...lines.slice(summary)].join('\n')
}
