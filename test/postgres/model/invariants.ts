// What must hold in every state of the model of the streams.

import type { Model } from './explore.ts'
import { at } from './state.ts'
import type { Scenario, State } from './state.ts'
import { sensorsShown, shown, transactionsOf, waitsFor } from './transactions.ts'

type Invariants = Model<State>['invariants']

export function invariantsOf(scenario: Scenario): Invariants {
  const { ways, budget } = scenario
  const isWhole = budget.prunes === 0
  return {
    'no answer contradicts the ledger': ({ fault }) => (fault === '' ? undefined : fault),
    'what is acknowledged stays': ({ acknowledged, db }) => {
      const lost = acknowledged.find((event) => !db.ledger.some((one) => one.event === event))
      return lost === undefined ? undefined : `event ${lost} is gone`
    },
    'an event is stored once': ({ db }) => {
      const events = db.ledger.map(({ event }) => event)
      const twice = events.find((event, place) => events.indexOf(event) !== place)
      return twice === undefined ? undefined : `event ${twice} is there twice`
    },
    'the journal has what the ledger has': ({ db }) => {
      const rows = db.journal.flatMap(({ stored }) => stored)
      const isSame = !isWhole || rows.length === db.ledger.length
      return isSame ? undefined : 'they differ'
    },
    'streams have no holes': ({ db }) => {
      const hole = db.streams.findIndex(({ head }, stream) => {
        const rows = db.journal.filter((row) => row.stream === stream)
        return rows.length !== head || rows.some(({ seq }, place) => seq !== place + 1)
      })
      return hole < 0 || !isWhole ? undefined : `stream ${hole} has one`
    },
    'a name has one live sensor': ({ db }) => {
      const names = db.sensors.filter(({ isDeleted }) => !isDeleted).map(({ name }) => name)
      return new Set(names).size === names.length ? undefined : 'one has two'
    },
    'a complete history is complete': (state) => incomplete(ways.completeBy, state),
    'a cursor tells every change': ({ cursor, db }) => {
      if (cursor === null) return undefined
      const now = sensorsShown(db)
      const untold = db.sensors.findIndex(({ stream, seq, changedAt }, id) => {
        const isTold = changedAt > cursor.settings || seq > at(cursor.heads, stream)
        return now[id] !== cursor.sensors[id] && !isTold
      })
      return untold < 0 ? undefined : `that of sensor ${untold} is not told`
    },
    'an ETag that matches means the same content': (state) => {
      const now = shown(ways.etag, state)
      const { etag } = state
      if (etag?.tag !== now.tag || etag.content === null) return undefined
      return etag.content === now.content ? undefined : `kept ${etag.content}, now ${now.content}`
    },
    'what is deleted stays deleted': ({ db, store }) => {
      const isOver = db.deletion?.isDone === true
      const isBack = isOver && store.some(({ sensor }) => sensor === db.deletion?.sensor)
      return isBack ? 'the store has measurements of it' : undefined
    },
    'nobody waits in a circle': circle,
  }
}

function incomplete(completeBy: 'pending' | 'last', { db, store }: State): string | undefined {
  const isForwarded = (stream: number, seq: number) => at(db.streams, stream).forwarded >= seq
  const missing = db.sensors.findIndex(({ isDeleted, pending, stream, seq }, id) => {
    const says =
      completeBy === 'last'
        ? stream < 0 || isForwarded(stream, seq)
        : Object.entries(pending).every(([other, last]) => isForwarded(Number(other), last))
    if (isDeleted || !says) return false
    const isStored = (event: number) =>
      store.some((one) => one.event === event && one.sensor === id)
    return db.ledger.some(({ event, sensor }) => sensor === id && !isStored(event))
  })
  return missing < 0 ? undefined : `the store lacks measurements of sensor ${missing}`
}

function circle(state: State): string | undefined {
  for (const start of transactionsOf(state)) {
    let tx = waitsFor(state, start)
    for (let steps = 0; tx !== undefined && tx !== start && steps < 5; steps++) {
      tx = waitsFor(state, tx)
    }
    if (tx === start) return `the transaction of stream ${start.stream} waits for itself`
  }
  return undefined
}
