// What the model of the streams knows: the database, the processes that work on it, the senders.
// Everything is plain data, so that a state can be copied and compared.

/** A way of working; the first of each is what Thermolog does, the others are shown to fail. */
export interface Ways {
  /** What tells whether a lost commit went through: its seq and the random id of the group. */
  readonly settledBy: 'group' | 'fence' | 'seq'
  /** What a group calls created: only what it inserted. */
  readonly created: 'inserted' | 'sent'
  /** What makes a sensor's history complete: that all pending rows are forwarded. */
  readonly completeBy: 'pending' | 'last'
  /** What an ETag says: the sensors' versions and the epoch of the data, read before the list. */
  readonly etag: 'epoch' | 'version' | 'list first'
  /** Whether a store's write and the note of it are one transaction under the lease. */
  readonly store: 'fenced' | 'unfenced'
  /** The order in which a group locks its sensors. */
  readonly locks: 'sorted' | 'as sent'
  /** When a deletion reads the heads of the streams. */
  readonly headsRead: 'locked' | 'before'
  /** Whether the user's counter of settings grows with each change and deletion of a sensor. */
  readonly changes: 'counted' | 'uncounted'
  /** What is compared with a known event's sensor: the serial number. */
  readonly sameSensor: 'name' | 'id'
  /** Since when a row may be pruned: nobody can still look for its outcome. */
  readonly pruned: 'patience' | 'forwarded'
  /** Acknowledged is what is on the primary, or on its standby too. */
  readonly durability: 'local' | 'replicated'
  /** What is acknowledged when a commit comes back and the standby has not confirmed it. */
  readonly unconfirmed: 'nothing' | 'commit'
  /** Whether a promotion ends the forwarders' leases. */
  readonly leases: 'ended' | 'kept'
  /** Whether a group of duplicates alone waits for the standby. */
  readonly duplicates: 'written' | 'read'
}

export const RIGHT: Ways = {
  settledBy: 'group',
  created: 'inserted',
  completeBy: 'pending',
  etag: 'epoch',
  store: 'fenced',
  locks: 'sorted',
  headsRead: 'locked',
  changes: 'counted',
  sameSensor: 'name',
  pruned: 'patience',
  durability: 'local',
  unconfirmed: 'nothing',
  leases: 'ended',
  duplicates: 'written',
}

/** An element of a send: the event's number, and the sensor's name. */
export type Element = readonly [event: number, name: number]

/** What somebody sends, and to which process. */
export interface Send {
  readonly to: number
  readonly elements: readonly Element[]
}

/** How often each of these may happen. */
export interface Budget {
  readonly takeovers: number
  readonly losses: number
  readonly kills: number
  readonly forwards: number
  readonly prunes: number
  readonly changes: number
  readonly deletions: number
  /** Copies that take over: restores, promotions. */
  readonly promotions: number
  /** Waits for the standby that are cancelled, or that end because the settings change. */
  readonly cancels: number
  /** Clients that keep an ETag, and that keep a cursor. */
  readonly etags: number
  readonly cursors: number
}

export const NEVER: Budget = {
  takeovers: 0,
  losses: 0,
  kills: 0,
  forwards: 0,
  prunes: 0,
  changes: 0,
  deletions: 0,
  promotions: 0,
  cancels: 0,
  etags: 0,
  cursors: 0,
}

export interface Scenario {
  readonly ways: Ways
  readonly sends: readonly Send[]
  /** Events without an id. */
  readonly nameless: readonly number[]
  readonly processes: number
  readonly streams: number
  readonly budget: Budget
}

export interface Stored {
  readonly event: number
  readonly sensor: number
}

export interface Row {
  readonly stream: number
  readonly seq: number
  readonly fence: number
  readonly group: number
  readonly stored: readonly Stored[]
}

export interface Stream {
  fence: number
  head: number
  forwarded: number
  /** Counts the forwarders that have claimed it. */
  lease: number
}

/** A sensor's id is its place in the list. */
export interface Sensor {
  readonly name: number
  version: number
  /** The group or change that wrote its settings last. */
  settings: number
  /** The user's counter of settings then. */
  changedAt: number
  /** Its last writer. */
  stream: number
  seq: number
  /** By stream, the last row that may not be forwarded yet. */
  pending: Record<string, number>
  isDeleted: boolean
}

/** A deletion in the store: due when every stream is forwarded past these heads. */
export interface Deletion {
  readonly sensor: number
  readonly heads: readonly number[]
  isDone: boolean
}

/** What is committed and visible. */
export interface Database {
  ledger: Stored[]
  journal: Row[]
  streams: Stream[]
  sensors: Sensor[]
  /** The user's counter of registrations, changes and deletions. */
  settings: number
  deletion: Deletion | null
}

export type Status = 'created' | 'duplicate' | 'conflict'

/** What a group will answer when it is through. */
export interface Answer {
  readonly send: number
  readonly statuses: readonly Status[]
}

/** A transaction: of a group, of a sensor's change or of its deletion. */
export interface Transaction {
  readonly kind: 'group' | 'change' | 'deletion'
  /** −1: only groups have one. */
  readonly stream: number
  readonly fence: number
  readonly seq: number
  /** The random id of the attempt. */
  readonly group: number
  readonly sends: readonly number[]
  /** The sensors it is about, in the order in which it locks them. */
  sensors: number[]
  /** How many of them it has locked. */
  locked: number
  /** Names that it registers; then it needs the lock of the user, as whatever is no group. */
  registers: number[]
  hasUser: boolean
  /** Heads of the streams, once read. */
  heads: number[] | null
  /** Events that it has found; `null`: it has not looked. */
  known: number[] | null
  isInserted: boolean
  stored: Stored[]
  answers: Answer[]
}

/** A group whose outcome its process does not know. */
export interface Unknown {
  readonly stream: number
  readonly seq: number
  readonly fence: number
  readonly group: number
  readonly answers: readonly Answer[]
}

export interface Process {
  /** −1: it has none. */
  stream: number
  fence: number
  tx: Transaction | null
  unknown: Unknown | null
  /** The last attempt found something known: the next one looks first. */
  isCareful: boolean
}

export interface Forwarder {
  readonly stream: number
  readonly lease: number
  readonly throughSeq: number
  readonly stored: readonly Stored[]
  hasWritten: boolean
}

export interface State {
  db: Database
  /** A backup, or a standby: what would take over. */
  copy: Database | null
  /** The store of the copy, where it is in the same database. */
  storeCopy: Stored[]
  epoch: number
  /** The measurement store. */
  store: Stored[]
  processes: Process[]
  /** Transactions of lost connections, which the server still has. */
  orphans: { tx: Transaction; mayCommit: boolean }[]
  forwarders: Forwarder[]
  /** Per send: 0 to be sent, 1 under way, 2 answered. */
  sent: number[]
  /** Events that were acknowledged, and that a promotion must not lose. */
  acknowledged: number[]
  /** Events answered `created`. */
  created: number[]
  etag: { readonly tag: string | null; readonly content: string | null } | null
  cursor: {
    readonly heads: readonly number[]
    readonly settings: number
    /** What it has seen of each sensor. */
    readonly sensors: readonly string[]
  } | null
  groups: number
  left: Record<keyof Budget, number>
  /** What an answer was wrong in. */
  fault: string
}

/** Adds a step: what may happen, and what it changes. */
export type Take = (label: string, change: (state: State) => void) => void

export function initialState({ sends, processes, streams, budget, ways }: Scenario): State {
  const db: Database = {
    ledger: [],
    journal: [],
    streams: Array.from({ length: streams }, () => ({ fence: 0, head: 0, forwarded: 0, lease: 0 })),
    sensors: [],
    settings: 0,
    deletion: null,
  }
  const idle = { stream: -1, fence: 0, tx: null, unknown: null, isCareful: false }
  return {
    db,
    copy: ways.durability === 'replicated' ? copyOf(db) : null,
    storeCopy: [],
    epoch: 0,
    store: [],
    processes: Array.from({ length: processes }, () => ({ ...idle })),
    orphans: [],
    forwarders: [],
    sent: sends.map(() => 0),
    acknowledged: [],
    created: [],
    etag: null,
    cursor: null,
    groups: 0,
    left: { ...budget },
    fault: '',
  }
}

/** A deep copy of plain data. */
export function copyOf<Value>(value: Value): Value {
  if (Array.isArray(value)) return value.map(copyOf) as Value
  if (typeof value !== 'object' || value === null) return value
  const copy: Record<string, unknown> = {}
  for (const name in value) copy[name] = copyOf(value[name])
  return copy as Value
}

/** The element at a place that is certainly there. */
export function at<Value>(list: readonly Value[], place: number): Value {
  const value = list[place]
  if (value === undefined) throw new Error(`BUG: nothing at ${place}`)
  return value
}
