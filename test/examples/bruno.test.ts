// Goal: the collection for Bruno has what the API has, and works. Method: its requests are held
// against the document of the mobile API, then sent in their order, with their scripts.

import { randomUUID } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runInNewContext } from 'node:vm'
import { expect } from 'chai'
import { send } from '../support/http.ts'
import { GRANT, startMobile } from '../support/mobile.ts'
import type { MobileTest } from '../support/mobile.ts'

const COLLECTION = fileURLToPath(new URL('../../examples/bruno/', import.meta.url))
const ANA = 'ana@example.org'

/** The blocks of a file by name, each with its lines as they are. */
type Blocks = ReadonlyMap<string, string>

type Variables = Map<string, string | number>

interface Call {
  readonly method: string
  readonly url: string
  /** Names of the query, also of those that are switched off. */
  readonly parameters: readonly string[]
  readonly isOpen: boolean
}

interface BrunoRequest extends Call {
  readonly name: string
  readonly isEndless: boolean
  /** Whether it ends the token. */
  readonly isFinal: boolean
  readonly body: string | undefined
  readonly script: string
}

describe('the collection for Bruno', () => {
  const requests = readRequests()
  let mobile: MobileTest

  before(async () => {
    const settings = { ALLOW_ACCOUNT_DELETION: 'true', MOBILE_TOKENS: 'true' }
    mobile = await startMobile({ ALLOW_SIGN_UP: 'true', ...settings })
    // Sessions begin by the clock of the machine, and some requests want one that is new.
    mobile.service.clock.set(new Date().toISOString())
  })

  after(() => mobile.stop())

  it('has a request for each operation, with all of its parameters', async () => {
    const { body } = await send(mobile.service.url, { path: '/openapi/mobile.json' })
    expect(requests.map(signatureOf)).to.have.members(signaturesIn(body))
  })

  it('works from the first request to the last, with what its environment names', async () => {
    const { url, operations } = mobile.service
    const variables: Variables = new Map()
    const set = (values: Readonly<Record<string, string>>) => {
      for (const [name, value] of Object.entries(values)) variables.set(name, value)
    }
    const { code, code_verifier: codeVerifier, redirect_uri: redirectUri } = GRANT
    set({ baseUrl: url, idp: 'forger', code, codeVerifier, redirectUri, email: ANA, cursor: '' })
    set({ token: await mobile.tokenOf() })
    const link = await operations.run('user link', { user: ANA })
    set({ linkCode: link.url.split('#/link/')[1] ?? '' })
    for (const request of requests) {
      expect(await perform(request, variables), request.name).to.be.within(200, 299)
      if (request.isFinal) set({ token: await mobile.tokenOf() })
      // Of a user with a token of the operator's the account cannot be deleted.
      if (request.name === 'Make a daemon token') await measure(url, variables)
    }
    const environment = blocksOf(join(COLLECTION, 'environments/demo.bru'))
    expect(namesIn([...environment.values()])).to.have.members([...variables.keys()])
  })
})

/** Sends a request as Bruno does. @returns the status */
async function perform(request: BrunoRequest, variables: Variables): Promise<number> {
  const filled = (text: string) =>
    text.replace(/\{\{(.*?)\}\}/g, (_, name: string) => {
      const value = name === '$randomUUID' ? randomUUID() : variables.get(name)
      if (value === undefined) throw new Error(`${request.name}: no variable ${name}`)
      return String(value)
    })
  const { href, origin, pathname, search } = new URL(filled(request.url))
  const token = filled('{{token}}')
  if (request.isEndless) return begin(href, token)
  const res = await send(origin, {
    method: request.method,
    path: pathname + search,
    ...(!request.isOpen && { token }),
    ...(request.body !== undefined && { body: JSON.parse(filled(request.body)) as object }),
  })
  const bru = { setEnvVar: (name: string, value: string | number) => variables.set(name, value) }
  runInNewContext(request.script, { bru, res })
  return res.status
}

async function begin(url: string, token: string): Promise<number> {
  const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } })
  await response.body?.cancel()
  return response.status
}

async function measure(url: string, variables: Variables): Promise<void> {
  const token = String(variables.get('daemonToken'))
  const body = { sn: 'cellar', temp: 20 }
  await send(url, { method: 'POST', path: '/api/v1/measurements', token, body })
}

/** Method, path, parameters, and whether it needs no token. */
function signatureOf({ method, url, parameters, isOpen }: Call): string {
  const path = url.replace(/^\{\{baseUrl\}\}|\?.*$/g, '').replace(/\{\{.*?\}\}/g, '{}')
  return `${method} ${path} ${parameters.toSorted().join()} ${isOpen}`
}

interface Parameter {
  readonly $ref?: string
  readonly name?: string
  readonly in?: string
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly parameters: Readonly<Record<string, Parameter>> }
}

interface Operation {
  readonly parameters: readonly Parameter[]
  readonly security: readonly unknown[]
}

function signaturesIn({ paths, components }: Document): string[] {
  const whole = (parameter: Parameter) =>
    components.parameters[parameter.$ref?.split('/').at(-1) ?? ''] ?? parameter
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, { parameters, security }]) => {
      const ofQuery = parameters.map(whole).filter((parameter) => parameter.in === 'query')
      return signatureOf({
        method: method.toUpperCase(),
        url: path.replace(/\{\w+\}/g, '{}'),
        parameters: ofQuery.map(({ name = '' }) => name),
        isOpen: security.length === 0,
      })
    }),
  )
}

/** In the order of folders, and of requests in them. */
function readRequests(): BrunoRequest[] {
  const folders = readdirSync(COLLECTION).map((name) => join(COLLECTION, name))
  const isOfRequests = (folder: string) => existsSync(join(folder, 'folder.bru'))
  const files = inOrder(folders.filter(isOfRequests), 'folder.bru').flatMap((folder) => {
    const names = readdirSync(folder).filter((name) => name !== 'folder.bru')
    return inOrder(names.map((name) => join(folder, name)))
  })
  return files.map((file) => requestIn(blocksOf(file)))
}

/** @param describing the file that says the place of a folder */
function inOrder(paths: readonly string[], describing = ''): string[] {
  const placeOf = (path: string) =>
    Number(memberOf(blocksOf(join(path, describing)).get('meta'), 'seq'))
  return paths.toSorted((one, other) => placeOf(one) - placeOf(other))
}

function requestIn(blocks: Blocks): BrunoRequest {
  const method = ['get', 'post', 'patch', 'delete'].find((name) => blocks.has(name)) ?? ''
  const meta = blocks.get('meta') ?? ''
  const call = blocks.get(method)
  return {
    name: memberOf(meta, 'name'),
    isEndless: /^ +endless$/m.test(meta),
    isFinal: /^ +final$/m.test(meta),
    method: method.toUpperCase(),
    url: memberOf(call, 'url'),
    parameters: namesIn([blocks.get('params:query') ?? '']),
    isOpen: memberOf(call, 'auth') === 'none',
    body: blocks.get('body:json'),
    script: blocks.get('script:post-response') ?? '',
  }
}

function blocksOf(file: string): Blocks {
  const blocks = readFileSync(file, 'utf8').matchAll(/^([\w:-]+) [{[]\n(.*?)^[}\]]/gms)
  return new Map(Array.from(blocks, ([, name = '', lines = '']) => [name, lines]))
}

function memberOf(lines = '', name: string): string {
  return new RegExp(`^ +${name}: (.*)$`, 'm').exec(lines)?.[1] ?? ''
}

/** What is named in blocks, with a value or without. */
function namesIn(blocks: readonly string[]): string[] {
  const lines = blocks.join('').split('\n')
  return lines.flatMap((line) => /^ +~?(\w+)/.exec(line)?.[1] ?? [])
}
