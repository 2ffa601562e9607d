// A model of processes that commit groups through the streams of one database, forward them, and
// lose connections, streams and databases at every moment. Each step is named after the function
// that takes it (src/postgres/stream/).
//
// It has a user with some sensors; senders that repeat what was not answered; forwarders; a client
// with an ETag and a cursor. It leaves out values, times, tie-breaks and limits.

import type { Model, Step } from './explore.ts'
import { clientSteps, forwarderSteps } from './outside.ts'
import { invariantsOf } from './invariants.ts'
import { at, copyOf, initialState } from './state.ts'
import type { Process, Scenario, State, Stored, Take, Transaction, Unknown, Ways } from './state.ts'
import {
  answer,
  apply,
  decide,
  findSensor,
  findSensors,
  holderOfStream,
  isDecided,
  mustLockUser,
  sendAgain,
  transactionsOf,
  waitsFor,
} from './transactions.ts'

/** More than a copy can lag. */
const LEASE_STEP = 100

export function replicas(scenario: Scenario): Model<State> {
  return {
    init: initialState(scenario),
    invariants: invariantsOf(scenario),
    next(state) {
      const steps: Step<State>[] = []
      const take: Take = (label, change) => {
        const changed = copyOf(state)
        change(changed)
        steps.push([label, changed])
      }
      state.processes.forEach((_, process) => processSteps(scenario, state, process, take))
      orphanSteps(scenario, state, take)
      forwarderSteps(scenario, state, take)
      upkeepSteps(scenario, state, take)
      clientSteps(scenario, state, take)
      return steps
    },
  }
}

function processSteps(scenario: Scenario, state: State, place: number, take: Take): void {
  const own = at(state.processes, place)
  const name = `process ${place}`
  const step: Take = (label, change) => take(`${name}: ${label}`, change)
  if (state.left.kills > 0 && (own.tx !== null || own.unknown !== null)) {
    step('is killed', (next) => {
      next.left.kills--
      const { tx, unknown } = at(next.processes, place)
      if (tx !== null) next.orphans.push({ tx, mayCommit: isDecided(tx) })
      sendAgain(next, tx?.sends ?? unknown?.answers.map(({ send }) => send) ?? [])
      next.processes[place] = idle()
    })
  }
  if (own.unknown !== null) settleSteps(scenario, state, place, step)
  else if (own.tx !== null) {
    transactionSteps(scenario, state, place, step)
    if (state.left.losses > 0) step('loses its connection', (next) => loseConnection(next, place))
  } else {
    changeSteps(scenario, state, place, step)
    if (own.stream < 0) takeStreamSteps(state, place, step)
    else beginSteps(scenario, state, place, step)
  }
}

function idle(): Process {
  return { stream: -1, fence: 0, tx: null, unknown: null, isCareful: false }
}

function unknownOf({ stream, seq, fence, group, answers }: Transaction): Unknown {
  return { stream, seq, fence, group, answers }
}

function loseConnection(state: State, place: number): void {
  const { tx, isCareful } = at(state.processes, place)
  if (tx === null) return
  state.left.losses--
  state.orphans.push({ tx, mayCommit: isDecided(tx) })
  const isUnknown = isDecided(tx) && tx.kind === 'group'
  if (!isUnknown) sendAgain(state, tx.sends)
  state.processes[place] = { ...idle(), unknown: isUnknown ? unknownOf(tx) : null, isCareful }
}

function takeStreamSteps(state: State, place: number, step: Take): void {
  state.db.streams.forEach((_, stream) => {
    if (state.left.takeovers === 0 || holderOfStream(state, stream) !== undefined) return
    step(`takeStream ${stream}`, (next) => {
      next.left.takeovers--
      const fence = ++at(next.db.streams, stream).fence
      next.processes[place] = { ...at(next.processes, place), stream, fence }
    })
  })
}

/** A lost commit: when the stream's row is free, its outcome is final. */
function settleSteps({ ways, ...scenario }: Scenario, state: State, place: number, step: Take) {
  const { unknown } = at(state.processes, place)
  if (unknown === null) return
  const { stream, seq, fence, group } = unknown
  if (holderOfStream(state, stream) === undefined) {
    step(`lookUpOutcome of row ${seq} of stream ${stream}`, (next) => {
      const held = ++at(next.db.streams, stream).fence
      next.processes[place] = { ...idle(), stream, fence: held, isCareful: true }
      if (ways.durability === 'replicated') next.copy = copyOf(next.db)
      const isThere = next.db.journal.some((row) => {
        if (row.stream !== stream || row.seq !== seq) return false
        if (ways.settledBy === 'seq') return true
        return ways.settledBy === 'fence' ? row.fence === fence : row.group === group
      })
      if (isThere) answer({ ways, ...scenario }, next, unknown.answers)
      else
        sendAgain(
          next,
          unknown.answers.map(({ send }) => send),
        )
    })
  }
  if (ways.pruned === 'forwarded' || scenario.budget.prunes === 0) return
  step('has waited too long and answers outcome_unknown', (next) => {
    for (const { send } of unknown.answers) next.sent[send] = 2
    next.processes[place] = idle()
  })
}

function beginSteps(scenario: Scenario, state: State, place: number, step: Take): void {
  const { stream, fence } = at(state.processes, place)
  if (holderOfStream(state, stream) !== undefined) return
  if (at(state.db.streams, stream).fence !== fence) {
    if (hasWork(scenario, state, place)) {
      step('holdStream finds itself fenced', (next) => (at(next.processes, place).stream = -1))
    }
    return
  }
  const waiting = scenario.sends.flatMap(({ to }, send) =>
    to === place && state.sent[send] === 0 ? [send] : [],
  )
  const groups = waiting.map((send) => [send])
  if (waiting.length > 1) groups.push(waiting)
  for (const group of groups) {
    step(
      `holdStream ${stream} for ${group.map((send) => `send ${send}`).join(' and ')}`,
      (next) => {
        for (const send of group) next.sent[send] = 1
        const tx = begin(next, place, 'group', group)
        findSensors(scenario, next.db, tx)
      },
    )
  }
}

function changeSteps(scenario: Scenario, state: State, place: number, step: Take): void {
  const sensor = findSensor(state.db, 0)
  if (sensor === undefined) return
  for (const kind of ['change', 'deletion'] as const) {
    const budget = kind === 'change' ? 'changes' : 'deletions'
    if (state.left[budget] === 0) continue
    step(`begins a ${kind} of sensor ${sensor}`, (next) => {
      next.left[budget]--
      const tx = begin(next, place, kind, [])
      tx.sensors = [sensor]
      if (kind === 'deletion' && scenario.ways.headsRead === 'before') tx.heads = headsOf(next)
    })
  }
}

function hasWork(scenario: Scenario, state: State, place: number): boolean {
  return scenario.sends.some(({ to }, send) => to === place && state.sent[send] === 0)
}

function begin(
  state: State,
  place: number,
  kind: Transaction['kind'],
  sends: readonly number[],
): Transaction {
  const own = at(state.processes, place)
  const isGroup = kind === 'group'
  const tx: Transaction = {
    kind,
    stream: isGroup ? own.stream : -1,
    fence: isGroup ? own.fence : 0,
    seq: isGroup ? at(state.db.streams, own.stream).head + 1 : 0,
    group: ++state.groups,
    sends,
    sensors: [],
    locked: 0,
    registers: [],
    hasUser: false,
    heads: null,
    known: null,
    isInserted: false,
    stored: [],
    answers: [],
  }
  own.tx = tx
  return tx
}

function headsOf({ db }: State): number[] {
  return db.streams.map(({ head }) => head)
}

function transactionSteps(scenario: Scenario, state: State, place: number, step: Take): void {
  const own = at(state.processes, place)
  const { tx } = own
  if (tx === null || waitsFor(state, tx) !== undefined) return
  const onTx = (label: string, change: (next: State, tx: Transaction) => void) => {
    step(label, (next) => {
      const changed = at(next.processes, place).tx
      if (changed !== null) change(next, changed)
    })
  }
  const sensor = tx.sensors[tx.locked]
  // A change needs no lock of the sensor: the user's is enough.
  const mustLockSensor = sensor !== undefined && tx.kind !== 'change'
  if (mustLockUser(tx)) {
    onTx('lockUsers', (next, changed) => {
      changed.hasUser = true
      if (changed.kind === 'group') findSensors(scenario, next.db, changed)
    })
  } else if (sensor !== undefined && at(state.db.sensors, sensor).isDeleted) {
    step(`misses sensor ${sensor}`, (next) => rollBack(next, place, false))
  } else if (mustLockSensor) {
    onTx(`lockSensors has ${sensor}`, (_, changed) => changed.locked++)
  } else if (tx.kind === 'group' && own.isCareful && tx.known === null) {
    onTx('findKnown', (next, changed) => {
      changed.known = next.db.ledger.map(({ event }) => event)
    })
  } else if (tx.kind === 'group' && !tx.isInserted) {
    insertSteps(scenario, state, place, step)
  } else if (tx.kind === 'deletion' && tx.heads === null) {
    onTx('readHeads', (next, changed) => (changed.heads = headsOf(next)))
  } else commitSteps(scenario, state, place, step)
}

function insertSteps(scenario: Scenario, state: State, place: number, step: Take): void {
  const decided = copyOf(at(state.processes, place).tx)
  if (decided === null) return
  decide(scenario, state.db, decided)
  const isNamed = ({ event }: Stored) => !scenario.nameless.includes(event)
  const events = decided.stored.filter(isNamed).map(({ event }) => event)
  const hasOneOfThem = ({ isInserted, stored }: Transaction) =>
    isInserted && stored.some(({ event }) => events.includes(event))
  // An insert waits for another transaction that has inserted the same key.
  if (transactionsOf(state).some(hasOneOfThem)) return
  const isMissed = state.db.ledger.some(({ event }) => events.includes(event))
  if (isMissed && scenario.ways.created === 'inserted') {
    step('insertEvents finds something known', (next) => rollBack(next, place, true))
    return
  }
  step('insertEvents', (next) => {
    const known = next.db.ledger.filter(isNamed).map(({ event }) => event)
    decided.stored = decided.stored.filter((one) => !isNamed(one) || !known.includes(one.event))
    at(next.processes, place).tx = { ...decided, isInserted: true }
  })
}

function rollBack(state: State, place: number, isCareful: boolean): void {
  const own = at(state.processes, place)
  sendAgain(state, own.tx?.sends ?? [])
  state.processes[place] = { ...own, tx: null, isCareful: own.isCareful || isCareful }
}

function commitSteps(scenario: Scenario, state: State, place: number, step: Take): void {
  const { durability, duplicates, unconfirmed } = scenario.ways
  const finish = (next: State): Transaction => {
    const own = at(next.processes, place)
    if (own.tx === null) throw new Error('BUG: nothing to commit')
    const { tx } = own
    apply(scenario, next, tx)
    next.processes[place] = { ...own, tx: null, isCareful: false }
    return tx
  }
  step('commit', (next) => {
    const tx = finish(next)
    const isWritten = tx.stored.length > 0 || tx.kind !== 'group' || duplicates === 'written'
    if (durability === 'replicated' && isWritten) next.copy = copyOf(next.db)
    answer(scenario, next, tx.answers)
  })
  if (state.left.cancels === 0) return
  step('commit comes back, and the standby has not confirmed it', (next) => {
    next.left.cancels--
    const tx = finish(next)
    if (unconfirmed === 'commit') answer(scenario, next, tx.answers)
    else if (tx.kind === 'group') next.processes[place] = { ...idle(), unknown: unknownOf(tx) }
  })
}

function orphanSteps(scenario: Scenario, state: State, take: Take): void {
  state.orphans.forEach(({ tx, mayCommit }, place) => {
    const what = `the lost transaction of stream ${tx.stream}`
    if (mayCommit) {
      take(`${what} commits`, (next) => {
        next.orphans.splice(place, 1)
        apply(scenario, next, tx)
      })
    }
    take(`${what} is rolled back`, (next) => next.orphans.splice(place, 1))
  })
}

function upkeepSteps({ ways, budget }: Scenario, state: State, take: Take): void {
  const { deletion, streams, journal } = state.db
  const isDue = deletion?.heads.every((head, place) => at(streams, place).forwarded >= head)
  if (deletion?.isDone === false && isDue === true) {
    take('notePass: the store has deleted the sensor', (next) => {
      next.store = next.store.filter(({ sensor }) => sensor !== deletion.sensor)
      if (next.db.deletion !== null) next.db.deletion.isDone = true
    })
  }
  const isOutOfPatience = state.processes.every(({ unknown }) => unknown === null)
  if (state.left.prunes > 0 && (ways.pruned === 'forwarded' || isOutOfPatience)) {
    streams.forEach(({ forwarded }, place) => {
      const isDone = (row: { stream: number; seq: number }) =>
        row.stream === place && row.seq <= forwarded
      if (!journal.some(isDone)) return
      take(`pruneJournal of stream ${place} through ${forwarded}`, (next) => {
        next.left.prunes--
        next.db.journal = journal.filter((row) => !isDone(row))
      })
    })
  }
  if (budget.promotions === 0) return
  if (ways.durability === 'local' && state.copy === null) {
    take('a copy of the database is taken', (next) => {
      next.copy = copyOf(next.db)
      next.storeCopy = copyOf(next.store)
    })
  }
  if (state.copy !== null && state.left.promotions > 0) {
    take('the copy takes over: noticePromotion', (next) => promote(ways, next))
  }
}

function promote({ durability, store, leases }: Ways, state: State): void {
  if (state.copy === null) return
  state.left.promotions--
  state.db = copyOf(state.copy)
  if (durability === 'local') {
    state.copy = null
    state.created = []
    state.acknowledged = []
    if (store === 'fenced') state.store = copyOf(state.storeCopy)
  }
  if (leases === 'ended') for (const stream of state.db.streams) stream.lease += LEASE_STEP
  state.epoch++
  state.orphans = []
  state.cursor = null
  state.processes.forEach(({ tx, unknown, isCareful }, place) => {
    const isUnknown = tx !== null && isDecided(tx) && tx.kind === 'group'
    if (tx !== null && !isUnknown) sendAgain(state, tx.sends)
    const lost = isUnknown ? unknownOf(tx) : unknown
    state.processes[place] = { ...idle(), unknown: lost, isCareful }
  })
}
