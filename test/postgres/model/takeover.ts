// A model of noticing that another server has the data: a standby was promoted, or a backup was
// restored. Processes commit to streams of their own, look at those of the others, and die; what
// they have seen is all that tells the two apart. Steps are named after the functions of
// src/postgres/server/.
//
// It leaves out what a commit contains: a stream is the list of its commits.

import type { Model, Step } from './explore.ts'
import { at, copyOf } from './state.ts'

/** A way of working; the first of each is the right one, the others are shown to fail. */
export interface TakeoverWays {
  /** Which heads a process compares with what it has seen. */
  readonly compared: 'as found' | 'after they moved'
  /** Whether a promotion needs the holder of every stream, or only one that lacks nothing. */
  readonly vouched: 'by every holder' | 'by the first'
  /** Whether a process that comes after it was decided still compares. */
  readonly late: 'compares' | 'believes'
  /** What a process knows of the streams of others. */
  readonly seen: 'heads and fences' | 'nothing'
  /** Whether a process vouches that has not looked for long. */
  readonly asleep: 'is silent' | 'vouches'
}

export interface TakeoverScenario {
  readonly ways: TakeoverWays
  /** How often each of these may happen. */
  readonly budget: TakeoverBudget
}

interface TakeoverBudget {
  readonly looks: number
  readonly commits: number
  readonly takes: number
  readonly leaves: number
  readonly kills: number
  readonly starts: number
  readonly sleeps: number
  readonly backups: number
  readonly restores: number
  readonly promotions: number
}

interface Stream {
  /** Commits, by their numbers. */
  readonly rows: number[]
  fence: number
  /** The life of the process that has it; −1: it was left. */
  holder: number
  isVouched: boolean
}

interface Seen {
  readonly head: number
  readonly fence: number
}

/** Another server was noticed. */
interface Noticed {
  /** The epoch that ended with it, and the streams as found then. */
  readonly epoch: number
  readonly found: readonly Seen[]
  isDecided: boolean
}

interface Data {
  /** The server that is recorded. */
  server: number
  id: number
  epoch: number
  readonly noticed: Noticed[]
  /** By how much heads were moved. */
  moved: number
  /** Whether anything may have been acknowledged that these data lack. */
  mayLack: boolean
  /** Whether nobody is waited for any longer. */
  isOverdue: boolean
  wasOverdue: boolean
  readonly streams: Stream[]
}

interface Process {
  /** Another one with each start; −1: it is dead. */
  life: number
  isConnected: boolean
  /** It has looked lately. */
  isAwake: boolean
  /** The data that it knows; −1: none, it has just started. */
  epoch: number
  id: number
  /** The stream that it has taken last, and whether it has it. */
  taken: { readonly stream: number; readonly fence: number } | null
  isHolding: boolean
  seen: Seen[]
  /** By epoch, the fences that it has looked at, whatever it makes of them. */
  readonly looked: Record<number, readonly number[]>
}

export interface TakeoverState {
  server: number
  /** On the primary, and on the standby that every commit waits for. */
  data: Data
  backup: Data | null
  readonly processes: Process[]
  readonly acknowledged: { readonly commit: number; readonly id: number }[]
  commits: number
  lives: number
  epochs: number
  ids: number
  left: Record<keyof TakeoverBudget, number>
}

type Take = (label: string, change: (state: TakeoverState) => void) => void

const STREAMS = 2
const MOVED = 100

export function takeover(scenario: TakeoverScenario): Model<TakeoverState> {
  const { budget } = scenario
  return {
    init: initialState(scenario),
    next(state) {
      const steps: Step<TakeoverState>[] = []
      const take: Take = (label, change) => {
        const changed = copyOf(state)
        change(changed)
        steps.push([label, changed])
      }
      state.processes.forEach((_, place) => processSteps(scenario, state, place, take))
      serverSteps(state, take)
      return steps
    },
    invariants: {
      'what is lost is told': ({ data, server, processes, acknowledged }) => {
        const isDecided = data.server === server && openOf(data) === undefined
        const isHeard = processes.every(({ life, isConnected }) => life < 0 || isConnected)
        const rows = data.streams.flatMap((stream) => stream.rows)
        const untold = acknowledged.find((one) => one.id === data.id && !rows.includes(one.commit))
        return isDecided && isHeard && untold ? `commit ${untold.commit} is gone` : undefined
      },
      'a promotion is no restore': ({ data, left }) => {
        const isWhole = left.kills === budget.kills && left.restores === budget.restores
        const isHeard = isWhole && !data.wasOverdue && data.noticed.length > 0
        return isHeard && data.id !== 0 ? 'the id is another' : undefined
      },
    },
  }
}

function initialState({ budget }: TakeoverScenario): TakeoverState {
  const data: Data = {
    server: 0,
    id: 0,
    epoch: 0,
    noticed: [],
    moved: 0,
    mayLack: false,
    isOverdue: false,
    wasOverdue: false,
    streams: Array.from({ length: STREAMS }, () => {
      return { rows: [], fence: 0, holder: -1, isVouched: false }
    }),
  }
  return {
    server: 0,
    data,
    backup: null,
    processes: [0, 1].map((life) => ({ ...started(life), isConnected: true, epoch: 0, id: 0 })),
    acknowledged: [],
    commits: 0,
    lives: 2,
    epochs: 0,
    ids: 0,
    left: { ...budget },
  }
}

function started(life: number): Process {
  const seen = Array.from({ length: STREAMS }, () => ({ head: 0, fence: 0 }))
  const nothing = { epoch: -1, id: -1, taken: null, isHolding: false }
  return { life, isConnected: false, isAwake: true, ...nothing, seen, looked: {} }
}

function headOf({ moved }: Data, { rows }: Stream): number {
  return moved + rows.length
}

function seenIn(data: Data): Seen[] {
  return data.streams.map((stream) => ({ head: headOf(data, stream), fence: stream.fence }))
}

function openOf({ noticed }: Data): Noticed | undefined {
  return noticed.find(({ isDecided }) => !isDecided)
}

function processSteps(
  scenario: TakeoverScenario,
  state: TakeoverState,
  place: number,
  take: Take,
): void {
  const own = at(state.processes, place)
  const step: Take = (label, change) => take(`process ${place}: ${label}`, change)
  if (own.life < 0) {
    if (state.left.starts === 0) return
    step('starts', (next) => {
      next.left.starts--
      next.processes[place] = started(next.lives++)
    })
    return
  }
  if (state.left.kills > 0 && isTakeSeen(state, own)) {
    step('is killed', (next) => {
      next.left.kills--
      next.processes[place] = started(-1)
    })
  }
  if (state.left.sleeps > 0 && own.isAwake) {
    step('sleeps', (next) => {
      next.left.sleeps--
      at(next.processes, place).isAwake = false
    })
  }
  if (own.isConnected) streamSteps(scenario, state, place, step)
  else step('noticeTakeover', (next) => connect(scenario, next, place))
}

/**
 * Everybody who is awake looks at all streams once a second: a process that dies has not taken its
 * stream within that second.
 */
function isTakeSeen(state: TakeoverState, { life, taken, epoch }: Process): boolean {
  if (taken === null) return true
  return state.processes.every(({ life: other, isAwake, epoch: known, looked }) => {
    const isAsleep = !isAwake && known === epoch
    if (other < 0 || other === life || isAsleep) return true
    return (looked[epoch]?.[taken.stream] ?? 0) >= taken.fence
  })
}

function streamSteps(
  { ways }: TakeoverScenario,
  state: TakeoverState,
  place: number,
  step: Take,
): void {
  const own = at(state.processes, place)
  const { streams } = state.data
  if (state.left.looks > 0) step('look', (next) => look(ways, next, place))
  streams.forEach(({ holder }, stream) => {
    if (own.isHolding || state.left.takes === 0 || holder === own.life) return
    step(`takeStream ${stream}`, (next) => {
      next.left.takes--
      const row = at(next.data.streams, stream)
      row.holder = own.life
      const process = at(next.processes, place)
      process.taken = { stream, fence: ++row.fence }
      process.isHolding = true
    })
  })
  if (!own.isHolding || own.taken === null) return
  const { stream, fence } = own.taken
  if (at(streams, stream).fence !== fence) {
    step('is fenced', (next) => (at(next.processes, place).isHolding = false))
    return
  }
  if (state.left.leaves > 0) {
    step('leaves its stream', (next) => {
      next.left.leaves--
      at(next.data.streams, stream).holder = -1
      at(next.processes, place).isHolding = false
    })
  }
  if (state.left.commits === 0) return
  step('commits, and answers', (next) => {
    next.left.commits--
    const row = at(next.data.streams, stream)
    row.rows.push(++next.commits)
    next.acknowledged.push({ commit: next.commits, id: next.data.id })
    const process = at(next.processes, place)
    const { fence: seenFence } = at(process.seen, stream)
    process.seen[stream] = { head: headOf(next.data, row), fence: seenFence }
  })
}

function look({ seen }: TakeoverWays, state: TakeoverState, place: number): void {
  state.left.looks--
  const own = at(state.processes, place)
  own.isAwake = true
  own.looked[own.epoch] = state.data.streams.map(({ fence }) => fence)
  if (seen !== 'nothing') own.seen = seenIn(state.data)
}

function serverSteps(state: TakeoverState, take: Take): void {
  const { left, data, backup } = state
  if (left.backups > 0) {
    take('a backup is taken', (next) => {
      next.left.backups--
      next.backup = copyOf(next.data)
    })
  }
  if (left.promotions > 0) {
    take('the standby is promoted', (next) => {
      next.left.promotions--
      moveTo(next, next.data)
    })
  }
  if (left.restores > 0 && backup !== null) {
    take('the backup is restored', (next) => {
      next.left.restores--
      moveTo(next, backup)
    })
  }
  if (openOf(data) !== undefined && !data.isOverdue) {
    take('nobody is waited for any longer', (next) => {
      next.data.isOverdue = true
      next.data.wasOverdue = true
    })
  }
}

function moveTo(state: TakeoverState, data: Data): void {
  state.server++
  state.data = copyOf(data)
  for (const process of state.processes) process.isConnected = false
}

/** What a process does on its first connection to a server: see `noticeTakeover`. */
function connect({ ways }: TakeoverScenario, state: TakeoverState, place: number): void {
  const { data } = state
  const own = at(state.processes, place)
  if (data.server !== state.server) notice(ways, state)
  if (lacks(ways, data, own)) {
    if (openOf(data) === undefined) notice(ways, state)
    data.mayLack = true
  } else if (own.epoch === data.epoch && (own.isAwake || ways.asleep === 'vouches')) {
    for (const stream of data.streams) if (stream.holder === own.life) stream.isVouched = true
  }
  decide(ways, state)
  if (openOf(data) === undefined) {
    const { life, looked } = own
    const knows = { looked, epoch: data.epoch, id: data.id }
    state.processes[place] = { ...started(life), ...knows, isConnected: true }
  }
}

function notice({ compared }: TakeoverWays, state: TakeoverState): void {
  const { data } = state
  data.server = state.server
  data.isOverdue = false
  for (const stream of data.streams) stream.isVouched = false
  const found = seenIn(data)
  const { epoch } = data
  const again = data.noticed.findIndex((noticed) => noticed.epoch === epoch)
  data.noticed.splice(again < 0 ? data.noticed.length : again, 1, {
    epoch,
    found,
    isDecided: false,
  })
  if (compared === 'after they moved') data.moved += MOVED
}

/** Whether a process has seen what the data do not have, and nobody was told. */
function lacks({ late }: TakeoverWays, data: Data, { epoch, id, seen }: Process): boolean {
  if (epoch < 0) return false
  if (epoch === data.epoch) return isBeyond(seen, seenIn(data))
  if (late === 'believes') return false
  const noticed = data.noticed.find((one) => one.epoch === epoch)
  // Data that know nothing of its epoch are older.
  return noticed === undefined || (id === data.id && isBeyond(seen, noticed.found))
}

function isBeyond(seen: readonly Seen[], found: readonly Seen[]): boolean {
  return seen.some(({ head, fence }, stream) => {
    const one = at(found, stream)
    return head > one.head || fence > one.fence
  })
}

function decide({ vouched, compared }: TakeoverWays, state: TakeoverState): void {
  const { data } = state
  const open = openOf(data)
  if (open === undefined) return
  const held = data.streams.filter(({ holder }) => holder >= 0)
  const isVouched =
    vouched === 'by the first' || (held.length > 0 && held.every((stream) => stream.isVouched))
  if (!data.mayLack && !isVouched && !data.isOverdue) return
  open.isDecided = true
  if (data.mayLack || !isVouched) data.id = ++state.ids
  data.mayLack = false
  data.epoch = ++state.epochs
  if (compared === 'as found') data.moved += MOVED
  for (const stream of data.streams) {
    stream.fence++
    if (!stream.isVouched) stream.holder = -1
  }
}
