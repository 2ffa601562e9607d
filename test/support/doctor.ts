// A DATA_DIR of each test's own, with a user and a backup that is noted, and what `thermolog
// doctor` says of it.

import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmod, cp, mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { runCommand } from './command.ts'
import type { CommandResult, Environment } from './command.ts'
import { freePort } from './free-port.ts'

const COMMAND = fileURLToPath(new URL('../../src/thermolog.js', import.meta.url))
const NOBODY = { uid: 65_534, gid: 65_534 }

export interface DoctorReport {
  readonly exitCode: number
  readonly state: string
  readonly checks: readonly {
    readonly check: string
    readonly state: string
    readonly message: string
    readonly remedy: string | null
  }[]
  readonly settings: readonly {
    readonly name: string
    readonly value: string | null
    readonly source: string
  }[]
}

export interface DoctorTest {
  /** What every test has a copy of. */
  readonly original: string
  /** For what the test makes besides. */
  readonly folder: string
  readonly dataDir: string
  /** A free one. */
  readonly port: string
  /** @param dataDir default: that of the test */
  examine(environment?: Environment, dataDir?: string): Promise<DoctorReport>
}

/** @returns what the test has, for tests and hooks */
export function useDoctor(): () => DoctorTest {
  let folders: string
  let original: string
  let test: DoctorTest | undefined
  before(async () => {
    folders = await mkdtemp(join(tmpdir(), 'thermolog-doctor-'))
    original = join(folders, 'original')
    for (const args of [
      ['user', 'create', '--email', 'a@example.org'],
      ['backup', join(folders, 'backup.tar')],
    ]) {
      const { exitCode, stderr } = await runCommand(original, args)
      expect(exitCode, stderr).to.equal(0)
    }
  })
  beforeEach(async () => {
    const folder = await mkdtemp(join(folders, 'test-'))
    for (const open of [folders, folder]) await chmod(open, 0o755)
    const dataDir = join(folder, 'data')
    const port = String(await freePort())
    await cp(original, dataDir, { recursive: true })
    const examine = (environment: Environment = {}, where = dataDir) =>
      examined(where, { PORT: port, ...environment })
    test = { original, folder, dataDir, port, examine }
  })
  after(() => rm(folders, { recursive: true }))
  return () => {
    if (test === undefined) throw new Error('the data are made in a hook before each test')
    return test
  }
}

async function examined(dataDir: string, environment: Environment): Promise<DoctorReport> {
  return reportOf(await runCommand(dataDir, ['doctor', '--json'], environment))
}

/** @param order the programs that start the command, with their arguments */
export async function examinedBy(
  order: readonly string[],
  environment: Environment,
  user: Partial<typeof NOBODY> = {},
): Promise<DoctorReport> {
  const [program, ...args] = [...order, process.execPath, COMMAND, 'doctor', '--json']
  const env = { PATH: process.env['PATH'], ...environment }
  const child = spawn(program, args, { env, cwd: tmpdir(), ...user })
  const [stdout, stderr, [exitCode]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit') as Promise<[number | null]>,
  ])
  return reportOf({ exitCode: exitCode ?? -1, stdout, stderr })
}

let canNobodyRead: boolean | undefined

/** Whether `examinedByNobody` can be: for root, in a checkout that everybody may read. */
export function mayBeNobody(): boolean {
  if (process.getuid?.() !== 0) return false
  canNobodyRead ??= spawnSync(process.execPath, [COMMAND, '--version'], NOBODY).status === 0
  return canNobodyRead
}

export function examinedByNobody(environment: Environment): Promise<DoctorReport> {
  return examinedBy([], environment, NOBODY)
}

function reportOf({ exitCode, stdout, stderr }: CommandResult): DoctorReport {
  expect(stdout, stderr).not.to.equal('')
  return { exitCode, ...(JSON.parse(stdout) as Omit<DoctorReport, 'exitCode'>) }
}

/** What comes first. */
export function expectFirst(report: DoctorReport, check: string, message: RegExp): void {
  const { exitCode, state, checks } = report
  const all = JSON.stringify(checks, null, 2)
  expect(checks[0], all).to.include({ check, state: 'wrong' })
  expect(checks[0]?.message).to.match(message)
  expect(checks[0]?.remedy?.length, all).to.be.greaterThan(10)
  expect({ exitCode, state }).to.deep.equal({ exitCode: 1, state: 'wrong' })
}

/**
 * Has a stand-in answer for one piece of work.
 *
 * @param port default: a free one
 * @returns how many connections there were
 */
export async function answering(
  answer: RequestListener,
  work: (url: string) => Promise<void>,
  port = 0,
): Promise<number> {
  let connections = 0
  const other = createServer(answer).listen(port, '127.0.0.1')
  other.on('connection', () => connections++)
  await once(other, 'listening')
  try {
    await work(`http://127.0.0.1:${(other.address() as AddressInfo).port}`)
  } finally {
    other.closeAllConnections()
    other.close()
  }
  return connections
}
