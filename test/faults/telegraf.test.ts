// Goal: a gateway with Telegraf, set up as examples/telegraf/ says, stores each reading once.
// Method: the story of support/telegraf-story.ts.

import { expect } from 'chai'
import { byLength } from '../support/length.ts'
import { checkTelegrafStory, needTelegraf } from '../support/telegraf-story.ts'

const STORY = byLength({ readings: 2_000, kills: 2 }, { readings: 10_000, kills: 5 })

describe(`a gateway with Telegraf, killed ${STORY.kills} times like the service`, () => {
  it(`stores each of ${STORY.readings} readings once`, async function () {
    needTelegraf(this)
    const resent = await checkTelegrafStory(STORY)
    process.stderr.write(`      ${resent} lines were sent again\n`)
    expect(resent).to.be.greaterThan(0)
  })
})
