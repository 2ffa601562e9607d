// A model checker: walks every state that a model can reach, breadth first, so that the story of
// what it finds is the shortest there is.

import { hash } from 'node:crypto'

/** States are plain data; two that are the same have the same JSON. */
export interface Model<State> {
  readonly init: State
  /** Everything that may happen next. */
  next(state: State): readonly Step<State>[]
  /** By name: what is wrong with a state, `undefined` if nothing is. */
  readonly invariants: Readonly<Record<string, (state: State) => string | undefined>>
}

export type Step<State> = readonly [label: string, state: State]

export interface Explored {
  readonly states: number
  /** The first state that breaks an invariant, and how it is reached. */
  readonly broken?: { readonly invariant: string; readonly why: string; readonly story: string[] }
}

/** A step that was taken, and the place of the one before it. */
interface Taken {
  readonly label: string
  readonly after: number
}

/** @throws Error if the model has more than `statesMax` states */
export function explore<State>(model: Model<State>, statesMax: number): Explored {
  const invariants = Object.entries(model.invariants)
  const seen = new Set<string>()
  const taken: Taken[] = []
  let layer: { readonly state: State; readonly at: number }[] = [{ state: model.init, at: -1 }]
  while (layer.length > 0) {
    const found = layer.flatMap(({ state, at }) => newStates(model.next(state), seen, taken, at))
    if (seen.size > statesMax) throw new Error(`the model has more than ${statesMax} states`)
    for (const { state, at } of found) {
      const faults = invariants.map(([invariant, faultOf]) => ({ invariant, why: faultOf(state) }))
      const broken = faults.find(({ why }) => why !== undefined)
      if (broken === undefined) continue
      const { invariant, why = '' } = broken
      return { states: seen.size, broken: { invariant, why, story: storyOf(taken, at) } }
    }
    layer = found
  }
  return { states: seen.size }
}

/** The states that were not seen before, each with the place of the step to it. */
function newStates<State>(
  steps: readonly Step<State>[],
  seen: Set<string>,
  taken: Taken[],
  after: number,
): { readonly state: State; readonly at: number }[] {
  return steps.flatMap(([label, state]) => {
    const key = hash('md5', JSON.stringify(state), 'binary')
    if (seen.has(key)) return []
    seen.add(key)
    return [{ state, at: taken.push({ label, after }) - 1 }]
  })
}

function storyOf(taken: readonly Taken[], last: number): string[] {
  const story: string[] = []
  for (let step = taken[last]; step !== undefined; step = taken[step.after]) {
    story.unshift(step.label)
  }
  return story
}
