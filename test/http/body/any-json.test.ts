// Goal: no request body ends the service, causes a 5xx or is stored in part. Method: random JSON
// and almost-JSON from support/any-json.ts; test/faults/any-json.test.ts sends many more bodies.

import { expect } from 'chai'
import { sendAnyBodies } from '../../support/any-json-run.ts'

const BODIES = 500

describe(`the service, after ${BODIES} random bodies`, () => {
  it('is up, gave no 5xx and stored exactly what its receipts say', async () => {
    const outcomes = await sendAnyBodies(BODIES)
    // Bodies that are all refused in the same way would prove nothing.
    expect([...outcomes.keys()]).to.include.members([201, 400, 415, 422])
  })
})
