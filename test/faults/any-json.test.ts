// Goal and method as in test/http/body/any-json.test.ts, with many more bodies.

import { expect } from 'chai'
import { sendAnyBodies } from '../support/any-json-run.ts'
import { byLength } from '../support/length.ts'

const BODIES = byLength(3_000, 200_000)

describe(`the service, after ${BODIES} random bodies`, function () {
  this.timeout(byLength(5, 60) * 60_000)

  it('is up, gave no 5xx and stored exactly what its receipts say', async () => {
    const outcomes = await sendAnyBodies(BODIES)
    expect([...outcomes.keys()]).to.include.members([200, 201, 400, 409, 413, 415, 422])
  })
})
