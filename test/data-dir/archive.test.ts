// Goal: an archive gives back what was put in, any tar can read it, and no bit of it can change
// unseen. Method: files of odd sizes, the system's tar, bits turned at random places, and
// archives with hashes that fit whose headers lie.

import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { expect } from 'chai'
import fc from 'fast-check'
import { checkBackup } from '../../src/data-dir/read-backup.ts'
import { beginsWith, packArchive, readArchive } from '../../src/data-dir/archive.ts'
import { archiveOf } from '../support/archive-of.ts'
import type { ForgedMember } from '../support/archive-of.ts'
import { leaveOut } from '../support/left-out.ts'

const SIZES = [0, 1, 511, 512, 513, 1_500_000]
const NAMES = SIZES.map((_, at) => `file-${at}`)
const PIECE_BYTES = [100, 511, 512, 4_096, 2_000_000]

describe('an archive', () => {
  let folder: string
  let path: string
  let whole: Buffer
  const contents = SIZES.map((size) =>
    Buffer.from(Array.from({ length: size }, (_, at) => at % 251)),
  )

  async function* packed() {
    for (const [at, content] of contents.entries()) {
      yield { name: `file-${at}`, bytes: content.length, content: piecesOf(content, 100_000) }
    }
  }

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'thermolog-archive-'))
    path = join(folder, 'archive')
    await writeFile(path, packArchive(packed(), Date.UTC(2026, 0, 1)))
    whole = await readFile(path)
  })
  after(() => rm(folder, { recursive: true }))

  it('gives back every file, in whatever pieces it comes', async () => {
    for (const pieceBytes of PIECE_BYTES) {
      const found = await read(whole, pieceBytes)
      expect([...found.keys()]).to.deep.equal(NAMES)
      for (const [at, content] of contents.entries()) {
        expect(found.get(`file-${at}`)?.equals(content)).to.equal(true)
      }
    }
  })

  it('is read by any tar, and its hash by sha256sum, and begins like no other', async function () {
    if (spawnSync('tar', ['--version']).error !== undefined) leaveOut(this, 'tar')
    const options = { cwd: folder, maxBuffer: 2 ** 24 }
    const names = execFileSync('tar', ['tf', path], options).toString().trim().split('\n')
    expect(names).to.deep.equal([...NAMES, 'sha256'])
    expect(
      execFileSync('tar', ['xOf', path, 'file-5'], options).equals(contents[5] as Buffer),
    ).to.equal(true)
    const hash = createHash('sha256').update(whole.subarray(0, -2_048)).digest('hex')
    expect(execFileSync('tar', ['xOf', path, 'sha256'], options).toString()).to.equal(`${hash}\n`)
    execFileSync('tar', ['xf', path, 'file-0'], options)
    execFileSync('tar', ['cf', 'other', 'file-0'], options)
    expect(await beginsWith(path, 'file-0')).to.equal(true)
    expect(await beginsWith(path, 'file-1')).to.equal(false)
    expect(await beginsWith(join(folder, 'other'), 'file-0')).to.equal(false)
  })

  it('is refused when a single bit is another, or its end is missing', async () => {
    const place = fc.nat(whole.length * 8 - 1)
    await fc.assert(
      fc.asyncProperty(place, async (bit) => {
        const bytes = Buffer.from(whole)
        bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7))
        for (const damaged of [bytes, whole.subarray(0, bit >> 3)]) {
          expect(await refusalOf(read(damaged))).to.match(/^it is not a backup, or it is damaged/)
        }
      }),
      { numRuns: 30 },
    )
  })

  it('says what is wrong with the disk, and not that it is damaged', async () => {
    const taken = readArchive('it', piecesOf(whole), () => Promise.reject(new Error('it is full')))
    expect(await refusalOf(taken)).to.equal('it is full')
  })

  describe('whose hash fits is refused all the same', () => {
    const forged: Readonly<Record<string, readonly ForgedMember[]>> = {
      'when a length is negative': [{ name: 'control.db', length: '-0000001000 ' }],
      'when a length is none': [{ name: 'control.db', length: 'zzzzzzzzzzz ' }],
      'when a length is missing': [{ name: 'control.db', length: '' }],
      'when a length goes beyond it': [{ name: 'control.db', length: '77777777777 ' }],
      'when a long length goes beyond it': [
        { name: 'control.db', length: '\x80\0\0\0\0\0\0\x01\0\0\0\0' },
      ],
      'when a long length is beyond all numbers': [
        { name: 'control.db', length: '\x80\0\0\0'.padEnd(12, '\xff') },
      ],
      'when a long length is negative': [{ name: 'control.db', length: ''.padEnd(12, '\xff') }],
      'when a name is there twice': [{ name: 'control.db' }, { name: 'control.db' }],
      'when it has a thousand names': Array.from({ length: 1_000 }, (_, at) => ({ name: `${at}` })),
      'when a name is of megabytes': [
        { name: 'long', type: 'L', content: 'x'.repeat(5_000_000) },
        { name: 'control.db' },
      ],
      'when a member has another name elsewhere': [
        { name: 'more', type: 'x', content: '23 path=../control.db\n' },
        { name: 'control.db' },
      ],
    }
    for (const [when, members] of Object.entries(forged)) {
      it(when, async () => {
        const checked = checkBackup('it', piecesOf(archiveOf(members)))
        expect(await refusalOf(checked)).to.match(/^it is not a (Thermolog )?backup/)
      })
    }

    it('when a member is a link, a device or a folder', async () => {
      for (const type of '123456') {
        const archive = archiveOf([{ name: 'control.db', type }])
        expect(await refusalOf(read(archive))).to.equal(
          'it is not a backup: it has more than files',
        )
      }
    })

    it('but not when its lengths are right', async () => {
      const found = await read(archiveOf([{ name: 'note', content: 'a note' }]))
      expect(found.get('note')?.toString()).to.equal('a note')
    })
  })
})

async function* piecesOf(bytes: Buffer, pieceBytes = 65_536): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes)
}

async function read(archive: Buffer, pieceBytes?: number): Promise<Map<string, Buffer>> {
  const found = new Map<string, Buffer>()
  await readArchive('it', piecesOf(archive, pieceBytes), async ({ name, content }) => {
    found.set(name, await buffer(content))
  })
  return found
}

function refusalOf(reading: Promise<unknown>): Promise<string> {
  return reading.then(
    () => 'taken',
    (error: Error) => error.message,
  )
}
