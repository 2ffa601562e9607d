// Goal: an atomic snapshot of DATA_DIR, taken while the service runs, is complete up to that moment
// and becomes a service of its own. Method: the story of support/backup-under-load.ts on a btrfs of
// its own, whose snapshots take the place of archives.

import { spawnSync } from 'node:child_process'
import { mkdir, mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { backUpUnderLoad, runToItsEnd } from '../support/backup-under-load.ts'
import { leaveOut } from '../support/left-out.ts'
import { byLength } from '../support/length.ts'

const SNAPSHOTS = byLength(2, 8)
const BETWEEN = byLength(40_000, 150_000)
/** Sparse: what is written of it counts. */
const VOLUME_BYTES = 4 * 2 ** 30

describe(`${SNAPSHOTS} snapshots of the volume under load`, () => {
  let folder: string
  let volume: string
  before(async function () {
    folder = await mkdtemp(join(tmpdir(), 'thermolog-snapshot-'))
    volume = join(folder, 'volume')
    const image = join(folder, 'image')
    await mkdir(volume)
    const file = await open(image, 'w')
    await file.truncate(VOLUME_BYTES)
    await file.close()
    const { error } = spawnSync('mkfs.btrfs', ['--quiet', image])
    if (error !== undefined) leaveOut(this, 'mkfs.btrfs')
    const mounted = spawnSync('mount', ['-t', 'btrfs', '-o', 'loop', image, volume])
    if (mounted.status !== 0) leaveOut(this, 'the right to mount btrfs from a file')
  })
  after(async () => {
    spawnSync('umount', [volume])
    await rm(folder, { recursive: true })
  })

  function subvolume(...args: string[]): void {
    const { status, stderr } = spawnSync('btrfs', ['subvolume', ...args], { encoding: 'utf8' })
    expect(status, stderr).to.equal(0)
  }

  it('have every measurement that was acknowledged before them, once', async () => {
    const dataDir = join(volume, 'data')
    subvolume('create', dataDir)
    const means = {
      take: async (_: string, name: string) => subvolume('snapshot', dataDir, join(volume, name)),
      async bringBack(name: string) {
        const broughtBack = join(volume, name)
        await runToItsEnd(broughtBack, ['database', 'restored'])
        return broughtBack
      },
    }
    const story = { dataDir, means, backups: SNAPSHOTS, measurementsBetween: BETWEEN }
    expect(await backUpUnderLoad(story)).to.be.at.least(SNAPSHOTS * BETWEEN)
  })
})
