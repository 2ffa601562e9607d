// Goal: nobody deletes measurements without having been told how many. Method: the real command on
// sensors with measurements, with and without a terminal, beside a running service and alone.

import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { runCommand, serveHere } from '../support/command.ts'
import type { ServiceHere } from '../support/command.ts'
import { leaveOut } from '../support/left-out.ts'

const COMMAND = fileURLToPath(new URL('../../src/thermolog.js', import.meta.url))
const READINGS = 1_200

interface ListedSensor {
  readonly id: number
  readonly sn: string
}

describe('deleting', () => {
  let dataDir = ''
  let service: ServiceHere | undefined
  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'thermolog-'))
  })
  after(() => rm(dataDir, { recursive: true }))

  const run = (...args: string[]) => runCommand(dataDir, args)

  async function sensorsOf(user: string): Promise<ListedSensor[]> {
    const { stdout } = await run('sensor', 'list', '--user', user, '--json')
    return JSON.parse(stdout) as ListedSensor[]
  }

  /** A user with the sensors `full`, which has measurements, and `empty`. */
  async function createUser(user: string): Promise<void> {
    await run('user', 'create', '--email', user)
    await run('sensor', 'create', '--user', user, '--sn', 'empty')
    const lines = Array.from({ length: READINGS }, (_, at) => {
      const timestamp = new Date(Date.UTC(2026, 0, 1) + at * 3_600_000).toISOString()
      return JSON.stringify({ timestamp, sn: 'full', temp: at / 8 })
    })
    const order = ['import', '-', '--user', user, '--rejects', join(dataDir, 'rejects')]
    const imported = await runCommand(dataDir, order, {}, lines.join('\n'))
    expect(imported.stdout).to.match(/1,200 created/)
  }

  /** Types a line behind a question of the command, which runs on a terminal. */
  async function answer(line: string, ...args: string[]) {
    const command = [process.execPath, COMMAND, ...args].map((part) => `'${part}'`).join(' ')
    const child = spawn('script', ['-qec', command, '/dev/null'], {
      env: { PATH: process.env['PATH'], DATA_DIR: dataDir, TERM: 'dumb' },
    })
    const shown = text(child.stdout)
    const exited = once(child, 'exit') as Promise<[number]>
    child.stdin.write(`${line}\n`)
    const [exitCode] = await exited
    child.stdin.end()
    return { exitCode, shown: (await shown).replaceAll('\r\n', '\n') }
  }

  for (const isServing of [false, true]) {
    describe(isServing ? 'beside a running service' : 'alone', () => {
      const user = isServing ? 'ben@example.org' : 'ana@example.org'
      const id = async (name: string) =>
        String((await sensorsOf(user)).find(({ sn }) => sn === name)?.id)
      before(async () => {
        if (isServing) service = await serveHere(dataDir)
        await createUser(user)
      })
      after(async () => {
        if (isServing) await service?.stop()
      })

      it('wants --yes where there is no terminal, and says what would go', async () => {
        const whole = await run('user', 'delete', user)
        const content = `user \\d+ \\(${user}\\) with 2 sensors and 1,200 measurements`
        const hint = 'Add --yes: there is no terminal to ask on.'
        expect(whole.stderr).to.match(
          new RegExp(`^thermolog: this permanently deletes ${content}\n${hint}\n$`),
        )
        expect(whole.exitCode).to.equal(2)
        const full = await id('full')
        const one = await run('sensor', 'delete', full)
        expect(one.stderr).to.equal(
          `thermolog: this permanently deletes sensor ${full} (full) of ${user} ` +
            `with 1,200 measurements\n${hint}\n`,
        )
        expect(one.exitCode).to.equal(2)
        expect(await sensorsOf(user)).to.have.lengthOf(2)
      })

      it('asks on a terminal, and takes nothing but yes', async function () {
        if (!spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout?.includes('util')) {
          leaveOut(this, 'script')
        }
        const full = await id('full')
        const refused = await answer('y', 'sensor', 'delete', full)
        expect(refused.shown).to.match(/deletes sensor .* 1,200 measurements\.\nType yes to contin/)
        expect(refused.shown).to.match(/thermolog: nothing was deleted\n$/)
        expect(refused.exitCode).to.equal(1)
        const done = await answer('yes', 'sensor', 'delete', full)
        expect(done.shown).to.match(
          /\ndeleted sensor \d+ \(full\) of .* with 1,200 measurements\n$/,
        )
        expect(done.exitCode).to.equal(0)
        expect((await sensorsOf(user)).map(({ sn }) => sn)).to.deep.equal(['empty'])
      })

      it('does not ask with --yes', async () => {
        const order = ['sensor', 'delete', await id('empty'), '--yes']
        const deleted = await run(...order)
        expect(deleted.stderr).to.match(
          /^deleted sensor \d+ \(empty\) of .* with 0 measurements\n$/,
        )
        expect(deleted.exitCode).to.equal(0)
        const again = await run(...order)
        expect(again.stderr).to.match(
          /^thermolog: no sensor has the id \d+\nSee `bin\/thermolog sensor/,
        )
        expect(again.exitCode).to.equal(1)
      })

      it('does not ask whether to drop what is not there', async () => {
        const { exitCode, stderr } = await run('journal', 'drop', '--all')
        expect(stderr).to.equal('deleted 0 set-aside measurements\n')
        expect(exitCode).to.equal(0)
      })
    })
  }
})
