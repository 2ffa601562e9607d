// Goal: whoever generated a client from the documents of the last release goes on with it. These
// are docs/openapi/; at a release they are replaced, before the first one also by what breaks them.

import { expect } from 'chai'
import { readFile } from 'node:fs/promises'
import { brokenPromises } from '../support/broken-promises.ts'
import { send } from '../support/http.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

const RELEASED = new URL('../../docs/openapi/', import.meta.url)

async function readReleased(name: string) {
  return JSON.parse(await readFile(new URL(name, RELEASED), 'utf8'))
}

describe('clients of the last release', () => {
  let service: TestService
  before(async () => {
    service = await startService()
  })
  after(() => service.stop())

  for (const name of ['daemon.json', 'mobile.json']) {
    it(`find all that ${name} promised them`, async () => {
      const { body } = await send(service.url, { path: `/openapi/${name}` })
      expect(brokenPromises(await readReleased(name), body)).to.deep.equal([])
    })
  }
})

describe('the rules of compatibility', () => {
  // oxlint-disable-next-line typescript/no-explicit-any
  const CHANGES: Readonly<Record<string, (document: any) => void>> = {
    '/paths//api/v1/me/get: is gone': ({ paths }) => delete paths['/api/v1/me'].get,
    'Sensor/properties/alias: is gone': ({ components }) =>
      delete components.schemas.Sensor.properties.alias,
    'User/properties/id': ({ components }) =>
      (components.schemas.User.properties.id = { type: 'string' }),
    'Sensor/properties/alias/type: "string" is ["string","null"]': ({ components }) =>
      (components.schemas.Sensor.properties.alias.type = ['string', 'null']),
    'Bucket/enum: with "week"': ({ components }) => components.schemas.Bucket.enum.push('week'),
    'Sensor/required: without "alias"': ({ components }) => {
      const { Sensor } = components.schemas
      Sensor.required = Sensor.required.filter((name: string) => name !== 'alias')
    },
    'Measurement/required: with "event_id"': ({ components }) =>
      components.schemas.Measurement.required.push('event_id'),
    'requires query x': ({ paths }) =>
      paths['/api/v1/sensors'].get.parameters.push({ in: 'query', name: 'x', required: true }),
  }
  for (const [breach, change] of Object.entries(CHANGES)) {
    it(`name what breaks a client: ${breach}`, async () => {
      const document = await readReleased('daemon.json')
      const changed = structuredClone(document)
      change(changed)
      expect(brokenPromises(document, changed).join('\n')).to.contain(breach)
    })
  }

  it('let a later version add what clients ignore', async () => {
    const document = await readReleased('daemon.json')
    const changed = structuredClone(document)
    const { Sensor } = changed.components.schemas
    Sensor.properties.colour = { type: 'string' }
    Sensor.required.push('colour')
    changed.paths['/api/v1/colours'] = {}
    changed.paths['/api/v1/sensors'].get.parameters.push({ in: 'query', name: 'x' })
    changed.info.version = '9'
    expect(brokenPromises(document, changed)).to.deep.equal([])
  })
})
