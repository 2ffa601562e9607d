// Transactions over nodes in the model of data on several nodes: the workers prepare their parts,
// the coordinator commits its own with a record of that, the workers commit what they prepared.
// Whatever is left prepared is committed if the coordinator has a record, and else rolled back.

import { applyPart, COORDINATOR, durably, isOther, recordOf, WORKER } from './nodes-state.ts'
import type { Decision, Distributed, NodesScenario, NodesState, Take } from './nodes-state.ts'
import { at } from './state.ts'

export function distributedSteps(scenario: NodesScenario, state: NodesState, take: Take): void {
  userSteps(scenario, state, take)
  jobSteps(scenario, state, take)
  decisionSteps(scenario, state, take)
  sessionSteps(scenario, state, take)
  recoverySteps(scenario, state, take)
}

function userSteps(scenario: NodesScenario, state: NodesState, take: Take): void {
  const { left, nodes } = state
  const { hasUser } = at(nodes, COORDINATOR).data
  if (isOther(state, COORDINATOR, 'its copy') || areUsersLocked(scenario, state)) return
  if (hasUser && left.deletions > 0) {
    take('deleteUser: the workers prepare', (next) => {
      next.left.deletions--
      begin(scenario, next, { kind: 'deletion', tx: ++next.txs })
    })
  }
  if (!hasUser && left.creations > 0) {
    take('createUser: the workers prepare', (next) => {
      next.left.creations--
      begin(scenario, next, { kind: 'creation', tx: ++next.txs })
    })
  }
}

/** A decision that aligns users locks them, on all nodes. */
function areUsersLocked({ ways }: NodesScenario, state: NodesState): boolean {
  return openIn(state).some(({ kind }) => kind !== 'decision' || ways.users === 'are aligned')
}

/** Transactions over nodes whose end is not known everywhere. */
function openIn({ nodes, sessions }: NodesState): Distributed[] {
  return [...nodes.flatMap(({ data }) => data.prepared), ...sessions.map(({ of }) => of)]
}

/** The workers that take part: a user is on one, the epoch on all. */
function workersOf({ nodes }: NodesState, { kind }: Distributed): number[] {
  if (kind !== 'decision') return [WORKER]
  return nodes.flatMap((_, node) => (node === COORDINATOR ? [] : [node]))
}

function jobSteps(scenario: NodesScenario, state: NodesState, take: Take): void {
  const { isOrdered } = at(state.nodes, WORKER).data
  if (!isOrdered) return
  take("continueUserDeletion: the worker's sensor is deleted", (next) => {
    durably(scenario, next, WORKER, (own) => {
      own.isOrdered = false
      if (own.sensor.life === 'live') own.sensor.life = 'deleted'
    })
  })
}

function begin(scenario: NodesScenario, state: NodesState, of: Distributed): void {
  state.sessions.push({ of, isCommitted: false, isLost: false, done: [] })
  const isUser = of.kind !== 'decision'
  if (isUser) state.user = null
  for (const node of workersOf(state, of)) {
    durably(scenario, state, node, ({ prepared }) => {
      if (isUser && scenario.ways.commit === 'one by one') applyPart(state, node, of)
      else prepared.push(of)
    })
  }
}

/** Every process looks at all nodes. What it decides locks the epoch on all of them. */
function decisionSteps(scenario: NodesScenario, state: NodesState, take: Take): void {
  const { ways } = scenario
  const all = state.nodes.map((_, node) => node)
  const others = all.filter((node) => isOther(state, node, recordOf(ways)))
  if (others.length === 0) return
  if (ways.decision === 'node by node') {
    for (const node of others) {
      take(`node ${node} is decided`, (next) => {
        const of = decide(scenario, next, [node])
        durably(scenario, next, node, () => applyPart(next, node, of))
      })
    }
    return
  }
  const pending = openIn(state)
  const isResolved = pending.length === 0 || ways.pending === 'is left'
  if (!isResolved || pending.some(({ kind }) => kind === 'decision')) return
  take(`decide for node ${others.join()}: the workers prepare`, (next) => {
    begin(scenario, next, decide(scenario, next, others))
  })
}

function decide(
  { ways }: NodesScenario,
  state: NodesState,
  others: readonly number[],
): Distributed & Decision {
  const { nodes } = state
  const now = at(nodes, COORDINATOR).data
  const areSeveral = others.length > 1 && ways.several === 'restored'
  const isLacking = others.some((node) => {
    const { epoch, heads } = at(nodes, node).data
    const seen = at(state.seen, node)
    return seen.epoch !== epoch || seen.heads.some((head, stream) => head > at(heads, stream))
  })
  const all = nodes.map((_, node) => node)
  const moved = { 'of the node': others, 'of all nodes': all, 'of none': [] }
  // The user's own node knows, or else the coordinator, whose commit comes before the worker's.
  const { hasState } = at(nodes, WORKER).data
  const knows = others.includes(WORKER) ? now.hasUser : hasState
  const hasUser = others.includes(COORDINATOR) ? knows || hasState : knows
  const recorded =
    ways.decision === 'everywhere'
      ? nodes.map(({ data }) => data.timeline)
      : at(nodes, at(others, 0)).data.recorded.map((timeline, node) =>
          others.includes(node) ? at(nodes, node).data.timeline : timeline,
        )
  return {
    kind: 'decision',
    tx: ++state.txs,
    epoch: ++state.epochs,
    id: isLacking || areSeveral ? ++state.ids : now.id,
    recorded,
    moved: moved[ways.moved],
    ended: ways.seen === 'until its takeover' ? others : all,
    hasUser: ways.users === 'are aligned' ? hasUser : null,
  }
}

function sessionSteps(scenario: NodesScenario, state: NodesState, take: Take): void {
  const { ways } = scenario
  state.sessions.forEach(({ of, isCommitted, done }, place) => {
    const { kind, tx } = of
    const isAlone = kind !== 'decision' && ways.commit === 'one by one'
    if (!isCommitted) {
      take(`${kind}: the coordinator commits`, (next) => {
        durably(scenario, next, COORDINATOR, ({ records }) => {
          applyPart(next, COORDINATOR, of)
          if (!isAlone) records.push(tx)
        })
        at(next.sessions, place).isCommitted = true
        if (isAlone || ways.acknowledged === 'after the coordinator') acknowledgeUser(next, of)
        if (isAlone) next.sessions.splice(place, 1)
      })
    }
    for (const node of workersOf(state, of)) {
      if (!isCommitted || done.includes(node)) continue
      take(`${kind}: worker ${node} commits what it prepared`, (next) => {
        const session = at(next.sessions, place)
        session.isLost ||= !commitPrepared(scenario, next, { of, node })
        session.done = [...done, node].toSorted((one, other) => one - other)
        if (session.done.length === workersOf(next, of).length) endSession(next, place)
      })
    }
    if (state.left.breaks === 0) return
    take(`${kind}: its connection is lost`, (next) => {
      next.left.breaks--
      next.sessions.splice(place, 1)
    })
  })
}

function endSession(state: NodesState, place: number): void {
  const { of, isLost } = at(state.sessions, place)
  state.sessions.splice(place, 1)
  forget(state, of.tx)
  if (!isLost) acknowledgeUser(state, of)
}

/** The record of a transaction is not needed when nothing of it is prepared. */
function forget({ nodes }: NodesState, tx: number): void {
  const { data } = at(nodes, COORDINATOR)
  data.records = data.records.filter((record) => record !== tx)
}

function acknowledgeUser(state: NodesState, { kind }: Distributed): void {
  if (kind === 'decision') return
  state.user = { isThere: kind === 'creation', id: at(state.nodes, COORDINATOR).data.id }
}

/** @returns whether it was still prepared: a restore may have lost that */
function commitPrepared(
  scenario: NodesScenario,
  state: NodesState,
  { of, node }: { readonly of: Distributed; readonly node: number },
): boolean {
  const part = at(state.nodes, node).data.prepared.find(({ tx }) => tx === of.tx)
  if (part === undefined) return false
  durably(scenario, state, node, (data) => {
    data.prepared = data.prepared.filter((one) => one !== part)
    applyPart(state, node, part)
  })
  return true
}

function recoverySteps(scenario: NodesScenario, state: NodesState, take: Take): void {
  const isAtWork = (tx: number) => state.sessions.some(({ of }) => of.tx === tx)
  const { records } = at(state.nodes, COORDINATOR).data
  state.nodes.forEach(({ data }, node) => {
    for (const of of data.prepared) {
      const { kind, tx } = of
      if (isAtWork(tx)) continue
      if (records.includes(tx)) {
        take(`${kind}: the part of worker ${node} is recovered`, (next) => {
          commitPrepared(scenario, next, { of, node })
        })
        continue
      }
      take(`${kind}: the part of worker ${node} is rolled back`, (next) => {
        durably(scenario, next, node, (own) => {
          own.prepared = own.prepared.filter((one) => one.tx !== tx)
        })
      })
    }
  })
  const isOpen = (tx: number) => openIn(state).some((one) => one.tx === tx)
  const ended = records.find((tx) => !isOpen(tx))
  if (ended === undefined) return
  take('the record of a transaction is forgotten', (next) => forget(next, ended))
}
