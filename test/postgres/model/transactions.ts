// What transactions do in the model of the streams: wait for locks, decide, and commit.

import { at } from './state.ts'
import type { Answer, Database, Scenario, State, Status, Transaction, Ways } from './state.ts'

/** The live sensor of a name. */
export function findSensor(db: Database, name: number): number | undefined {
  const id = db.sensors.findIndex((sensor) => sensor.name === name && !sensor.isDeleted)
  return id < 0 ? undefined : id
}

/** Transactions that the server has, with those of connections that are lost. */
export function transactionsOf(state: State): Transaction[] {
  const own = state.processes.flatMap(({ tx }) => (tx === null ? [] : [tx]))
  return [...own, ...state.orphans.map(({ tx }) => tx)]
}

export function holderOfStream(state: State, stream: number): Transaction | undefined {
  return transactionsOf(state).find((tx) => tx.stream === stream)
}

/** The transaction that this one waits for before its next step. */
export function waitsFor(state: State, tx: Transaction): Transaction | undefined {
  const others = transactionsOf(state).filter((other) => other !== tx)
  if (mustLockUser(tx)) return others.find(({ hasUser }) => hasUser)
  const next = tx.sensors[tx.locked]
  if (next !== undefined) {
    return others.find(({ sensors, locked }) => sensors.slice(0, locked).includes(next))
  }
  return undefined
}

/** The user's row has how many sensors there are. */
export function mustLockUser({ kind, registers, hasUser }: Transaction): boolean {
  return !hasUser && (registers.length > 0 || kind !== 'group')
}

/** Whether its COMMIT may be sent. */
export function isDecided({ kind, isInserted, hasUser, heads }: Transaction): boolean {
  if (kind === 'group') return isInserted
  return kind === 'change' ? hasUser : heads !== null
}

/** The elements of a group, in order, with the sends that they belong to. */
function elementsOf({ sends }: Scenario, { sends: group }: Transaction) {
  return group.flatMap((send) => at(sends, send).elements.map((element) => ({ send, element })))
}

/** Looks up the sensors that a group means, and notes which have to be registered. */
export function findSensors(scenario: Scenario, db: Database, tx: Transaction): void {
  const names = new Set(elementsOf(scenario, tx).map(({ element: [, name] }) => name))
  const found: number[] = []
  tx.registers = []
  for (const name of names) {
    const sensor = findSensor(db, name)
    if (sensor === undefined) tx.registers.push(name)
    else found.push(sensor)
  }
  const isSorted = scenario.ways.locks === 'sorted'
  tx.sensors = isSorted ? found.toSorted((one, other) => one - other) : found
}

/** What a group would store and answer, as far as it knows. */
export function decide(scenario: Scenario, db: Database, tx: Transaction): void {
  const { ways, nameless } = scenario
  const known = new Map(
    db.ledger.flatMap(({ event, sensor }) =>
      tx.known?.includes(event) === true ? [[event, sensor] as const] : [],
    ),
  )
  const sensorOf = (name: number) => {
    const registered = tx.registers.indexOf(name)
    return registered < 0 ? (findSensor(db, name) ?? -1) : db.sensors.length + registered
  }
  const nameOf = (sensor: number) =>
    db.sensors[sensor]?.name ?? at(tx.registers, sensor - db.sensors.length)
  const statuses = new Map<number, Status[]>(tx.sends.map((send) => [send, []]))
  tx.stored = []
  for (const { send, element } of elementsOf(scenario, tx)) {
    const [event, name] = element
    const first = nameless.includes(event) ? undefined : known.get(event)
    const isSame =
      ways.sameSensor === 'name'
        ? first !== undefined && nameOf(first) === name
        : first === sensorOf(name)
    statuses.get(send)?.push(first === undefined ? 'created' : isSame ? 'duplicate' : 'conflict')
    if (first !== undefined) continue
    known.set(event, sensorOf(name))
    tx.stored.push({ event, sensor: sensorOf(name) })
  }
  tx.answers = [...statuses].map(([send, found]): Answer => ({ send, statuses: found }))
}

/** Makes visible what a transaction has changed. */
export function apply(scenario: Scenario, state: State, tx: Transaction): void {
  if (tx.kind === 'group') applyGroup(scenario, state, tx)
  else applyChange(scenario, state, tx)
}

function applyChange({ ways }: Scenario, { db }: State, tx: Transaction): void {
  const id = at(tx.sensors, 0)
  const sensor = at(db.sensors, id)
  if (sensor.isDeleted) return
  if (ways.changes === 'counted') db.settings++
  sensor.settings = tx.group
  sensor.changedAt = db.settings
  sensor.isDeleted = tx.kind === 'deletion'
  if (tx.heads !== null) db.deletion = { sensor: id, heads: tx.heads, isDone: false }
}

function applyGroup({ ways }: Scenario, { db }: State, tx: Transaction): void {
  const { stream, seq, fence, group, stored, registers } = tx
  if (registers.length > 0) db.settings++
  const changed = new Set(stored.map(({ sensor }) => sensor))
  for (const name of registers) {
    changed.add(db.sensors.length)
    const none = { version: 0, settings: 0, stream: -1, seq: 0, pending: {}, isDeleted: false }
    db.sensors.push({ name, changedAt: db.settings, ...none })
  }
  if (changed.size === 0) return
  db.ledger.push(...stored)
  db.ledger.sort((one, other) => one.event - other.event || one.sensor - other.sensor)
  for (const id of changed) {
    const sensor = at(db.sensors, id)
    sensor.version++
    sensor.stream = stream
    sensor.seq = seq
    const pending = Object.entries(sensor.pending).filter(
      ([other, last]) => last > at(db.streams, Number(other)).forwarded,
    )
    sensor.pending = { ...Object.fromEntries(pending), [stream]: seq }
  }
  at(db.streams, stream).head = seq
  const id = ways.settledBy === 'group' ? group : 0
  db.journal.push({ stream, seq, fence, group: id, stored })
}

/** Tells senders what became of their sends; notes where that contradicts the data. */
export function answer(scenario: Scenario, state: State, answers: readonly Answer[]): void {
  for (const { send, statuses } of answers) {
    state.sent[send] = 2
    at(scenario.sends, send).elements.forEach(([event, name], place) => {
      const status = at(statuses, place)
      const stored = state.db.ledger.filter((one) => one.event === event)
      const isSame = stored.some(({ sensor }) => at(state.db.sensors, sensor).name === name)
      if (stored.length === 0) state.fault = `event ${event}: ${status}, and in no ledger`
      else if (isSame === (status === 'conflict'))
        state.fault = `event ${event}: ${status} is wrong`
      const isNamed = !scenario.nameless.includes(event)
      if (status === 'created' && isNamed && state.created.includes(event)) {
        state.fault = `event ${event} was created twice`
      }
      if (status === 'created') state.created.push(event)
      if (!state.acknowledged.includes(event)) state.acknowledged.push(event)
    })
  }
  state.created.sort((one, other) => one - other)
  state.acknowledged.sort((one, other) => one - other)
}

/** Its sender sends it again. */
export function sendAgain(state: State, sends: readonly number[]): void {
  for (const send of sends) state.sent[send] = 0
}

/** What a client sees of each sensor. */
export function sensorsShown({ sensors }: Database): string[] {
  return sensors.map(({ version, settings, isDeleted }) => `${version}/${settings}/${isDeleted}`)
}

/** What a client sees of all sensors, and the tag for it. */
export function shown(etag: Ways['etag'], { db, epoch }: State) {
  const versions = db.sensors.map(({ version }) => version).join()
  const settings = db.sensors.map(({ settings: set, isDeleted }) => (isDeleted ? '-' : set)).join()
  const events = db.ledger.map(({ event, sensor }) => `${event}@${sensor}`).join()
  const version = `${db.settings}/${versions}`
  return {
    tag: etag === 'version' ? version : `${epoch}/${version}`,
    content: `${settings}; ${events}`,
  }
}
