// Goal: no user and no slow client keeps others from being answered, or fills the memory. Method: a
// clock that the test moves.

import { expect } from 'chai'
import { setImmediate } from 'node:timers/promises'
import type { ServiceError } from '../../../src/domain/errors.ts'
import { LongAnswers } from '../../../src/http/answers/long-answers.ts'
import type { LongAnswer } from '../../../src/http/answers/long-answers.ts'
import { TimerClock } from '../../support/timers.ts'

const PIECE = Buffer.alloc(1_000)

describe('LongAnswers', () => {
  let clock: TimerClock
  let answers: LongAnswers
  let begun: Map<string, LongAnswer>
  let refused: string[]
  let cut: string[]

  beforeEach(() => {
    clock = new TimerClock()
    answers = new LongAnswers({ ofUserMax: 2, ofAllMax: 4, waitingMax: 6 }, clock)
    begun = new Map()
    refused = []
    cut = []
  })

  afterEach(() => clock.stop())

  const ask = async (userId: number, name: string) => {
    void answers.begin(userId).then(
      (answer) => begun.set(name, answer),
      (error: ServiceError) => refused.push(`${name}: ${error.code}`),
    )
    await setImmediate()
  }
  const askEach = async (userId: number, ...names: string[]) => {
    for (const name of names) await ask(userId, name)
  }
  const end = async (name: string) => {
    begun.get(name)?.end()
    await setImmediate()
  }
  /** Begins to send an endless answer. @returns takes the next piece for the client */
  const send = (name: string): (() => Promise<unknown>) => {
    async function* endless() {
      for (;;) yield PIECE
    }
    const pieces = begun.get(name)?.piecesOf(endless(), () => cut.push(name))
    const iterator = pieces?.[Symbol.asyncIterator]()
    return () => iterator?.next() ?? Promise.resolve()
  }
  const passSeconds = async (seconds: number) => {
    for (let second = 0; second < seconds; second++) clock.advanceMs(1_000)
    await setImmediate()
  }

  it('lets further answers of a user wait, in order, and nobody else', async () => {
    await askEach(1, 'a', 'b', 'c', 'd')
    await ask(2, 'of another user')
    expect([...begun.keys()]).to.deep.equal(['a', 'b', 'of another user'])
    await end('b')
    await end('a')
    expect([...begun.keys()]).to.deep.equal(['a', 'b', 'of another user', 'c', 'd'])
  })

  it('goes on with the user who has the fewest where all places are taken', async () => {
    await askEach(1, 'a', 'b')
    await askEach(2, 'c', 'd')
    await askEach(3, 'e', 'f')
    await ask(4, 'g')
    await end('a')
    await end('b')
    expect([...begun.keys()].slice(4)).to.deep.equal(['e', 'g'])
    await end('g')
    await end('g')
    expect([...begun.keys()].slice(4)).to.deep.equal(['e', 'g', 'f'])
  })

  it('lets users with equally many under way take turns', async () => {
    await askEach(1, 'a', 'b')
    await askEach(2, 'c', 'd')
    await askEach(3, 'e', 'f', 'g')
    await askEach(4, 'h', 'i')
    for (const name of ['a', 'e', 'h', 'f', 'i']) await end(name)
    expect([...begun.keys()].slice(4)).to.deep.equal(['e', 'h', 'f', 'i', 'g'])
  })

  it('refuses the last of the user with the most where too many wait', async () => {
    await askEach(1, 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i')
    expect(refused).to.deep.equal(['i: overloaded'])
    await askEach(2, 'of another user', 'k', 'l')
    expect(refused).to.deep.equal(['i: overloaded', 'h: overloaded'])
    await end('a')
    await end('b')
    expect([...begun.keys()]).to.deep.equal(['a', 'b', 'of another user', 'k', 'c', 'd'])
  })

  it('makes one piece of all answers together in each round of the event loop', async () => {
    await askEach(1, 'a', 'b')
    await ask(2, 'c')
    const takes = ['a', 'b', 'c'].map(send)
    for (const take of takes) await take()
    let pieces = 0
    for (const take of takes) void take().then(() => pieces++)
    const made: number[] = []
    for (let round = 0; round < 3; round++) {
      await setImmediate()
      made.push(pieces)
    }
    expect(made).to.deep.equal([1, 2, 3])
  })

  it('cuts off the slowest client every second while others wait for a place', async () => {
    await askEach(1, 'a', 'b')
    await askEach(2, 'c', 'd')
    const [, takeMore] = ['a', 'b', 'c'].map(send)
    for (let pieces = 0; pieces < 10; pieces++) await takeMore?.()
    await send('a')()
    await send('c')()
    await passSeconds(60)
    expect(cut, 'nobody waits').to.deep.equal([])
    await askEach(3, 'e', 'f')
    await passSeconds(1)
    expect(cut).to.have.lengthOf(1)
    await passSeconds(1)
    expect(cut).to.have.members(['a', 'c'])
    expect([...begun.keys()].slice(4)).to.deep.equal(['e', 'f'])
    await passSeconds(60)
    expect(cut, 'nobody waits any more').to.have.lengthOf(2)
  })

  it('cuts off none of a user for the sake of another one who has their share', async () => {
    await askEach(1, 'a')
    await askEach(2, 'b', 'c', 'd')
    await send('a')()
    await send('b')()
    await passSeconds(5)
    expect(cut).to.deep.equal(['b'])
    expect([...begun.keys()]).to.deep.equal(['a', 'b', 'c', 'd'])
  })

  it('cuts off no client of a user who has less than others, however slow it is', async () => {
    await askEach(1, 'a', 'b')
    await askEach(2, 'the only one')
    await ask(3, 'c')
    for (const [name, pieces] of Object.entries({ a: 15, b: 18, 'the only one': 1, c: 15 })) {
      const take = send(name)
      for (let piece = 0; piece <= pieces; piece++) await take()
    }
    await askEach(4, 'd')
    await passSeconds(5)
    expect(cut).to.deep.equal(['a'])
  })

  it('cuts off no client that waits for the store', async () => {
    await askEach(1, 'a', 'b', 'c')
    const take = send('a')
    await take()
    await take()
    await passSeconds(3)
    const unread = begun.get('b')?.piecesOf(neverRead(), () => cut.push('b'))
    void unread?.[Symbol.asyncIterator]().next()
    await passSeconds(1)
    expect(cut).to.deep.equal([])
    await passSeconds(60)
    expect(cut).to.deep.equal(['a'])
  })
})

function neverRead(): AsyncIterable<Buffer> {
  const next = () => new Promise<never>(() => undefined)
  return { [Symbol.asyncIterator]: () => ({ next }) }
}
