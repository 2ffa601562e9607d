// A model of moving a data directory into a database: movers that are killed and start again, a
// service that is started in between, and commits that end after whoever sent them is dead.
//
// The directory's events are moved in their order, one a transaction, each with the note of how far
// the move has come. Event 0 has an id, event 1 has none; event 2 may be accepted while no mover
// holds the directory, and then the move begins again.

import type { Model, Step } from './explore.ts'
import { copyOf } from './state.ts'

/** A way of working; the first of each is the right one, the others are shown to fail. */
export interface MoveWays {
  /** Whether events and the note of how far they are moved are one transaction. */
  readonly noted: 'with the events' | 'afterwards'
  /** Which comes first at the end. */
  readonly order: 'closeDirectory' | 'openDatabase'
  /** What a move does with a directory that was served after an earlier attempt. */
  readonly served: 'begins again' | 'goes on'
  /** Whether a transaction first waits for what is under way, and reads how far that has come. */
  readonly held: 'by each transaction' | 'at the start'
}

interface Mover {
  /** How far it has written, when that is not noted yet. */
  written: number
  /** What the directory had when the move began. */
  readonly end: number
}

export interface MoveState {
  /** Events in the order in which they were accepted. */
  readonly directory: number[]
  isClosed: boolean
  /** The mark that nobody else has had the directory since the move began. */
  isMarked: boolean
  database: number[]
  moved: number
  /** The directory's end when the move began. */
  end: number
  isOpen: boolean
  /** The directory's lock admits one. */
  mover: Mover | null
  /** How far the open transaction of the mover comes, and those of killed ones. */
  sent: number | null
  orphans: number[]
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
      isMarked: false,
      database: [],
      moved: 0,
      end: 0,
      isOpen: false,
      mover: null,
      sent: null,
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
      orphanSteps(ways, state, take)
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
  const { mover, moved, sent, orphans } = state
  if (mover === null) {
    startSteps(ways, state, take)
    return
  }
  if (state.kills > 0) {
    take('the move is killed', (next) => {
      next.kills--
      next.mover = null
      next.sent = null
      if (sent !== null) next.orphans.push(sent)
    })
  }
  const isHeld = ways.held === 'by each transaction'
  const from = isHeld && ways.noted === 'with the events' ? moved : mover.written
  if (sent !== null) {
    take('moveRows commits', (next) => {
      commit(ways, next, sent)
      next.sent = null
      if (next.mover !== null) next.mover.written = sent
    })
  } else if (mover.written > moved && ways.noted === 'afterwards') {
    take('the move notes how far it is', (next) => (next.moved = mover.written))
  } else if (isHeld && orphans.length > 0) {
    // It waits for them.
  } else if (from < mover.end) {
    take(`moveRows sends event ${state.directory[from]}`, (next) => (next.sent = from + 1))
  } else finishSteps(ways, state, take)
}

function startSteps({ served, held }: MoveWays, state: MoveState, take: Take): void {
  const { directory, orphans } = state
  if (state.isOpen) return
  if (state.isMarked || (state.end > 0 && served === 'goes on')) {
    take('a move goes on', (next) => {
      next.mover = { written: state.moved, end: state.end }
    })
    return
  }
  if (held === 'by each transaction' && orphans.length > 0) return
  take('begin', (next) => {
    next.isMarked = true
    next.database = []
    next.moved = 0
    next.end = directory.length
    next.mover = { written: 0, end: directory.length }
  })
}

function orphanSteps(ways: MoveWays, { orphans }: MoveState, take: Take): void {
  if (orphans.length === 0) return
  take('what a killed move had sent is committed', (next) => {
    commit(ways, next, next.orphans.shift() ?? 0)
  })
  take('what a killed move had sent is rolled back', (next) => void next.orphans.shift())
}

/** The key of an event admits it once. */
function commit({ noted }: MoveWays, next: MoveState, through: number): void {
  const event = next.directory[through - 1] ?? 0
  if (event === NAMELESS || !next.database.includes(event)) next.database.push(event)
  if (noted === 'with the events') next.moved = through
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
      next.isMarked = false
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
