// The faults in a problem document: where each is, and how many fit.

import type { RequestFault } from '../../domain/errors.ts'
import { problemErrorsBytesMax, problemErrorsMax } from '../../domain/limits.ts'

/**
 * Names in pointers are cut at this length: a body may contain a name of four million characters.
 */
const NAME_CHARACTERS_MAX = 64

/** Bytes of a fault in a problem document besides its pointer, detail and event id. */
const FAULT_BYTES = 64

/** A name as one segment of a JSON pointer (RFC 6901), cut when it is very long. */
export function pointerSegment(name: string): string {
  const isLong = name.length > NAME_CHARACTERS_MAX
  const shown = isLong ? `${name.slice(0, NAME_CHARACTERS_MAX)}…` : name
  return shown.toWellFormed().replaceAll('~', '~0').replaceAll('/', '~1')
}

/**
 * The faults that fit into a problem document, in order. The first fault of each element comes
 * before all others, so every invalid element is named; its event id is left out if it would take
 * more than the element's share.
 */
export function boundedFaults(faults: readonly RequestFault[]): RequestFault[] {
  const named = new Set<number>()
  const isFirst = faults.map(({ index }) => {
    if (index === undefined || named.has(index)) return false
    return named.add(index) !== undefined
  })
  const shareBytes = problemErrorsBytesMax / Math.max(1, named.size)
  const kept = faults.map((fault) => withinShare(fault, shareBytes))
  let bytes = kept.reduce((sum, fault, at) => sum + (isFirst[at] ? bytesOf(fault) : 0), 0)
  let count = named.size
  return kept.filter((fault, at) => {
    if (isFirst[at]) return true
    bytes += bytesOf(fault)
    count++
    return bytes <= problemErrorsBytesMax && count <= problemErrorsMax
  })
}

function withinShare(fault: RequestFault, bytesMax: number): RequestFault {
  if (bytesOf(fault) <= bytesMax) return fault
  const { event_id: _eventId, ...rest } = fault
  return rest
}

function bytesOf({ pointer, detail, event_id: eventId = '' }: RequestFault): number {
  return FAULT_BYTES + jsonBytes(pointer) + jsonBytes(detail) + jsonBytes(eventId)
}

function jsonBytes(text: string): number {
  return Buffer.byteLength(JSON.stringify(text))
}
