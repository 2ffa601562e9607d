// Goal: an archive gives back what was put in, any tar can read it, and no bit of it can change
// unseen. Method: files of odd sizes, the system's tar, and bits turned at random places.

import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import {
  ArchiveWriter,
  extractMember,
  readTextMember,
  verifyArchive,
  writeArchiveFile,
} from '../../src/system/archive.ts'
import { archiveOf } from '../support/archive-of.ts'
import type { ForgedMember } from '../support/archive-of.ts'
import { leaveOut } from '../support/left-out.ts'

const SIZES = [1, 511, 512, 513, 1_500_000]

describe('an archive', () => {
  let folder: string
  let path: string
  let whole: Buffer
  const contents = SIZES.map((size) =>
    Buffer.from(Array.from({ length: size }, (_, at) => at % 251)),
  )
  const nothing = () => undefined

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'thermolog-archive-'))
    path = join(folder, 'archive')
    await writeArchiveFile(path, async (put) => {
      const writer = new ArchiveWriter(put, Date.UTC(2026, 0, 1))
      for (const [at, content] of contents.entries()) {
        const file = join(folder, `in-${at}`)
        await writeFile(file, content)
        await writer.addFile(`file-${at}`, file, nothing)
      }
      await writer.addText('note', 'a note\n')
      await writer.finish()
    })
    whole = await readFile(path)
  })
  after(() => rm(folder, { recursive: true }))

  it('gives back every file', async () => {
    const members = await verifyArchive(path, nothing)
    expect([...members.keys()]).to.deep.equal([...SIZES.map((_, at) => `file-${at}`), 'note'])
    for (const [at, content] of contents.entries()) {
      const member = members.get(`file-${at}`)
      if (member === undefined) throw new Error(`no file-${at}`)
      const target = join(folder, `out-${at}`)
      await extractMember(path, member, target, nothing)
      expect((await readFile(target)).equals(content)).to.equal(true)
    }
    const note = members.get('note')
    expect(note && (await readTextMember(path, note))).to.equal('a note\n')
  })

  it('is read by any tar, and its hash by sha256sum', function () {
    if (spawnSync('tar', ['--version']).error !== undefined) leaveOut(this, 'tar')
    const options = { cwd: folder, maxBuffer: 2 ** 24 }
    const names = execFileSync('tar', ['tf', path], options).toString().trim().split('\n')
    expect(names).to.deep.equal([...SIZES.map((_, at) => `file-${at}`), 'note', 'sha256'])
    expect(
      execFileSync('tar', ['xOf', path, 'file-4'], options).equals(contents[4] as Buffer),
    ).to.equal(true)
  })

  it('is refused when a single bit is another, or its end is missing', async () => {
    const damaged = join(folder, 'damaged')
    const refusal = async (bytes: Buffer) => {
      await writeFile(damaged, bytes)
      return verifyArchive(damaged, nothing).then(
        () => 'taken',
        (error: Error) => error.message,
      )
    }
    const place = fc.nat(whole.length * 8 - 1)
    await fc.assert(
      fc.asyncProperty(place, async (bit) => {
        const bytes = Buffer.from(whole)
        bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7))
        expect(await refusal(bytes)).to.match(/is not a backup, or it is damaged/)
        expect(await refusal(whole.subarray(0, bit >> 3))).to.match(/is not a backup/)
      }),
      { numRuns: 30 },
    )
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
    }
    for (const [when, members] of Object.entries(forged)) {
      it(when, async () => {
        const file = join(folder, 'forged')
        await writeFile(file, archiveOf(members))
        const refusal = await verifyArchive(file, nothing).then(
          () => 'taken',
          (error: Error) => error.message,
        )
        expect(refusal).to.include(`${file} is not a backup: it has `)
      })
    }

    it('but not when its lengths are right', async () => {
      const file = join(folder, 'forged')
      await writeFile(file, archiveOf([{ name: 'note', content: 'a note' }]))
      const note = (await verifyArchive(file, nothing)).get('note')
      expect(note && (await readTextMember(file, note))).to.equal('a note')
    })
  })
})
