import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { lockDataDir } from '../../src/sqlite/data-dir-lock.ts'
import {
  isStorageFull,
  openForReading,
  openForWriting,
  upgradeFile,
} from '../../src/sqlite/database.ts'

const FIRST = { version: 1, sql: 'CREATE TABLE one (id INTEGER PRIMARY KEY)' }
const SECOND = { version: 2, sql: 'CREATE TABLE two (id INTEGER PRIMARY KEY)' }

describe('a SQLite file of the service', () => {
  let folder = ''
  let file = ''
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'thermolog-'))
    file = join(folder, 'file.db')
  })
  afterEach(() => rm(folder, { recursive: true }))

  it('is written with every commit on disk before it returns', () => {
    const db = openForWriting(file, [FIRST])
    expect(db.pragma('synchronous', { simple: true })).to.equal(2)
    expect(db.pragma('journal_mode', { simple: true })).to.equal('wal')
    db.close()
  })

  it('gets the steps that its schema lacks, each once, and only when told to', () => {
    openForWriting(file, [FIRST]).close()
    expect(() => openForWriting(file, [FIRST, SECOND])).to.throw(
      'schema version 1, this version of Thermolog knows 2: `thermolog serve` brings it up to date',
    )
    upgradeFile(file, [FIRST, SECOND])
    upgradeFile(file, [FIRST, SECOND])
    const db = openForWriting(file, [FIRST, SECOND])
    expect(db.pragma('user_version', { simple: true })).to.equal(2)
    db.close()
  })

  it('is left as it was when a step fails', () => {
    openForWriting(file, [FIRST]).close()
    const broken = { version: 3, sql: 'CREATE TABLE three (id INTEGER PRIMARY KEY); nonsense' }
    expect(() => upgradeFile(file, [FIRST, SECOND, broken])).to.throw('syntax error')
    openForWriting(file, [FIRST]).close()
  })

  for (const { other, written, known } of [
    { other: 'newer', written: [FIRST, SECOND], known: [FIRST] },
    { other: 'much older', written: [FIRST], known: [SECOND] },
  ]) {
    it(`is refused when it has the format of ${other} versions of the service`, () => {
      openForWriting(file, written).close()
      expect(() => openForWriting(file, known)).to.throw(
        /schema version \d, this version of Thermolog knows \d: use the version .* or export with/,
      )
    })
  }

  it('cannot be written by those who opened it for reading', () => {
    openForWriting(file, [FIRST]).close()
    const db = openForReading(file)
    expect(() => db.exec('INSERT INTO one VALUES (1)')).to.throw('readonly')
    db.close()
  })

  it('says apart from other failures that the disk is full', () => {
    const db = openForWriting(file, [FIRST])
    db.pragma('max_page_count = 3')
    const fill = () => {
      for (let id = 0; id < 10_000; id++) db.prepare('INSERT INTO one VALUES (?)').run(id)
    }
    let failure: unknown
    try {
      fill()
    } catch (error) {
      failure = error
    }
    expect(isStorageFull(failure)).to.equal(true)
    expect(isStorageFull(new Error('something else'))).to.equal(false)
    db.close()
  })
})

describe('lockDataDir', () => {
  it('lets one at a time own a directory', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'thermolog-'))
    const lock = lockDataDir(folder)
    expect(() => lockDataDir(folder)).to.throw(`${folder} is in use by another Thermolog process`)
    lock.release()
    lockDataDir(folder).release()
    await rm(folder, { recursive: true })
  })
})
