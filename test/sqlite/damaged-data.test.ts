// Goal: a flipped bit anywhere in a file never becomes an answer. Method: bits at random places of
// each file of a stopped data directory are flipped, one at a time; it is started again, and every
// event, dashboard and history is asked for. test/faults has the same a thousand times a file.

import { changesNoAnswer } from '../support/flips.ts'

describe('a file with a flipped bit', function () {
  this.timeout(60_000)
  changesNoAnswer(24)
})
