// What the model of data on several nodes knows.

import { at, copyOf } from './state.ts'

export const COORDINATOR = 0
export const WORKER = 1
/** Streams of a shard. */
export const CONTROL = 0
export const LANE = 1

/** More rows and claims than a restore can lose. */
const MOVED = 100

/** One statement of a client's look: what it reads, and of which node. */
export interface Read {
  readonly what: 'epoch' | 'data' | 'epoch and data'
  readonly node: number
}

/** A way of working; the first of each is the right one. */
export interface NodesWays {
  /** The statements that make a cursor. */
  readonly cursor: readonly Read[]
  /** With which record of a node's server a lane compares it, on connecting. */
  readonly lane: 'its copy' | "the coordinator's copy" | 'compares nothing'
  /** Which connection writes what is no submission. */
  readonly changes: 'straight' | 'through the coordinator'
  /** Which connection a forwarder claims a stream through. */
  readonly claims: 'straight' | 'through the coordinator'
  readonly group: 'of one shard' | 'of two, node by node'
  readonly decision: 'everywhere' | 'node by node'
  /** Whose streams a decision moves. */
  readonly moved: 'of the node' | 'of all nodes' | 'of none'
  /** How long a process remembers what it has seen of a node's streams. */
  readonly seen: 'until its takeover' | 'until any takeover'
  /** What several nodes are if other servers have them at once, and no lane lacks anything. */
  readonly several: 'restored' | 'promoted'
  /** What a decision does with users that one node has and the other has not. */
  readonly users: 'are aligned' | 'stay'
  /** What a decision does with parts that are prepared. */
  readonly pending: 'is resolved first' | 'is left'
  /** How users are made and deleted. */
  readonly commit: 'in two phases' | 'one by one'
  /** When that is acknowledged. */
  readonly acknowledged: 'after every part' | 'after the coordinator'
}

export interface NodesBudget {
  /** Groups whose COMMIT is not answered. */
  readonly losses: number
  readonly changes: number
  readonly deletions: number
  readonly creations: number
  /** Transactions over nodes whose connection is lost. */
  readonly breaks: number
  readonly reads: number
  readonly forwards: number
  readonly promotions: number
  readonly restores: number
}

export interface NodesScenario {
  readonly ways: NodesWays
  /** By event, the node of its user. */
  readonly sends: readonly number[]
  /** The coordinator, the worker of the user, and others. */
  readonly nodes: number
  /** Nodes that have a backup. */
  readonly backups: readonly number[]
  readonly budget: NodesBudget
}

export interface Decision {
  readonly epoch: number
  readonly id: number
  /** The timelines of all nodes, as read by its transaction. */
  readonly recorded: readonly number[]
  readonly moved: readonly number[]
  /** Nodes of whose streams nothing that was seen before counts. */
  readonly ended: readonly number[]
  /** Whether the worker's user is there; `null`: that is left as it is. */
  readonly hasUser: boolean | null
}

/** A transaction over nodes, or the part of it that a node has prepared. */
export type Distributed =
  | { readonly kind: 'deletion' | 'creation'; readonly tx: number }
  | ({ readonly kind: 'decision'; readonly tx: number } & Decision)

export interface Data {
  /** Which server has them: one more with each takeover, so that two restores look the same. */
  timeline: number
  recorded: number[]
  epoch: number
  id: number
  /** The row of the worker's user in `users`: on the coordinator. */
  hasUser: boolean
  /** The row in `user_state` of this node's user, and in `user_deletions`. */
  hasState: boolean
  isOrdered: boolean
  settings: number
  /** The last write of each stream. */
  heads: number[]
  sensor: { life: 'none' | 'live' | 'deleted'; changedAt: number; version: number; seq: number }
  /** Ledger and journal; `null`: no submission. */
  rows: { readonly stream: number; seq: number; group: number; event: number | null }[]
  /** How far the lane's stream is forwarded, and the number of its forwarder. */
  forwarded: number
  lease: number
  prepared: Distributed[]
  /** On the coordinator: transactions over nodes that are to be committed. */
  records: number[]
}

interface ShardSeen {
  readonly node: number
  readonly settings: number
  readonly heads: readonly number[]
  readonly version: number
  readonly content: readonly number[]
}

export interface NodesState {
  nodes: { data: Data; past: Data[] }[]
  /** Transactions over nodes that somebody is still at. */
  sessions: {
    readonly of: Distributed
    isCommitted: boolean
    /** Workers that have committed what they had prepared; one may have lost it. */
    done: number[]
    isLost: boolean
  }[]
  sent: ('no' | 'unknown' | 'answered' | 'refused')[]
  unknown: { readonly events: readonly number[]; readonly group: number }[]
  /** A group that has committed on the first of two nodes. */
  half: number | null
  acknowledged: {
    readonly node: number
    readonly id: number
    readonly event?: number
    readonly group?: number
  }[]
  /** What was acknowledged of the worker's user. */
  user: { readonly isThere: boolean; readonly id: number } | null
  /** What the processes know of each node. */
  seen: { epoch: number; heads: number[] }[]
  client: { readonly epoch: number; readonly seen: readonly ShardSeen[] } | null
  reading: {
    done: number
    epoch: number
    seen: (ShardSeen & { readonly told: Data['sensor'] })[]
  } | null
  forwarders: {
    readonly lease: number
    readonly throughSeq: number
    readonly groups: readonly number[]
    hasWritten: boolean
  }[]
  /** Groups whose measurements are in the store. */
  store: number[]
  groups: number
  txs: number
  epochs: number
  ids: number
  left: Record<keyof NodesBudget, number>
  /** What was accepted on a node whose takeover was not decided. */
  undecided: string
  fault: string
}

export type Take = (label: string, change: (state: NodesState) => void) => void

export function initialState({ sends, budget, nodes: count }: NodesScenario): NodesState {
  const isThere = budget.creations === 0
  const nodes = Array.from({ length: count }, (_, node) => {
    const data: Data = {
      timeline: 1,
      recorded: Array.from({ length: count }, () => 1),
      epoch: 0,
      id: 0,
      hasUser: node === COORDINATOR && isThere,
      hasState: node !== WORKER || isThere,
      isOrdered: false,
      settings: 0,
      heads: [0, 0],
      sensor: { life: 'none', changedAt: 0, version: 0, seq: 0 },
      rows: [],
      forwarded: 0,
      lease: 0,
      prepared: [],
      records: [],
    }
    return { data, past: [] }
  })
  return {
    nodes,
    sessions: [],
    sent: sends.map(() => 'no'),
    unknown: [],
    half: null,
    acknowledged: [],
    user: null,
    seen: nodes.map(() => ({ epoch: 0, heads: [0, 0] })),
    client: null,
    reading: null,
    forwarders: [],
    store: [],
    groups: 0,
    txs: 0,
    epochs: 0,
    ids: 0,
    left: { ...budget },
    undecided: '',
    fault: '',
  }
}

/** Two commits of a node are as many as a restore may lose. */
const PAST_MAX = 2

/** A local transaction of a node. */
export function durably(
  { backups, budget }: NodesScenario,
  { nodes }: NodesState,
  node: number,
  change: (data: Data) => void,
): void {
  const own = at(nodes, node)
  if (budget.restores > 0 && backups.includes(node)) {
    own.past = [...own.past, copyOf(own.data)].slice(-PAST_MAX)
  }
  change(own.data)
}

/** Whose record of the servers is believed. */
export function recordOf({ lane }: NodesWays): NodesWays['lane'] {
  return lane === 'compares nothing' ? 'its copy' : lane
}

/** Whether the server of a node is another than the recorded one. */
export function isOther({ nodes }: NodesState, node: number, by: NodesWays['lane']): boolean {
  const { data } = at(nodes, node)
  const { recorded } = by === 'its copy' ? data : at(nodes, COORDINATOR).data
  return recorded[node] !== data.timeline
}

/** Whether `/changes` has the sensor. */
export function isTold(
  { settings, heads }: { readonly settings: number; readonly heads: readonly number[] },
  sensor: Data['sensor'],
): boolean {
  return sensor.changedAt > settings || sensor.seq > at(heads, LANE)
}

/** What was acknowledged of the worker's user, unless something was told to be lost since then. */
export function toldOfUser({ user, nodes }: NodesState): 'is there' | 'is deleted' | undefined {
  if (user === null || user.id !== at(nodes, WORKER).data.id) return undefined
  return user.isThere ? 'is there' : 'is deleted'
}

export function accept({ sends }: NodesScenario, state: NodesState, event: number): void {
  state.sent[event] = 'answered'
  acknowledge(state, at(sends, event), { stream: LANE, event })
}

export function acknowledge(
  state: NodesState,
  node: number,
  { stream, ...what }: { readonly stream: number; event?: number; group?: number },
): void {
  const { id, heads } = at(state.nodes, node).data
  state.acknowledged.push({ node, id, ...what })
  const seen = at(state.seen, node)
  seen.heads[stream] = Math.max(at(seen.heads, stream), at(heads, stream))
}

/** What a part of a transaction over nodes does on a node. */
export function applyPart(state: NodesState, node: number, part: Distributed): void {
  const { data } = at(state.nodes, node)
  if (part.kind !== 'decision') {
    setUser(data, node, part.kind === 'creation')
    return
  }
  data.epoch = part.epoch
  data.id = part.id
  if (data.recorded[node] !== part.recorded[node]) data.lease += MOVED
  data.recorded = [...part.recorded]
  if (part.moved.includes(node)) data.heads = data.heads.map((head) => head + MOVED)
  if (part.hasUser !== null) setUser(data, node, part.hasUser)
  const { epoch, heads } = data
  const seen = at(state.seen, node)
  const isEnded = seen.epoch !== epoch && part.ended.includes(node)
  state.seen[node] = { epoch, heads: isEnded ? [...heads] : seen.heads }
}

function setUser(data: Data, node: number, isThere: boolean): void {
  if (node === COORDINATOR) data.hasUser = isThere
  if (node !== WORKER) return
  const isLeft = data.hasState || data.sensor.life === 'live'
  if (!isThere && isLeft) data.isOrdered = true
  data.hasState = isThere
}
