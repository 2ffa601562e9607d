// A model of data that are spread over nodes: a coordinator and a worker, each of which may be
// replaced alone by a standby or by a backup, while the other keeps what it has. Each node has the
// shard of one user with one sensor, and a copy of what every node knows: the epoch, the data's id
// and the recorded servers. The coordinator has the row of the worker's user.
//
// A step is a local transaction of one node, or a part of one that runs on both: see
// nodes-distributed.ts. What happens within a node is in replicas.ts, and how the processes tell a
// restore from a promotion in takeover.ts: here they know all that was acknowledged.

import type { Model, Step } from './explore.ts'
import { distributedSteps } from './nodes-distributed.ts'
import { invariantsOf } from './nodes-invariants.ts'
import { clientSteps, forwarderSteps } from './nodes-outside.ts'
import {
  accept,
  acknowledge,
  CONTROL,
  durably,
  initialState,
  isOther,
  LANE,
  toldOfUser,
  WORKER,
} from './nodes-state.ts'
import type { Data, NodesScenario, NodesState, Take } from './nodes-state.ts'
import { at, copyOf } from './state.ts'

export function nodes(scenario: NodesScenario): Model<NodesState> {
  return {
    init: initialState(scenario),
    invariants: invariantsOf(scenario),
    next(state) {
      const steps: Step<NodesState>[] = []
      const take: Take = (label, change) => {
        const changed = copyOf(state)
        change(changed)
        steps.push([label, changed])
      }
      laneSteps(scenario, state, take)
      changeSteps(scenario, state, take)
      distributedSteps(scenario, state, take)
      takeoverSteps(state, take)
      forwarderSteps(scenario, state, take)
      clientSteps(scenario, state, take)
      return steps
    },
  }
}

/** Lanes are connected straight to a node; a takeover ends their connections. */
function laneSteps(scenario: NodesScenario, state: NodesState, take: Take): void {
  const { ways, sends, budget } = scenario
  sends.forEach((node, event) => {
    // Of events that were never sent, one is like the other.
    const isFirst =
      budget.losses > 0 || sends.indexOf(node) === event || state.sent[event - 1] !== 'no'
    if (isFirst && state.sent[event] === 'no' && mayCommit(scenario, state, node)) {
      groupSteps(scenario, state, event, take)
    }
  })
  state.unknown.forEach(({ events, group }, place) => {
    const first = at(sends, at(events, 0))
    if (!mayCommit(scenario, state, first)) return
    take(`lookUpOutcome of group ${group} on node ${first}`, (next) => {
      next.unknown.splice(place, 1)
      const isThere = at(next.nodes, first).data.rows.some((row) => row.group === group)
      for (const event of events) {
        if (isThere) accept(scenario, next, event)
        else next.sent[event] = 'no'
      }
    })
  })
  if (ways.group === 'of one shard' || !state.sent.every((sent) => sent === 'no')) return
  if (!sends.every((node) => mayCommit(scenario, state, node))) return
  take(`a group of all shards commits on node ${sends[0]}`, (next) => {
    const group = ++next.groups
    store(scenario, next, 0, group)
    next.half = group
    next.sent = sends.map(() => 'unknown')
  })
}

/** Whether a lane has a connection that it may use, and its stream's row is free. */
function mayCommit({ ways }: NodesScenario, state: NodesState, node: number): boolean {
  const { data } = at(state.nodes, node)
  const isChecked = ways.lane !== 'compares nothing'
  if (isChecked && isOther(state, node, ways.lane)) return false
  return !isMoving(data, node)
}

/** Whether the rows of the streams are locked. */
function isMoving({ prepared }: Data, node: number): boolean {
  return prepared.some((part) => part.kind === 'decision' && part.moved.includes(node))
}

function groupSteps(scenario: NodesScenario, state: NodesState, event: number, take: Take): void {
  const node = at(scenario.sends, event)
  const { data } = at(state.nodes, node)
  if (state.half !== null) return
  if (data.rows.some((row) => row.event === event)) {
    take(`event ${event} is a duplicate`, (next) => accept(scenario, next, event))
    return
  }
  const isRegistering = data.sensor.life === 'none'
  const isUserLocked = data.prepared.some(({ kind }) => kind === 'deletion')
  if (isRegistering && isUserLocked) return
  if (data.isOrdered || data.sensor.life === 'deleted' || (isRegistering && !data.hasState)) {
    take(`event ${event} is refused: no such user`, (next) => {
      next.sent[event] = 'refused'
      if (toldOfUser(next) === 'is there')
        next.fault = `event ${event} is refused to a user who exists`
    })
    return
  }
  take(`event ${event} commits on node ${node}`, (next) => {
    store(scenario, next, event, ++next.groups)
    accept(scenario, next, event)
  })
  if (state.left.losses === 0) return
  take(`event ${event} commits on node ${node}, unanswered`, (next) => {
    next.left.losses--
    const group = ++next.groups
    store(scenario, next, event, group)
    next.sent[event] = 'unknown'
    next.unknown.push({ events: [event], group })
  })
}

function store(scenario: NodesScenario, state: NodesState, event: number, group: number): void {
  const node = at(scenario.sends, event)
  if (isOther(state, node, 'its copy')) state.undecided = `event ${event} on node ${node}`
  if (node === WORKER && toldOfUser(state) === 'is deleted')
    state.fault = `event ${event}: the user is deleted`
  durably(scenario, state, node, (data) => {
    const seq = at(data.heads, LANE) + 1
    data.heads[LANE] = seq
    data.rows.push({ stream: LANE, seq, group, event })
    const { sensor } = data
    if (sensor.life === 'none') sensor.changedAt = ++data.settings
    sensor.life = 'live'
    sensor.version++
    sensor.seq = seq
  })
}

/** Changes of a sensor's settings, and the second half of a group that runs on both nodes. */
function changeSteps(scenario: NodesScenario, state: NodesState, take: Take): void {
  const { ways, sends } = scenario
  state.nodes.forEach(({ data }, node) => {
    if (state.left.changes === 0 || data.sensor.life !== 'live' || !data.hasState) return
    if (isMoving(data, node) || data.prepared.some(({ kind }) => kind === 'deletion')) return
    if (ways.changes === 'straight' && isOther(state, node, 'its copy')) return
    take(`PATCH on node ${node}`, (next) => {
      next.left.changes--
      const group = ++next.groups
      durably(scenario, next, node, (changed) => {
        const seq = at(changed.heads, CONTROL) + 1
        changed.heads[CONTROL] = seq
        changed.rows.push({ stream: CONTROL, seq, group, event: null })
        changed.sensor.changedAt = ++changed.settings
        changed.sensor.version++
      })
      acknowledge(next, node, { stream: CONTROL, group })
    })
  })
  const { half } = state
  if (half === null) return
  take('the connection is lost after half of the group', (next) => {
    next.half = null
    next.unknown.push({ events: sends.map((_, event) => event), group: half })
  })
  if (!mayCommit(scenario, state, at(sends, 1))) return
  take(`the group commits on node ${sends[1]}`, (next) => {
    next.half = null
    store(scenario, next, 1, half)
    sends.forEach((_, event) => accept(scenario, next, event))
  })
}

function takeoverSteps(state: NodesState, take: Take): void {
  state.nodes.forEach(({ past }, node) => {
    if (state.left.promotions > 0) {
      take(`the standby of node ${node} is promoted`, (next) => {
        next.left.promotions--
        at(next.nodes, node).data.timeline++
        loseSessions(next, node)
      })
    }
    if (state.left.restores === 0) return
    past.forEach((data, place) => {
      take(`node ${node} is restored without its last ${past.length - place}`, (next) => {
        next.left.restores--
        const timeline = data.timeline + 1
        next.nodes[node] = { data: { ...copyOf(data), timeline }, past: past.slice(0, place + 1) }
        loseSessions(next, node)
      })
    })
  })
}

/** A transaction over nodes is one of the coordinator; what it has prepared needs no connection. */
function loseSessions(state: NodesState, node: number): void {
  if (node !== WORKER) state.sessions = []
}
