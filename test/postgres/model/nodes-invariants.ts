// What must hold in the model of data on several nodes.

import type { Model } from './explore.ts'
import { COORDINATOR, isOther, isTold, LANE, recordOf, WORKER } from './nodes-state.ts'
import type { NodesScenario, NodesState, NodesWays } from './nodes-state.ts'
import { at } from './state.ts'

export function invariantsOf({ ways, budget }: NodesScenario): Model<NodesState>['invariants'] {
  return {
    'what is lost is told': (state) => {
      const untold = state.acknowledged.find(({ node, id, event, group }) => {
        const { data } = at(state.nodes, node)
        if (isOther(state, node, recordOf(ways)) || data.id !== id) return false
        return !data.rows.some((row) => row.event === event || row.group === group)
      })
      return untold && `${JSON.stringify(untold)} is gone`
    },
    'a promotion is no restore': ({ ids, left }) => {
      const isAlone = left.restores === budget.restores && budget.promotions <= 1
      return isAlone && ids > 0 ? 'the id is another' : undefined
    },
    'an event is stored once': ({ nodes }) => {
      const events = nodes.flatMap(({ data }) => data.rows.map(({ event }) => event))
      const named = events.filter((event) => event !== null)
      return new Set(named).size === named.length ? undefined : 'one is there twice'
    },
    'answers are right': ({ fault }) => (fault === '' ? undefined : fault),
    'nothing is accepted before a takeover is decided': ({ undecided }) =>
      undecided === '' ? undefined : undecided,
    'a cursor tells every change': (state) => {
      const untold = clientsOf(ways, state).find(
        ({ seen, data }) => !isSame(seen.content, data) && !isTold(seen, data.sensor),
      )
      return untold && `that of node ${untold.seen.node} is not told`
    },
    'an ETag that matches means the same content': (state) => {
      const wrong = clientsOf(ways, state).find(
        ({ seen, data }) => !isSame(seen.content, data) && seen.version === data.sensor.version,
      )
      return wrong && `kept ${wrong.seen.content.join()}`
    },
    'what is noted as forwarded is in the store': ({ nodes, store }) => {
      const { rows, forwarded } = at(nodes, WORKER).data
      const missing = rows.find(
        ({ stream, seq, group }) => stream === LANE && seq <= forwarded && !store.includes(group),
      )
      return missing && `group ${missing.group} is not`
    },
    'no user is half there': (state) => {
      if (!isQuiet(ways, state)) return undefined
      const { hasState, isOrdered, sensor } = at(state.nodes, WORKER).data
      const isDead = isOrdered || sensor.life !== 'live'
      const isWhole = at(state.nodes, COORDINATOR).data.hasUser === hasState
      return isWhole && (hasState || isDead) ? undefined : 'the nodes differ'
    },
    'what is acknowledged of a user stays': (state) => {
      const { user } = state
      const { id, hasUser } = at(state.nodes, COORDINATOR).data
      const isLost = user !== null && user.id === id && user.isThere !== hasUser
      return isLost && isQuiet(ways, state) ? 'it is lost' : undefined
    },
  }
}

/** Whether every takeover is decided, everywhere, and no transaction over nodes is open. */
function isQuiet(ways: NodesWays, state: NodesState): boolean {
  const isPending = state.nodes.some(({ data }) => data.prepared.length > 0)
  const isDecided = state.nodes.every((_, node) => !isOther(state, node, recordOf(ways)))
  return isDecided && !isPending && state.sessions.length === 0
}

/** What a client has that is valid, with what is there. */
function clientsOf(ways: NodesWays, state: NodesState) {
  const { client, nodes } = state
  const epochOf = ways.cursor.find(({ what }) => what !== 'data')?.node ?? COORDINATOR
  if (client === null || !isQuiet(ways, state)) return []
  if (client.epoch !== at(nodes, epochOf).data.epoch) return []
  return client.seen.map((seen) => ({ seen, data: at(nodes, seen.node).data }))
}

function isSame(content: readonly number[], { rows }: { rows: { group: number }[] }): boolean {
  return content.join() === rows.map(({ group }) => group).join()
}
