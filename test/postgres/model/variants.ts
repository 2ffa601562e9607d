// The scenarios in which the model of the streams is explored: what may happen in each, and which
// other ways of working break it, by which invariant.

import { NEVER, RIGHT } from './state.ts'
import type { Budget, Scenario, Send, Ways } from './state.ts'

export interface Variant {
  readonly name: string
  readonly scenario: Scenario
  /** What may happen besides, where there is more time. */
  readonly more: Partial<Budget>
  /** Other ways of working, and the invariant that each breaks. */
  readonly wrong: readonly (readonly [way: Partial<Ways>, invariant: string])[]
}

const send = (to: number, ...elements: Send['elements']): Send => ({ to, elements })

/** An event that two processes get, and two events of one sensor. */
const SAME = [send(0, [0, 0]), send(1, [0, 0])]
const TWO = [send(0, [0, 0]), send(1, [1, 0])]
/** Groups that lock two sensors, named in different orders. */
const CROSSED = [send(0, [0, 0], [1, 1]), send(1, [2, 1], [3, 0]), send(0, [4, 0], [5, 1])]

const LEDGER = 'no answer contradicts the ledger'

function scenario(
  sends: readonly Send[],
  budget: Partial<Budget>,
  other: Partial<Omit<Scenario, 'ways'>> & { readonly ways?: Partial<Ways> } = {},
): Scenario {
  const ways = { ...RIGHT, ...other.ways }
  const all = { ...NEVER, takeovers: 2, ...budget }
  return { sends, nameless: [], processes: 2, streams: 2, ...other, ways, budget: all }
}

export const VARIANTS: readonly Variant[] = [
  {
    name: 'the same event at two processes, with lost connections',
    scenario: scenario(SAME, { losses: 1, takeovers: 3 }),
    more: { kills: 1, cursors: 1 },
    wrong: [[{ created: 'sent' }, LEDGER]],
  },
  {
    name: 'a stream changes hands while a commit is lost',
    scenario: scenario(TWO, { losses: 1, kills: 1, takeovers: 3 }, { streams: 1 }),
    more: { takeovers: 4, losses: 2, cursors: 1 },
    wrong: [[{ settledBy: 'seq' }, LEDGER]],
  },
  {
    name: 'a backup is restored while a commit is lost',
    scenario: scenario(TWO, { losses: 1, promotions: 1 }, { streams: 1 }),
    more: { takeovers: 3, etags: 1 },
    wrong: [[{ settledBy: 'fence' }, LEDGER]],
  },
  {
    name: 'a backup is restored, and clients keep ETags and cursors',
    scenario: scenario(TWO, { promotions: 1, etags: 1, cursors: 1 }, { streams: 1 }),
    more: { changes: 1, takeovers: 3 },
    wrong: [
      [{ etag: 'version' }, 'an ETag that matches means the same content'],
      [{ etag: 'list first' }, 'an ETag that matches means the same content'],
    ],
  },
  {
    name: 'a backup is restored while streams are forwarded',
    scenario: scenario(TWO, { promotions: 1, forwards: 2 }, { streams: 1 }),
    more: { forwards: 3, takeovers: 3 },
    wrong: [[{ leases: 'kept' }, 'a complete history is complete']],
  },
  {
    name: 'an event without an id, and a journal that is pruned',
    scenario: scenario(TWO, { losses: 1, prunes: 1, forwards: 1 }, { nameless: [0] }),
    more: { prunes: 2, forwards: 2, takeovers: 3 },
    wrong: [[{ pruned: 'forwarded' }, 'an event is stored once']],
  },
  {
    name: 'two forwarders of two streams that write one sensor',
    scenario: scenario(TWO, { forwards: 2, cursors: 1 }),
    more: { losses: 1, forwards: 3 },
    wrong: [[{ completeBy: 'last' }, 'a complete history is complete']],
  },
  {
    name: 'two sensors in a group',
    scenario: scenario(CROSSED, { losses: 1 }),
    more: { cursors: 1, forwards: 1 },
    wrong: [[{ locks: 'as sent' }, 'nobody waits in a circle']],
  },
  {
    name: 'a sensor is deleted while a group waits for it',
    scenario: scenario([send(0, [0, 0]), send(0, [1, 0])], { deletions: 1, forwards: 3 }),
    more: { cursors: 1 },
    wrong: [[{ headsRead: 'before' }, 'what is deleted stays deleted']],
  },
  {
    name: 'a sensor is deleted and registered again',
    scenario: scenario([...TWO, send(1, [0, 0])], { deletions: 1 }),
    more: { cursors: 1, losses: 1 },
    wrong: [[{ sameSensor: 'id' }, LEDGER]],
  },
  {
    name: 'a sensor is deleted while a forwarder writes late',
    scenario: scenario(TWO.slice(0, 1), { deletions: 1, forwards: 3 }),
    more: { cursors: 1, losses: 1 },
    wrong: [[{ store: 'unfenced' }, 'what is deleted stays deleted']],
  },
  {
    name: 'a sensor is changed',
    scenario: scenario(TWO, { changes: 1, cursors: 1, losses: 1 }),
    more: { changes: 2, kills: 1 },
    wrong: [[{ changes: 'uncounted' }, 'a cursor tells every change']],
  },
  {
    name: 'the standby takes over, and commits were visible before it had them',
    scenario: scenario(SAME, { promotions: 1, cancels: 1 }, { ways: { durability: 'replicated' } }),
    more: { takeovers: 3, losses: 1 },
    wrong: [
      [{ unconfirmed: 'commit' }, 'what is acknowledged stays'],
      [{ duplicates: 'read' }, 'what is acknowledged stays'],
    ],
  },
]
