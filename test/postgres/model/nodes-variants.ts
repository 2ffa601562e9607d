// The scenarios in which the model of data on several nodes is explored.

import { COORDINATOR, WORKER } from './nodes-state.ts'
import type { NodesBudget, NodesScenario, NodesWays } from './nodes-state.ts'

export interface NodesVariant {
  readonly name: string
  readonly scenario: NodesScenario
  /** What may happen besides, where there is more time. */
  readonly more: Partial<NodesBudget>
  /** Other ways of working, and the invariant that each breaks. */
  readonly wrong: readonly (readonly [way: Partial<NodesWays>, invariant: string])[]
  /** Other ways that break nothing. */
  readonly harmless: readonly Partial<NodesWays>[]
}

const ways: NodesWays = {
  cursor: [{ what: 'epoch and data', node: WORKER }],
  lane: 'its copy',
  changes: 'straight',
  claims: 'straight',
  group: 'of one shard',
  decision: 'everywhere',
  moved: 'of the node',
  seen: 'until its takeover',
  several: 'restored',
  users: 'are aligned',
  pending: 'is resolved first',
  commit: 'in two phases',
  acknowledged: 'after every part',
}
const never: NodesBudget = {
  losses: 0,
  changes: 0,
  deletions: 0,
  creations: 0,
  breaks: 0,
  reads: 0,
  forwards: 0,
  promotions: 0,
  restores: 0,
}

function scenario(
  sends: readonly number[],
  budget: Partial<NodesBudget>,
  { backups = [WORKER], nodes = 2 }: Partial<Pick<NodesScenario, 'backups' | 'nodes'>> = {},
): NodesScenario {
  return { ways, sends, nodes, backups, budget: { ...never, ...budget } }
}

const LOST = 'what is lost is told'
const CURSOR = 'a cursor tells every change'
const ANSWERS = 'answers are right'
const UNDECIDED = 'nothing is accepted before a takeover is decided'
const FORWARDED = 'what is noted as forwarded is in the store'
const USER = 'what is acknowledged of a user stays'
const HALF = 'no user is half there'

const epochOf = (node: number) => ({ what: 'epoch', node }) as const
const dataOf = (node: number) => ({ what: 'data', node }) as const
const allOf = (node: number) => ({ what: 'epoch and data', node }) as const

export const NODES: readonly NodesVariant[] = [
  {
    name: 'a worker is restored',
    scenario: scenario([WORKER, WORKER], { losses: 1, restores: 1, reads: 1, changes: 1 }),
    more: { reads: 2, restores: 2, changes: 2 },
    wrong: [
      [{ cursor: [dataOf(WORKER), epochOf(WORKER)] }, CURSOR],
      [{ cursor: [dataOf(WORKER), epochOf(COORDINATOR)] }, CURSOR],
      [{ cursor: [dataOf(WORKER), allOf(COORDINATOR)] }, CURSOR],
      [{ lane: 'compares nothing' }, UNDECIDED],
    ],
    harmless: [
      { cursor: [epochOf(WORKER), dataOf(WORKER)] },
      { cursor: [epochOf(COORDINATOR), dataOf(WORKER)] },
      { cursor: [allOf(COORDINATOR), dataOf(WORKER)] },
      { moved: 'of all nodes' },
      { moved: 'of none' },
      { decision: 'node by node', users: 'stay' },
    ],
  },
  {
    name: 'settings are changed on a worker that is restored',
    scenario: scenario([WORKER], { changes: 2, restores: 1, reads: 1 }),
    more: { changes: 3, reads: 2 },
    wrong: [[{ changes: 'through the coordinator' }, LOST]],
    harmless: [],
  },
  {
    name: 'a worker is restored twice',
    scenario: scenario([WORKER, WORKER], { restores: 2, reads: 1 }),
    more: { reads: 2, losses: 1 },
    wrong: [[{ lane: "the coordinator's copy" }, LOST]],
    harmless: [],
  },
  {
    name: 'a stream is forwarded on a worker that is restored',
    scenario: scenario([WORKER, WORKER, WORKER], { forwards: 2, restores: 1 }),
    more: { forwards: 3 },
    wrong: [[{ claims: 'through the coordinator', moved: 'of none' }, FORWARDED]],
    harmless: [{ moved: 'of none' }, { claims: 'through the coordinator' }],
  },
  {
    name: 'a user is deleted and the worker is restored',
    scenario: scenario([WORKER, WORKER], { deletions: 1, restores: 1, breaks: 1 }),
    more: { restores: 2, losses: 1 },
    wrong: [
      [{ users: 'stay' }, HALF],
      [{ commit: 'one by one' }, HALF],
      [{ pending: 'is left' }, HALF],
      [{ acknowledged: 'after the coordinator' }, ANSWERS],
      [{ decision: 'node by node', users: 'stay' }, HALF],
    ],
    harmless: [],
  },
  {
    name: 'a user is deleted and the coordinator is restored',
    scenario: scenario(
      [WORKER],
      { deletions: 1, restores: 1, breaks: 1 },
      { backups: [COORDINATOR] },
    ),
    more: { restores: 2, losses: 1 },
    wrong: [
      [{ users: 'stay' }, HALF],
      [{ acknowledged: 'after the coordinator' }, ANSWERS],
    ],
    harmless: [{ pending: 'is left' }],
  },
  {
    name: 'a user is made',
    scenario: scenario([WORKER], { creations: 1, deletions: 1, breaks: 1, promotions: 1 }),
    more: { breaks: 2 },
    wrong: [
      [{ acknowledged: 'after the coordinator' }, ANSWERS],
      [{ commit: 'one by one' }, HALF],
      [{ pending: 'is left' }, HALF],
    ],
    harmless: [{ users: 'stay' }],
  },
  {
    name: 'a user is made and a node is restored',
    scenario: scenario(
      [WORKER],
      { creations: 1, breaks: 1, restores: 1 },
      { backups: [COORDINATOR, WORKER] },
    ),
    more: { breaks: 2, deletions: 1 },
    wrong: [
      [{ acknowledged: 'after the coordinator' }, ANSWERS],
      [{ users: 'stay' }, HALF],
      [{ pending: 'is left' }, HALF],
    ],
    harmless: [],
  },
  {
    name: 'a deletion is acknowledged and the coordinator is restored',
    scenario: scenario([], { deletions: 1, restores: 1, breaks: 1 }, { backups: [COORDINATOR] }),
    more: { restores: 2 },
    wrong: [[{ acknowledged: 'after the coordinator' }, USER]],
    harmless: [],
  },
  {
    name: 'both nodes are restored',
    scenario: scenario([], { deletions: 1, restores: 2 }, { backups: [COORDINATOR, WORKER] }),
    more: { breaks: 1 },
    wrong: [[{ several: 'promoted' }, USER]],
    harmless: [],
  },
  {
    name: 'one node is restored after the other',
    scenario: scenario([WORKER], { restores: 1, promotions: 1 }),
    more: { losses: 1, reads: 1, changes: 1 },
    wrong: [[{ seen: 'until any takeover' }, LOST]],
    harmless: [{ seen: 'until any takeover', moved: 'of all nodes' }],
  },
  {
    name: 'standbys are promoted',
    scenario: scenario([WORKER], { promotions: 1, deletions: 1, reads: 1, losses: 1 }),
    more: { promotions: 2, breaks: 1 },
    wrong: [],
    harmless: [{ users: 'stay' }, { moved: 'of none' }],
  },
  {
    name: 'both users send, and one node is restored',
    scenario: scenario(
      [COORDINATOR, WORKER],
      { losses: 1, restores: 1, reads: 1 },
      { backups: [COORDINATOR, WORKER] },
    ),
    more: { changes: 1, breaks: 1, reads: 2 },
    wrong: [
      [{ group: 'of two, node by node' }, LOST],
      [{ cursor: [dataOf(COORDINATOR), allOf(WORKER)] }, CURSOR],
    ],
    harmless: [{ cursor: [allOf(COORDINATOR)] }, { cursor: [allOf(WORKER), dataOf(COORDINATOR)] }],
  },
  {
    name: 'a user is deleted on three nodes, one of which is restored',
    scenario: scenario(
      [WORKER],
      { deletions: 1, restores: 1, breaks: 1 },
      { nodes: 3, backups: [COORDINATOR, WORKER, 2] },
    ),
    more: { restores: 2, breaks: 0 },
    wrong: [],
    harmless: [],
  },
  {
    name: 'a user is made on three nodes, one of which is restored',
    scenario: scenario(
      [WORKER],
      { creations: 1, restores: 1, breaks: 1 },
      { nodes: 3, backups: [COORDINATOR, WORKER, 2] },
    ),
    more: { promotions: 1 },
    wrong: [],
    harmless: [],
  },
]
