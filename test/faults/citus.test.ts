// Goal: a database that Citus spreads over nodes does what one server does. Method: the suites of
// PostgreSQL, on a coordinator and two workers.

import { describeJournal } from '../contract/journal.ts'
import { changesSuite } from '../postgres/suites/changes.ts'
import { controlSuite } from '../postgres/suites/control.ts'
import { forwardProgressSuite } from '../postgres/suites/forward-progress.ts'
import { journalQueueSuite } from '../postgres/suites/journal-queue.ts'
import { laneSuite } from '../postgres/suites/lane.ts'
import { liveEventsSuite } from '../postgres/suites/live-events.ts'
import { measurementStoreSuite } from '../postgres/suites/measurement-store.ts'
import { outagesSuite } from '../postgres/suites/outages.ts'
import { processesSuite } from '../postgres/suites/processes.ts'
import { serviceSuite } from '../postgres/suites/service.ts'
import { sharedStateSuite } from '../postgres/suites/shared-state.ts'
import { userDeletionSuite } from '../postgres/suites/user-deletion.ts'
import { verifySuite } from '../postgres/suites/verify.ts'
import { useCitus } from '../support/citus.ts'
import { newPostgresData } from '../support/postgres-data.ts'

const SPREAD = { isOneServer: false }

describe('on Citus', () => {
  describe('the journal', () => describeJournal('Citus', newPostgresData(useCitus())))
  describe('control data', () => controlSuite(useCitus, SPREAD))
  describe('changes', () => changesSuite(useCitus))
  describe('live events of two processes', () => liveEventsSuite(useCitus))
  describe('the measurement store', () => measurementStoreSuite(useCitus, SPREAD))
  describe('what processes share', () => sharedStateSuite(useCitus))
  describe('the deletion of a user', () => userDeletionSuite(useCitus))
  describe('a process that ends', () => processesSuite(useCitus))
  describe('the backlog of a database', () => forwardProgressSuite(useCitus))
  describe('two processes that forward', () => journalQueueSuite(useCitus, SPREAD))
  describe('a lane', () => laneSuite(useCitus))
  describe('two services on one database', () => serviceSuite(useCitus))
  describe('three processes, one of which is killed', () => outagesSuite(useCitus))
  describe('the verification of a database', () => verifySuite(useCitus))
})
