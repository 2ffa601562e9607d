// What works beside the lanes in the model of data on several nodes: forwarders of the worker's
// stream, whose store is outside of the nodes, and a client that reads.

import { durably, isOther, isTold, LANE, WORKER } from './nodes-state.ts'
import type { NodesScenario, NodesState, Read, Take } from './nodes-state.ts'
import { at, copyOf } from './state.ts'

export function forwarderSteps(scenario: NodesScenario, state: NodesState, take: Take): void {
  const { data } = at(state.nodes, WORKER)
  const head = at(data.heads, LANE)
  const isGreeted = scenario.ways.claims === 'straight'
  const mayClaim = !isGreeted || !isOther(state, WORKER, 'its copy')
  if (state.left.forwards > 0 && data.forwarded < head && mayClaim) {
    take(`claim after ${data.forwarded}`, (next) => {
      next.left.forwards--
      const rows = data.rows.filter(({ stream, seq }) => stream === LANE && seq > data.forwarded)
      durably(scenario, next, WORKER, (own) => void own.lease++)
      const groups = rows.map(({ group }) => group)
      next.forwarders.push({ lease: data.lease + 1, throughSeq: head, groups, hasWritten: false })
    })
  }
  state.forwarders.forEach(({ lease, throughSeq, groups, hasWritten }, place) => {
    if (!hasWritten) {
      take(`write through ${throughSeq}`, (next) => {
        next.store = [...new Set([...next.store, ...groups])].toSorted((one, other) => one - other)
        at(next.forwarders, place).hasWritten = true
      })
      return
    }
    take(`settle through ${throughSeq}`, (next) => {
      next.forwarders.splice(place, 1)
      if (data.lease !== lease) return
      durably(scenario, next, WORKER, (own) => {
        own.forwarded = Math.max(own.forwarded, throughSeq)
      })
    })
  })
}

export function clientSteps({ ways }: NodesScenario, state: NodesState, take: Take): void {
  const { reading } = state
  const read = ways.cursor[reading?.done ?? 0]
  if (read === undefined || (reading === null && state.left.reads === 0)) return
  take(`readChanges: ${read.what} of node ${read.node}`, (next) => {
    if (reading === null) next.left.reads--
    readFrom(ways.cursor, next, read)
  })
}

function readFrom(plan: readonly Read[], state: NodesState, { what, node }: Read): void {
  const { data } = at(state.nodes, node)
  const reading = state.reading ?? { done: 0, epoch: -1, seen: [] }
  reading.done++
  if (what !== 'data') reading.epoch = data.epoch
  if (what !== 'epoch') {
    const { settings, heads, sensor } = data
    const content = data.rows.map(({ group }) => group)
    reading.seen.push({ node, settings, heads, version: sensor.version, content, told: sensor })
  }
  state.reading = copyOf(reading)
  if (reading.done < plan.length) return
  const { epoch, seen } = copyOf(reading)
  const { client } = state
  state.reading = null
  state.client = {
    epoch,
    seen: seen.map(({ told, ...now }, place) => {
      const before = client?.seen[place]
      if (before === undefined || client?.epoch !== epoch) return now
      return isTold(before, told) ? now : { ...now, content: before.content }
    }),
  }
}
