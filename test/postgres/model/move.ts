// A model of moving a data directory into a database: movers that are killed and start again, two
// at once, a service that is started in between, and senders that repeat what was not answered.
//
// The directory's events are moved in their order, one a transaction, each with the note of how far
// the move has come. Event 0 has an id, event 1 has none; event 2 may be accepted while no mover
// holds the directory.

import type { Model, Step } from './explore.ts'
import { copyOf } from './state.ts'

/** A way of working; the first of each is the right one, the others are shown to fail. */
export interface MoveWays {
  /** Whether events and the note of how far they are moved are one transaction. */
  readonly noted: 'with the events' | 'afterwards'
  /** Which comes first at the end. */
  readonly order: 'closeDirectory' | 'openDatabase'
  /** Whether a directory that is served again after a killed move is moved to its new end. */
  readonly end: 'of now' | 'of the start'
}

interface Mover {
  /** How far it has written, when that is not noted yet. */
  written: number
  /** What the directory had when it began. */
  readonly end: number
}

export interface MoveState {
  /** Events in the order in which they were accepted. */
  readonly directory: number[]
  isClosed: boolean
  readonly database: number[]
  moved: number
  /** The directory's end at the first start of a move. */
  firstEnd: number
  isOpen: boolean
  /** The directory's lock admits one. */
  mover: Mover | null
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
      moved: 0,
      firstEnd: 0,
      isOpen: false,
      mover: null,
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
  const { mover, directory, moved } = state
  if (mover === null) {
    if (state.isOpen) return
    take('a move is started', (next) => {
      next.firstEnd ||= directory.length
      const end = ways.end === 'of now' ? directory.length : next.firstEnd
      next.mover = { written: moved, end }
    })
    return
  }
  if (state.kills > 0) {
    take('the move is killed', (next) => {
      next.kills--
      next.mover = null
    })
  }
  const event = directory[mover.written]
  if (mover.written > moved)
    take('the move notes how far it is', (next) => (next.moved = mover.written))
  else if (event !== undefined && mover.written < mover.end) {
    take(`moveEvents writes event ${event}`, (next) => {
      if (event === NAMELESS || !next.database.includes(event)) next.database.push(event)
      if (next.mover !== null) next.mover.written++
      if (ways.noted === 'with the events') next.moved++
    })
  } else finishSteps(ways, state, take)
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
