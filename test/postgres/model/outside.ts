// What works beside the processes in the model of the streams: forwarders, and clients that read.

import { at } from './state.ts'
import type { Scenario, State, Stored, Take } from './state.ts'
import { sensorsShown, shown } from './transactions.ts'

export function forwarderSteps({ ways }: Scenario, state: State, take: Take): void {
  state.db.streams.forEach((stream, place) => {
    if (state.left.forwards === 0 || stream.forwarded === stream.head) return
    take(`claim stream ${place} after ${stream.forwarded}`, (next) => {
      next.left.forwards--
      const { forwarded, head } = stream
      const rows = state.db.journal.filter((row) => row.stream === place && row.seq > forwarded)
      const live = rows.flatMap(({ stored }) => stored)
      const lease = ++at(next.db.streams, place).lease
      next.forwarders.push({
        stream: place,
        lease,
        throughSeq: head,
        stored: live,
        hasWritten: false,
      })
    })
  })
  state.forwarders.forEach(({ stream, lease, throughSeq, stored, hasWritten }, place) => {
    const write = (next: State) => {
      const missing = stored.filter((one) => !next.store.some((other) => isSameStored(one, other)))
      next.store.push(...missing)
      next.store.sort((one, other) => one.event - other.event || one.sensor - other.sensor)
    }
    const note = (next: State) => {
      const row = at(next.db.streams, stream)
      const isHeld = row.lease === lease
      if (isHeld) row.forwarded = Math.max(row.forwarded, throughSeq)
      next.forwarders.splice(place, 1)
    }
    if (ways.store === 'fenced') {
      take(`settle stream ${stream} through ${throughSeq}`, (next) => {
        if (at(next.db.streams, stream).lease === lease) write(next)
        note(next)
      })
    } else if (!hasWritten) {
      take(`write stream ${stream} through ${throughSeq}`, (next) => {
        write(next)
        at(next.forwarders, place).hasWritten = true
      })
    } else take(`settle stream ${stream} through ${throughSeq}`, note)
  })
}

function isSameStored(one: Stored, other: Stored): boolean {
  return one.event === other.event && one.sensor === other.sensor
}

export function clientSteps({ ways }: Scenario, state: State, take: Take): void {
  if (state.left.etags > 0 && state.db.sensors.length > 0) {
    const isListFirst = ways.etag === 'list first'
    take(isListFirst ? 'listSensors' : 'readSensorsVersion', (next) => {
      const { tag, content } = shown(ways.etag, next)
      next.left.etags--
      next.etag = isListFirst ? { tag: null, content } : { tag, content: null }
    })
  }
  if (state.etag?.tag === null || state.etag?.content === null) {
    take('a client keeps the list with its ETag', (next) => {
      const { tag, content } = shown(ways.etag, next)
      next.etag = { tag: next.etag?.tag ?? tag, content: next.etag?.content ?? content }
    })
  }
  if (state.left.cursors === 0) return
  take('readChanges: a client keeps the cursor', (next) => {
    next.left.cursors--
    const { streams, settings } = next.db
    const heads = streams.map(({ head }) => head)
    next.cursor = { heads, settings, sensors: sensorsShown(next.db) }
  })
}
