// The daemon API as rows (fixtures/): what is sent, and what must come back. Every answer is held
// against its schema as well (support/http.ts).

import { expect } from 'chai'
import { ADDRESSES, PARAMETERS, TOKENS } from '../fixtures/daemon-api-addresses.ts'
import type { Scenario } from '../fixtures/daemon-api-addresses.ts'
import { BODIES, MEASUREMENTS, SENSORS } from '../fixtures/daemon-api-bodies.ts'
import { send } from '../support/http.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

const UNKNOWN_TOKEN = `thd_live_${'x'.repeat(43)}`
const ONE = { sn: 'A1', temp: 21.4 }

const SUBMIT = { method: 'POST', path: '/api/v1/measurements' } as const
const GROUPS: Readonly<Record<string, readonly Scenario[]>> = {
  tokens: TOKENS,
  addresses: ADDRESSES,
  parameters: PARAMETERS,
  bodies: BODIES,
  measurements: MEASUREMENTS,
  sensors: SENSORS,
}

describe('the daemon API', () => {
  let service: TestService
  let tokens: Readonly<Record<string, string>>

  before(async () => {
    service = await startService()
    tokens = {
      all: await service.createToken('owner@example.org'),
      reader: await service.createToken('owner@example.org', { scope: ['sensors:read'] }),
      writer: await service.createToken('owner@example.org', { scope: ['measurements:write'] }),
      unknown: UNKNOWN_TOKEN,
    }
    const first = await send(service.url, { ...SUBMIT, token: tokens['all']!, body: ONE })
    expect(first.body.data.sensor_id).to.equal(1)
  })

  after(() => service.stop())

  for (const [group, scenarios] of Object.entries(GROUPS)) {
    describe(group, () => {
      for (const scenario of scenarios) {
        it(scenario.name, async () => {
          const { as = 'all' } = scenario
          const token = tokens[as]
          const answer = await send(service.url, {
            ...scenario,
            ...(token !== undefined && { token }),
          })
          expect(answer.status, answer.text).to.equal(scenario.status)
          if (scenario.code !== undefined) expect(answer.body.code).to.equal(scenario.code)
          if (scenario.allow !== undefined) {
            expect(answer.headers.allow).to.equal(scenario.allow)
          }
          if (scenario.errors !== undefined) {
            const errors = answer.body.errors as { pointer: string; code: string }[]
            const found = errors.map(({ pointer, code }) => `${pointer} ${code}`)
            expect(found).to.have.members(scenario.errors)
          }
        })
      }
    })
  }
})
