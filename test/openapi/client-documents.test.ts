// Goal: what generators make of the documents compiles, reads every answer, and goes on reading
// when a member is added. No linter sees what breaks them, so the rules are written here, one for
// each thing that broke a generator.

import { expect } from 'chai'
import { send } from '../support/http.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

// oxlint-disable-next-line typescript/no-explicit-any
type Node = any
type Place = readonly [path: string, node: Node]

const DOCUMENTS = ['openapi.json', 'openapi/daemon.json', 'openapi/mobile.json']
const TWINS = ['openapi/daemon-3.0.json', 'openapi/mobile-3.0.json']
const MOBILE_BYTES_MAX = 72_000

/** Every object of a document by its path; the values of examples are no part of it. */
function placesIn(node: Node, path = ''): Place[] {
  if (typeof node !== 'object' || node === null) return []
  const inside = Object.entries(node).filter(([name]) => name !== 'example' && name !== 'value')
  const parts = inside.flatMap(([name, part]) => placesIn(part, `${path}/${name}`))
  return Array.isArray(node) ? parts : [[path, node], ...parts]
}

function operationsOf({ paths }: Node): Node[] {
  return Object.values<Node>(paths).flatMap((operations) => Object.values<Node>(operations))
}

/** Parameters, headers, schemas and their properties. */
function namedThings({ components, paths }: Node): Place[] {
  const schemas = placesIn(components.schemas)
  const properties = schemas.filter(([path]) => path.endsWith('/properties'))
  const parameters = placesIn(paths).filter(([, node]) => node.in !== undefined)
  return [
    ...Object.entries<Node>({ ...components.schemas, ...components.headers }),
    ...Object.entries<Node>({ ...components.parameters }),
    ...properties.flatMap(([path, members]) =>
      Object.entries<Node>(members).map(([name, node]): Place => [`${path}/${name}`, node]),
    ),
    ...parameters,
  ]
}

const typesOf = ({ type }: Node): string[] => [type ?? []].flat()
const isScalar = (node: Node) =>
  typesOf(node).some((type) => ['string', 'number', 'integer'].includes(type))

/** What a document must not have, and why. */
const FAULTS: Readonly<Record<string, (place: Place) => boolean>> = {
  'a reference with more than a description beside it: the model is lost': ([, node]) =>
    typeof node.$ref === 'string' &&
    Object.keys(node).some((name) => name !== '$ref' && name !== 'description'),
  'a choice other than something or null: the first that fits is taken': ([, { anyOf, oneOf }]) =>
    oneOf !== undefined ||
    (Array.isArray(anyOf) && (anyOf.length !== 2 || anyOf[1].type !== 'null')),
  'a number without a width: a decimal class, sent as a string': ([path, node]) =>
    !path.endsWith('/properties') &&
    typesOf(node).some((type) => type === 'number' || type === 'integer') &&
    node.format === undefined,
  'values without a type: anything at all': ([path, node]) =>
    !path.endsWith('/properties') &&
    (node.const !== undefined || (Array.isArray(node.enum) && node.type === undefined)),
  'a pattern of moments: three digits of a second for ever': ([, node]) =>
    node.format === 'date-time' && node.pattern !== undefined,
}

describe('the documents to generate clients from', () => {
  let service: TestService
  const documents = new Map<string, Node>()
  const texts = new Map<string, string>()

  before(async () => {
    service = await startService()
    for (const name of [...DOCUMENTS, ...TWINS]) {
      const { status, text, body } = await send(service.url, { path: `/${name}` })
      expect(status, name).to.equal(200)
      documents.set(name, body)
      texts.set(name, text)
    }
  })

  after(() => service.stop())

  for (const name of DOCUMENTS) {
    for (const [fault, isFaulty] of Object.entries(FAULTS)) {
      it(`${name} has not: ${fault}`, () => {
        const faulty = placesIn(documents.get(name)).filter(isFaulty)
        expect(faulty.map(([path]) => path)).to.deep.equal([])
      })
    }

    it(`${name} describes everything, with examples`, () => {
      const document = documents.get(name)
      const silent = namedThings(document).filter(([, node]) => !node.description && !node.$ref)
      expect(silent.map(([path]) => path)).to.deep.equal([])
      const bare = namedThings(document).filter(([, node]) => {
        const { schema = node } = node
        const hasValues = schema.enum ?? schema.$ref ?? schema.examples ?? node.example
        return isScalar(schema) && hasValues === undefined
      })
      expect(bare.map(([path]) => path)).to.deep.equal([])
      for (const { operationId, summary, description } of operationsOf(document)) {
        expect(summary, operationId).to.be.a('string')
        expect(description, operationId).to.be.a('string')
      }
    })

    it(`${name} says that a required body needs its length, of no other`, () => {
      for (const { operationId, requestBody, responses } of operationsOf(documents.get(name))) {
        // Those of InfluxDB do not say so: an empty body is none either.
        const isLines = requestBody?.content['text/plain'] !== undefined
        const isForm = operationId === 'queryByForm'
        const isRequired = requestBody?.required === true || isLines || isForm
        expect(responses['411'] !== undefined, operationId).to.equal(isRequired)
      }
    })

    it(`${name} has no schema that an operation is called like`, () => {
      const { components, ...rest } = documents.get(name)
      const made = operationsOf(rest).flatMap(({ operationId }) =>
        ['Response', 'Request', 'Params'].map((end) => `${operationId}${end}`.toLowerCase()),
      )
      const schemas = Object.keys(components.schemas).map((schema) => schema.toLowerCase())
      expect(schemas.filter((schema) => made.includes(schema))).to.deep.equal([])
    })

    it(`${name} leaves room in every response for members to come`, () => {
      const closed = Object.entries<Node>(documents.get(name).components.schemas).filter(
        ([, { additionalProperties }]) => additionalProperties === false,
      )
      const grants = ['AuthorizationGrant', 'LinkGrant', 'AccountDeletion']
      const tokens = ['NewDaemonToken', 'DaemonTokenRotation']
      const requests = ['Measurement', 'MeasurementBatch', 'SensorPatch', ...grants, ...tokens]
      expect(requests).to.include.members(closed.map(([schema]) => schema))
    })
  }

  for (const [name, base, token] of [
    ['openapi/daemon.json', '/api/v1/', 'daemonToken'],
    ['openapi/mobile.json', '/api/mobile/v1/', 'mobileToken'],
  ] as const) {
    it(`${name} has one API, plain names and one kind of token`, () => {
      const document = documents.get(name)
      for (const path of Object.keys(document.paths)) expect(path.startsWith(base)).to.equal(true)
      const ids = operationsOf(document).map(({ operationId }) => operationId)
      expect(ids).to.include.members(['listSensors', 'readHistory', 'readSeries'])
      expect(ids.filter((id) => /Phone/.test(id))).to.deep.equal([])
      expect(Object.keys(document.components.securitySchemes)).to.deep.equal([token])
    })

    it(`${name} names the values of a parameter: else each call has a type of its own`, () => {
      const { paths, components } = documents.get(name)
      const parameters = placesIn([paths, components.parameters])
      const nameless = parameters.filter(([, node]) => node.in && node.schema?.enum)
      expect(nameless.map(([path]) => path)).to.deep.equal([])
    })

    it(`${name} has a title that makes the name of a package`, () => {
      const api = /\/(\w+)\.json$/.exec(name)?.[1]
      expect(documents.get(name).info.title).to.equal(`Thermolog ${api}`)
    })

    it(`${name} has no example of a body that is sent: a generator warns of it`, () => {
      const bodies = operationsOf(documents.get(name)).map(({ requestBody }) => requestBody)
      const media = bodies.flatMap((body) => Object.values<Node>(body?.content ?? {}))
      expect(media.filter(({ example, examples }) => example ?? examples)).to.deep.equal([])
      expect(media).not.to.deep.equal([])
    })

    it(`${name} gives each success one type and shares every failure`, () => {
      for (const { operationId, responses } of operationsOf(documents.get(name))) {
        for (const [status, response] of Object.entries<Node>(responses)) {
          const types = Object.keys(response.content ?? {})
          if (status.startsWith('2')) expect(types.length, operationId).to.be.lessThan(2)
          else expect(Object.keys(response), `${operationId} ${status}`).to.deep.equal(['$ref'])
        }
        expect(responses.default, operationId).to.not.equal(undefined)
      }
    })
  }

  for (const name of TWINS) {
    it(`${name} says the same in the words of OpenAPI 3.0`, () => {
      const document = documents.get(name)
      expect(document.openapi).to.equal('3.0.3')
      const whole = documents.get(name.replace('-3.0', ''))
      expect(Object.keys(document.paths)).to.deep.equal(Object.keys(whole.paths))
      const newer = placesIn(document).filter(([path, node]) => {
        const isMap = path.endsWith('/properties')
        const hasMore = typeof node.$ref === 'string' && Object.keys(node).length > 1
        return hasMore || (!isMap && (Array.isArray(node.type) || Array.isArray(node.examples)))
      })
      expect(newer.map(([path]) => path)).to.deep.equal([])
    })
  }

  it('describe alike what both APIs have', () => {
    const [daemon, mobile] = ['daemon', 'mobile'].map((api) => {
      return documents.get(`openapi/${api}.json`).components.schemas
    })
    const shared = Object.keys(daemon).filter((name) => name in mobile)
    expect(shared).to.include.members(['Sensor', 'Problem'])
    for (const name of shared) expect(daemon[name], name).to.deep.equal(mobile[name])
  })

  it('are small: an app carries its own', () => {
    const bytes = Buffer.byteLength(texts.get('openapi/mobile.json') ?? '')
    expect(bytes).to.be.at.most(MOBILE_BYTES_MAX)
  })

  it('shows live events as text, and what they hold beside it', () => {
    const { paths, components } = documents.get('openapi/mobile.json')
    const stream = paths['/api/mobile/v1/events'].get.responses[200].content['text/event-stream']
    expect(stream.schema.type).to.equal('string')
    expect(components.schemas).to.include.keys('SensorEvent', 'SensorDeletedEvent')
  })
})
