// Goal: the service works below a prefix, whoever takes it off. Method: the whole service with
// BASE_PATH, and the page in a browser.

import { expect } from 'chai'
import { readBasePath } from '../../src/config-values.ts'
import { useChromium } from '../support/chromium.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

describe('a service with BASE_PATH=/thermolog', () => {
  const browser = useChromium()
  let service: TestService
  before(async () => {
    service = await startService({ BASE_PATH: '/thermolog' })
  })
  after(() => service?.stop())

  const statusOf = async (path: string) => (await fetch(service.url + path)).status

  for (const path of ['/thermolog/', '/thermolog/docs', '/thermolog/openapi.json']) {
    it(`has ${path}`, async () => {
      expect(await statusOf(path)).to.equal(200)
    })
  }

  for (const path of ['/healthz', '/readyz', '/metrics']) {
    it(`has ${path} with the prefix and without`, async () => {
      expect(await statusOf(path)).to.equal(200)
      expect(await statusOf(`/thermolog${path}`)).to.equal(200)
    })
  }

  it('passes over slashes too many below the prefix', async () => {
    for (const path of ['//ping', '/ping/'])
      expect(await statusOf(`/thermolog${path}`)).to.equal(204)
  })

  const outside = ['/', '/docs', '/Thermolog/', '/%74hermolog/', '/thermologs/', '/thermolog']
  const slips = ['//ping', '//thermolog/ping', '/thermolog/thermolog//ping']
  for (const path of [
    ...outside,
    ...slips,
    '/thermolog/thermolog/',
    '/api/v1/sensors',
    '/healthz/x',
  ]) {
    it(`has no ${path}`, async () => {
      expect(await statusOf(path)).to.equal(404)
    })
  }

  it('asks for a token below the prefix', async () => {
    expect(await statusOf('/thermolog/api/v1/sensors')).to.equal(401)
  })

  it('names the prefix as the server of the API', async () => {
    const answer = await fetch(`${service.url}/thermolog/openapi.json`)
    const { servers } = (await answer.json()) as { servers: readonly { url: string }[] }
    expect(servers.map(({ url }) => url)).to.deep.equal(['/thermolog'])
  })

  it('shows pages of which nothing is missing, and keeps the first for later', async () => {
    const page = await browser().newPage()
    const failed: string[] = []
    page.on('response', (answer) => {
      if (answer.status() >= 400) failed.push(answer.url())
    })
    page.on('pageerror', (error) => failed.push(error.message))
    for (const path of ['problems', 'problems/not_found', 'docs']) {
      await page.goto(`${service.url}/thermolog/${path}`, { waitUntil: 'networkidle' })
    }
    await page.goto(`${service.url}/thermolog/`)
    await page.getByRole('heading').first().waitFor()
    const scope = await page.evaluate('navigator.serviceWorker.ready.then(({ scope }) => scope)')
    expect(scope).to.equal(`${service.url}/thermolog/`)
    expect(failed).to.deep.equal([])
    await page.close()
  })
})

describe('readBasePath', () => {
  it('takes a path, with a slash at its end or without', () => {
    expect(['/', '/a', '/a/', '/a/b.c-d'].map(readBasePath)).to.deep.equal([
      '',
      '/a',
      '/a',
      '/a/b.c-d',
    ])
  })

  for (const text of ['a', '//', '/a//b', '/../a', '/a?b', '/%41', '/api', '/docs/x', '/web']) {
    it(`refuses ${text}`, () => {
      expect(() => readBasePath(text)).to.throw('must')
    })
  }
})
