// Goal: as test/sqlite/damaged-data.test.ts, at a thousand places of each file.

import { changesNoAnswer } from '../support/flips.ts'
import { byLength } from '../support/length.ts'

describe('a file with any bit flipped', () => {
  changesNoAnswer(byLength(40, 1_000))
})
