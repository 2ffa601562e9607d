// Goal: the document says what the service does. Method: hold it against the schemas of the
// answers, the problems, a linter, and itself; what a route table has and nobody has described
// makes the very request for the document fail.

import { createConfig, lintFromString } from '@redocly/openapi-core'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'chai'
import { gzipSync } from 'node:zlib'
import { FAULTS } from '../../../src/http/answers/faults.ts'
import { allProblems } from '../../../src/http/answers/problems.ts'
import { send } from '../../support/http.ts'
import { startService } from '../../support/service.ts'
import type { TestService } from '../../support/service.ts'

const ajv = new Ajv2020({ strict: false, validateFormats: false })

interface Media {
  readonly schema: object
  readonly example?: unknown
  readonly examples?: Readonly<Record<string, { readonly value?: unknown }>>
}

/** Every object inside a value that has such a member, with the member. */
function membersCalled(name: string, value: unknown): unknown[] {
  if (typeof value !== 'object' || value === null) return []
  const own = Object.hasOwn(value, name) ? [(value as Record<string, unknown>)[name]] : []
  return [...own, ...Object.values(value).flatMap((part) => membersCalled(name, part))]
}

function resolve(document: unknown, pointer: string): unknown {
  return pointer
    .split('/')
    .slice(1)
    .reduce((value, part) => (value as Record<string, unknown> | undefined)?.[part], document)
}

describe('the description of the API', () => {
  let service: TestService
  // oxlint-disable-next-line typescript/no-explicit-any
  let document: any
  let text: string

  before(async () => {
    service = await startService()
    const answer = await send(service.url, { path: '/openapi.json' })
    expect(answer.status, answer.text).to.equal(200)
    expect(answer.headers['content-type']).to.match(/^application\/json/)
    ;({ text, body: document } = answer)
    ajv.addSchema({ $id: 'api', ...document })
  })

  after(() => service.stop())

  it('names nothing that is not in it', () => {
    const references = membersCalled('$ref', document).map(String)
    expect(references.length).to.be.greaterThan(100)
    const lost = references.filter((reference) => {
      return !reference.startsWith('#/') || resolve(document, reference.slice(1)) === undefined
    })
    expect(lost).to.deep.equal([])
  })

  it('has examples that meet their schemas', () => {
    const media = membersCalled('content', document.paths)
      .flatMap((content) => Object.values(content as Record<string, Media>))
      .map(({ schema, example, examples = {} }) => {
        const named = Object.values(examples).flatMap(({ value }) => value ?? [])
        return { schema, shown: example === undefined ? named : [example] }
      })
      .filter(({ shown }) => shown.length > 0)
    expect(media.length).to.be.greaterThan(15)
    for (const { schema, shown } of media) {
      const validate = ajv.compile(absolute(schema))
      for (const example of shown) {
        expect(validate(example), JSON.stringify([schema, validate.errors])).to.equal(true)
      }
    }
  })

  it('shows every failure as it looks', () => {
    const validate = ajv.compile({ $ref: 'api#/components/schemas/Problem' })
    const { examples } = document.components
    for (const [code, { value }] of Object.entries<{ value: { code: string } }>(examples)) {
      expect(validate(value), `${code}: ${ajv.errorsText(validate.errors)}`).to.equal(true)
      expect(value.code).to.equal(code)
    }
  })

  it('names each failure at a route, but for those of what reaches none', () => {
    const named = new Set(membersCalled('x-problem-codes', document.paths).flat())
    const unnamed = allProblems().filter(({ code }) => !named.has(code))
    const reachNone = ['method_not_allowed', 'headers_too_large']
    expect(unnamed.map(({ code }) => code)).to.deep.equal(reachNone)
    expect(document.info.description).to.include('(/problems)')
  })

  it('asks for a token where one is needed', () => {
    const { paths } = document
    expect(paths['/api/v1/me'].get.security).to.deep.equal([{ daemonToken: [] }])
    const reading = paths['/api/mobile/v1/sensors'].get
    expect(reading.security).to.deep.equal([{ mobileToken: [] }])
    expect(reading['x-scope']).to.equal('sensors:read')
    expect(paths['/api/mobile/v1/bootstrap'].get.security).to.deep.equal([])
    expect(paths['/healthz'].get.security).to.deep.equal([])
  })

  it('satisfies a linter', async () => {
    // The relay has nothing but redirections; nothing but a stream of text refers to its events.
    const rules = { 'operation-2xx-response': 'off', 'no-unused-components': 'off' } as const
    const config = await createConfig({ extends: ['recommended'], rules })
    const problems = await lintFromString({ source: text, config })
    const found = problems.map(({ ruleId, message, location }) => {
      return `${ruleId}: ${message} at ${location[0]?.pointer ?? ''}`
    })
    expect(found).to.deep.equal([])
  })

  it('is not sent again to who has it', async () => {
    const path = '/openapi.json'
    const { headers } = await send(service.url, { path })
    const known = { 'if-none-match': headers.etag ?? '' }
    expect((await send(service.url, { path, headers: known })).status).to.equal(304)
  })
})

/** A schema of the document, as one beside it. */
function absolute(schema: object): object {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"api#/')) as object
}

describe('the pages of problems', () => {
  let service: TestService
  before(async () => {
    service = await startService()
  })
  after(() => service.stop())
  const open = async (path: string) => {
    const headers = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }
    const response = await fetch(service.url + path, { headers })
    const type = response.headers.get('content-type') ?? ''
    return { status: response.status, type, text: await response.text() }
  }

  it('are listed, each with its link', async () => {
    const { status, text } = await open('/problems')
    expect(status).to.equal(200)
    for (const { code } of allProblems()) expect(text).to.include(`href="problems/${code}"`)
  })

  it('have an example and no back-ticks', async () => {
    const { text } = await open('/problems/validation_failed')
    expect(text).to.include('<code>errors</code>')
    expect(text).not.to.include('`')
    expect(text).to.include('&quot;pointer&quot;: &quot;/temp&quot;')
    expect(text).to.include('href="../docs"')
  })

  it('explain of validation_failed every code that can be inside errors', async () => {
    const { text } = await open('/problems/validation_failed')
    for (const code of Object.keys(FAULTS)) expect(text).to.include(`<dt><code>${code}</code>`)
    expect((await open('/problems/pattern')).text).to.include('<h1>The text is not as described')
  })

  it('are shown to people where nothing is, and problems to programs', async () => {
    const { status, type, text } = await open('/nothing')
    expect(status).to.equal(404)
    expect(type).to.match(/^text\/html/)
    expect(text).to.include('Page not found').and.include('Try one of the links above.')
    expect(text).to.include('href="./problems"')
    const asked = await send(service.url, { path: '/nothing' })
    expect(asked.headers['content-type']).to.equal('application/problem+json')
    const ofApi = await open('/api/v1/nothing')
    expect(ofApi.type).to.equal('application/problem+json')
  })
})

describe('the pages of the service', () => {
  let service: TestService
  before(async () => {
    service = await startService({ APP_NAME: 'Cellars & Co' })
  })
  after(() => service.stop())
  const open = async (path: string) => {
    return (await fetch(service.url + path, { headers: { accept: 'text/html' } })).text()
  }

  for (const path of [
    '/docs',
    '/problems',
    '/problems/not_found',
    '/openapi',
    '/nothing',
    '/app/callback/home',
  ]) {
    it(`are called in the title what the operator calls it: ${path}`, async () => {
      expect(await open(path)).to.match(/<title>[^<]* · Cellars &amp; Co<\/title>/)
    })
  }

  it('have that name as heading of the whole API, which no client is made from', async () => {
    const titleOf = async (path: string) => (await send(service.url, { path })).body.info.title
    expect(await titleOf('/openapi.json')).to.equal('Cellars & Co')
    expect(await titleOf('/openapi/daemon.json')).to.equal('Thermolog daemon')
  })

  it('list the documents', async () => {
    const listed = [...(await open('/openapi')).matchAll(/<li><a href="([^"]*)"/g)]
    expect(listed).to.have.length(5)
    for (const [, path] of listed) {
      const { status, body } = await send(service.url, { path: `/${path}` })
      expect([status, body.openapi]).to.deep.equal([200, path?.includes('3.0') ? '3.0.3' : '3.1.0'])
    }
  })
})

describe('the page that shows it', () => {
  let service: TestService

  before(async () => {
    service = await startService()
  })

  after(() => service.stop())

  it('loads nothing from elsewhere', async () => {
    const { status, headers, text } = await send(service.url, { path: '/docs' })
    expect(status).to.equal(200)
    expect(headers['content-type']).to.match(/^text\/html/)
    expect(headers['content-security-policy']).to.match(/default-src 'none'; script-src 'self';/)
    const addresses = [...text.matchAll(/<(?:link|script).* (?:src|href)="([^"]*)"/g)].map(
      ([, address]) => address,
    )
    expect(addresses).to.have.length(4)
    for (const path of addresses) {
      const file = await send(service.url, { path: `/${path}` })
      expect(file.status, path).to.equal(200)
      expect(file.headers['cache-control']).to.equal('public, max-age=86400')
    }
  })

  it('has files of the right types, compressed', async () => {
    const headers = { 'accept-encoding': 'gzip' }
    const path = '/docs/swagger-ui-bundle.js'
    const answer = await send(service.url, { path, headers })
    expect(answer.headers['content-type']).to.match(/javascript/)
    expect(answer.headers['content-encoding']).to.equal('gzip')
    const style = await send(service.url, { path: '/docs/swagger-ui.css' })
    expect(style.headers['content-type']).to.match(/^text\/css/)
  })

  for (const path of ['/openapi.json', '/openapi/mobile.json', '/docs/swagger-ui-bundle.js']) {
    it(`is compressed as well as it goes, not anew for each answer: ${path}`, async () => {
      const { text } = await send(service.url, { path })
      const headers = { 'accept-encoding': 'gzip' }
      const answer = await send(service.url, { path, headers })
      const { length } = gzipSync(text, { level: 9 })
      expect(answer.headers['content-length']).to.equal(String(length))
      expect(answer.headers['vary']).to.equal('Accept-Encoding')
      const known = { ...headers, 'if-none-match': answer.headers.etag ?? '' }
      expect((await send(service.url, { path, headers: known })).status).to.equal(304)
    })
  }

  it('has the guide for devices, as text', async () => {
    const { status, headers, text } = await send(service.url, { path: '/docs/daemon.md' })
    expect(status).to.equal(200)
    expect(headers['content-type']).to.equal('text/plain; charset=utf-8')
    expect(text)
      .to.match(/^# .*\n/)
      .and.include('## Event id')
  })

  for (const file of ['index.html', 'swagger-ui-bundle.js.map', '..%2Fpackage.json', '']) {
    it(`has no file "${file}"`, async () => {
      expect((await send(service.url, { path: `/docs/${file}` })).status).to.equal(404)
    })
  }
})
