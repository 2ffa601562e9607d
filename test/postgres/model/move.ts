// A model of moving a data directory into a database: movers that are killed and start again, a
// service that is started in between, and commits that end after whoever sent them is dead.
//
// The directory's events are moved in one transaction. Event 0 has an id, event 1 has none; event 2
// may be accepted while no mover holds the directory.

import type { Model, Step } from './explore.ts'
import { copyOf } from './state.ts'

/** A way of working; the first of each is the right one, the others are shown to fail. */
export interface MoveWays {
  /** Which comes first at the end. */
  readonly order: 'closeDirectory' | 'openDatabase'
  /** What a move does with what an earlier attempt has left. */
  readonly left: 'is deleted' | 'is kept' | 'is all there is'
  /** Whether a move waits for what a killed one has sent. */
  readonly sent: 'is waited for' | 'goes on'
}

export interface MoveState {
  /** Events in the order in which they were accepted. */
  readonly directory: number[]
  isClosed: boolean
  database: number[]
  isOpen: boolean
  /** Where the mover is; the directory's lock admits one. */
  mover: 'begun' | 'sending' | 'done' | null
  /** What the transaction of the mover brings, and those of killed ones. */
  sent: number[]
  orphans: number[][]
  isAcknowledged: boolean
  kills: number
}

const NAMELESS = 1
const LATE = 2

export function move(ways: MoveWays): Model<MoveState> {
  return {
    init: {
      directory: [0, NAMELESS],
      isClosed: false,
      database: [],
      isOpen: false,
      mover: null,
      sent: [],
      orphans: [],
      isAcknowledged: false,
      kills: 3,
    },
    next(state) {
      const steps: Step<MoveState>[] = []
      const take = (label: string, change: (next: MoveState) => void) => {
        const changed = copyOf(state)
        change(changed)
        steps.push([label, changed])
      }
      moverSteps(ways, state, take)
      orphanSteps(state, take)
      serviceSteps(state, take)
      return steps
    },
    invariants: {
      'what is acknowledged is where the service runs': ({ isOpen, database, isAcknowledged }) => {
        const expected = isAcknowledged ? [0, NAMELESS, LATE] : [0, NAMELESS]
        const lost = expected.find((event) => isOpen && !database.includes(event))
        return lost === undefined ? undefined : `event ${lost} is not in the database`
      },
      'an event is there once': ({ database }) =>
        new Set(database).size === database.length ? undefined : 'one is there twice',
      'one of the two is served': ({ isOpen, isClosed }) =>
        isOpen && !isClosed ? 'both are' : undefined,
    },
  }
}

type Take = (label: string, change: (next: MoveState) => void) => void

function moverSteps(ways: MoveWays, state: MoveState, take: Take): void {
  const { mover } = state
  if (mover === null) {
    startSteps(ways, state, take)
    return
  }
  if (state.kills > 0) {
    take('the move is killed', (next) => {
      next.kills--
      if (mover === 'sending') next.orphans.push(next.sent)
      next.mover = null
    })
  }
  if (mover === 'begun') {
    take('moveRows sends everything', (next) => {
      next.sent = [...next.directory]
      next.mover = 'sending'
    })
  } else if (mover === 'sending') {
    take('moveRows commits', (next) => {
      commit(next, next.sent)
      next.mover = 'done'
    })
  } else finishSteps(ways, state, take)
}

function startSteps(ways: MoveWays, { isClosed, isOpen, orphans }: MoveState, take: Take): void {
  if (isOpen) return
  if (isClosed) {
    take('a move finds the directory closed', (next) => (next.mover = 'done'))
    return
  }
  if (ways.sent === 'is waited for' && orphans.length > 0) return
  take('begin', (next) => {
    const isThere = ways.left === 'is all there is' && next.database.length > 0
    next.mover = isThere ? 'done' : 'begun'
    if (ways.left === 'is deleted') next.database = []
  })
}

function orphanSteps({ orphans }: MoveState, take: Take): void {
  if (orphans.length === 0) return
  take('what a killed move had sent is committed', (next) => {
    commit(next, next.orphans.shift() ?? [])
  })
  take('what a killed move had sent is rolled back', (next) => void next.orphans.shift())
}

/** The key of an event admits it once. */
function commit(next: MoveState, events: readonly number[]): void {
  const isNew = (event: number) => event === NAMELESS || !next.database.includes(event)
  next.database.push(...events.filter(isNew))
}

function finishSteps({ order }: MoveWays, state: MoveState, take: Take): void {
  const close = () => take('closeDirectory', (next) => (next.isClosed = true))
  const open = () => take('openDatabase', (next) => (next.isOpen = true))
  if (order === 'closeDirectory') {
    if (!state.isClosed) close()
    else if (!state.isOpen) open()
  } else if (!state.isOpen) open()
  else if (!state.isClosed) close()
}

/** The service on the directory, or on the database, accepts the late event. */
function serviceSteps(state: MoveState, take: Take): void {
  if (state.isAcknowledged) return
  if (!state.isClosed && state.mover === null) {
    take('the directory is served and accepts an event', (next) => {
      next.directory.push(LATE)
      next.isAcknowledged = true
    })
  }
  if (!state.isOpen) return
  take('the database is served and accepts an event', (next) => {
    next.database.push(LATE)
    next.isAcknowledged = true
  })
}
