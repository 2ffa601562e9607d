// Goal: a gateway with Telegraf, set up as examples/telegraf/ says, stores each reading once.
// Method: the story of support/telegraf-story.ts, short; test/faults has it long.

import { expect } from 'chai'
import { checkTelegrafStory, needTelegraf } from '../support/telegraf-story.ts'

describe('a gateway with Telegraf', function () {
  this.timeout(120_000)

  it('stores each reading once, killed on a bad network', async function () {
    needTelegraf(this)
    expect(await checkTelegrafStory({ readings: 600, kills: 1 })).to.be.greaterThan(0)
  })
})
