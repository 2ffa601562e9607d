// Goal: no order in which processes, servers and networks can act loses or doubles what is
// acknowledged. Method: every order is walked, in a model of the protocol whose steps are named
// after the functions of src/postgres/stream/; other ways of working are shown to fail.
// test/faults/postgres-model.test.ts walks larger ones.

import { expect } from 'chai'
import { explore } from './model/explore.ts'
import { move } from './model/move.ts'
import type { MoveWays } from './model/move.ts'
import { replicas } from './model/replicas.ts'
import { VARIANTS } from './model/variants.ts'

const STATES_MAX = 100_000

describe('the model of the streams', () => {
  for (const { name, scenario, wrong } of VARIANTS) {
    describe(name, () => {
      it('breaks nothing', () => {
        expect(explore(replicas(scenario), STATES_MAX).broken).to.equal(undefined)
      })

      for (const [way, invariant] of wrong) {
        it(`would go wrong with ${JSON.stringify(way)}`, () => {
          const ways = { ...scenario.ways, ...way }
          const { broken } = explore(replicas({ ...scenario, ways }), STATES_MAX)
          expect(broken?.invariant).to.equal(invariant)
        })
      }
    })
  }
})

describe('the model of a move', () => {
  const right: MoveWays = { order: 'closeDirectory', left: 'is deleted', sent: 'is waited for' }
  const brokenBy = (way: Partial<MoveWays>) =>
    explore(move({ ...right, ...way }), STATES_MAX).broken?.invariant

  it('loses and doubles nothing, however often it is killed', () => {
    expect(brokenBy({})).to.equal(undefined)
  })

  it('would leave two services if it opened the database first', () => {
    expect(brokenBy({ order: 'openDatabase' })).to.equal('one of the two is served')
  })

  it('would store events twice if it kept what an earlier attempt has left', () => {
    expect(brokenBy({ left: 'is kept' })).to.equal('an event is there once')
  })

  it('would lose what was accepted between two attempts if it took that for all', () => {
    expect(brokenBy({ left: 'is all there is' })).to.equal(
      'what is acknowledged is where the service runs',
    )
  })

  it('would store events twice if it did not wait for what killed ones had sent', () => {
    expect(brokenBy({ sent: 'goes on' })).to.equal('an event is there once')
  })
})
