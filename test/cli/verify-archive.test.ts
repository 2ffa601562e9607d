// Goal: `thermolog verify --archive` finds whatever is wrong with a backup, without DATA_DIR, and
// leaves nothing behind. Method: a real backup, bits of it turned, its end cut off, and archives of
// files that do not agree, with a hash that fits.

import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect } from 'chai'
import { openTagged } from '../../src/sqlite/database.ts'
import { archiveOf, pagesOf } from '../support/archive-of.ts'
import { runCommand, runProcess, servingHere, startCommand } from '../support/command.ts'
import { expectedLines, sendReadings } from '../support/exported.ts'
import { createFleetToken } from '../support/fleet-token.ts'

const FILES = ['control.db', 'ledger.db', 'measurements.db']

describe('thermolog verify --archive', () => {
  let folder: string
  let temporary: string
  let whole: Buffer
  const at = (name: string) => join(folder, name)
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'thermolog-verify-'))
    temporary = at('temporary')
    await mkdir(temporary)
    const token = await createFleetToken(at('data'), 'fleet@example.org')
    await servingHere(at('data'), {}, (url) => sendReadings(url, token))
    const { exitCode, stderr } = await runCommand(at('data'), ['backup', at('whole.tar')])
    expect(exitCode, stderr).to.equal(0)
    whole = await readFile(at('whole.tar'))
  })
  afterEach(async () => {
    expect(await readdir(temporary)).to.deep.equal([])
  })
  after(() => rm(folder, { recursive: true }))

  /** With settings that no other command would take: it reads none. */
  const verify = (file: string) =>
    runProcess(at('nowhere'), ['verify', '--archive', file], { TMPDIR: temporary, PORT: 'none' })

  it('checks a backup as a restore and a verify of it would', async () => {
    const { exitCode, stdout, stderr } = await verify(at('whole.tar'))
    expect(exitCode, stderr).to.equal(0)
    const count = expectedLines().length.toLocaleString('en-US')
    expect(stdout).to.match(new RegExp(`^checked ${count} measurements of \\d+ sensors and`))
    expect(stderr).to.match(/^unpacking into \S+\/temporary\/thermolog-\w+: 1 MB$/m)
    expect(stderr).to.match(/^a backup taken at 20/m)
    expect(await readdir(folder)).not.to.include('nowhere')
  })

  it('checks what comes from a pipe', async () => {
    const args = ['verify', '--archive', '-', '--json']
    const child = startCommand(at('nowhere'), args, { TMPDIR: temporary })
    child.stdin.end(whole)
    expect(JSON.parse(await text(child.stdout))).to.include({
      clean: true,
      measurements: expectedLines().length,
    })
  })

  it('refuses one with a bit turned, cut short or made longer', async () => {
    const turned = Buffer.from(whole)
    turned[whole.length >> 1]! ^= 1
    const damaged = {
      turned,
      'without its end': whole.subarray(0, -2_048),
      'without a byte': whole.subarray(0, -1),
      halved: whole.subarray(0, whole.length >> 1),
      longer: Buffer.concat([whole, Buffer.from('\0')]),
      empty: Buffer.alloc(0),
    }
    for (const [what, bytes] of Object.entries(damaged)) {
      await writeFile(at('damaged.tar'), bytes)
      const { exitCode, stdout, stderr } = await verify(at('damaged.tar'))
      expect([what, exitCode, stdout]).to.deep.equal([what, 1, ''])
      expect(stderr, what).to.match(/damaged\.tar is not a backup/)
    }
  })

  it('names what is wrong with data that were damaged before the backup', async () => {
    await writeFile(
      at('wrong.tar'),
      await rewritten('UPDATE minute_summaries SET sum_celsius = sum_celsius + 1'),
    )
    const { exitCode, stdout } = await verify(at('wrong.tar'))
    expect(exitCode).to.equal(1)
    expect(stdout).to.match(/measurements\.db/)
    expect(stdout).to.match(/Use another backup/)
  })

  it('refuses one whose manifest counts what is not in it', async () => {
    const sql = 'DELETE FROM measurements; DELETE FROM day_summaries'
    await writeFile(at('less.tar'), await rewritten(sql))
    const { exitCode, stderr } = await verify(at('less.tar'))
    expect(stderr).to.match(/cannot be restored: its manifest does not match .* measurements\.db/)
    expect(exitCode).to.equal(1)
  })

  it('refuses files with names of their own, and more than there is room for', async () => {
    const forged = {
      named: [{ name: '../../measurements.db', content: 'x' }],
      twice: FILES.slice(0, 1).flatMap((name) => [{ name }, { name }]),
      huge: [{ name: 'control.db', length: '77777777777 ' }],
      described: [{ name: 'manifest.json', length: '00010000000 ' }],
    }
    for (const [what, members] of Object.entries(forged)) {
      await writeFile(at('forged.tar'), archiveOf(members))
      const { exitCode, stderr } = await verify(at('forged.tar'))
      expect([what, exitCode]).to.deep.equal([what, 1])
      expect(stderr, what).to.match(
        /is not a Thermolog backup|is not a backup|free, and this takes/,
      )
    }
  })

  /** The backup after a change to the measurements that only the commands can notice. */
  async function rewritten(sql: string): Promise<Buffer> {
    const parts = await mkdtemp(at('parts-'))
    await copyFile(at('data/measurements.db'), join(parts, 'measurements.db'))
    const db = openTagged(join(parts, 'measurements.db'))
    db.exec(sql)
    db.pragma('wal_checkpoint(TRUNCATE)')
    db.close()
    const start = whole.lastIndexOf('{\n  "format"')
    const manifest = whole.subarray(start, whole.indexOf('\0', start))
    const contents = FILES.map((name) => join(name === FILES[2] ? parts : at('data'), name))
    const members = await Promise.all(
      contents.map(async (file, index) => ({
        name: FILES[index] ?? '',
        // Of a size that divides that of any of them.
        content: pagesOf(await readFile(file), 512),
      })),
    )
    return archiveOf([...members, { name: 'manifest.json', content: manifest }])
  }
})
