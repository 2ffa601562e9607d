// Goal: a file system that two machines can write to is told by its number. Method: the numbers of
// the manual of `statfs`, and of file systems of one machine.

import { expect } from 'chai'
import { networkFileSystem } from '../../src/system/data-dir.ts'

describe('networkFileSystem', () => {
  const names: readonly (readonly [string, bigint, string | undefined])[] = [
    ['NFS', 0x6969n, 'NFS'],
    ['SMB', 0x517bn, 'SMB'],
    ['CIFS', 0xff534d42n, 'SMB'],
    ['CIFS where a word has 32 bits', BigInt.asUintN(64, -0xacb2ben), 'SMB'],
    ['SMB 2', 0xfe534d42n, 'SMB'],
    ['9p', 0x01021997n, '9p'],
    ['ext4', 0xef53n, undefined],
    ['XFS', 0x58465342n, undefined],
    ['Btrfs', 0x9123683en, undefined],
    ['tmpfs', 0x01021994n, undefined],
    ['overlay', 0x794c7630n, undefined],
    ['FUSE', 0x65735546n, undefined],
  ]
  for (const [fileSystem, type, name] of names) {
    it(`${name === undefined ? 'lets pass' : 'knows'} ${fileSystem}`, () => {
      expect(networkFileSystem(type)).to.equal(name)
    })
  }
})
