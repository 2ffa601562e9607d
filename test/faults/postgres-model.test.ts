// Goal and method as in test/postgres/model.test.ts, with more that may happen.

import { expect } from 'chai'
import { explore } from '../postgres/model/explore.ts'
import { replicas } from '../postgres/model/replicas.ts'
import { VARIANTS } from '../postgres/model/variants.ts'
import { byLength } from '../support/length.ts'

const STATES_MAX = 1_500_000

describe('the model of the streams, at length', () => {
  const chosen = byLength(VARIANTS.slice(0, 1), VARIANTS)

  for (const { name, scenario, more } of chosen) {
    it(`breaks nothing: ${name}`, () => {
      const budget = { ...scenario.budget, ...more }
      expect(explore(replicas({ ...scenario, budget }), STATES_MAX).broken).to.equal(undefined)
    })
  }
})
