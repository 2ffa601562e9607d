// Goal: a flipped bit anywhere in a file, or in its log, never becomes an answer, and takes none
// away. Method: bits at random places of each file of a killed data directory are flipped, one at a
// time; it is started again, and every event, dashboard and history is asked for. test/faults has
// the same a thousand times a file.

import { changesNoAnswer } from '../support/flips.ts'

describe('a file with a flipped bit', () => {
  changesNoAnswer(12)
})
