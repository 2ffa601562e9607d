// Goal: the page's files are served whole, compressed, to be kept for ever or asked for each time,
// and nothing else is. Method: requests; every file that the page or its worker names.

import { expect } from 'chai'
import { send } from '../../support/http.ts'
import { startService } from '../../support/service.ts'
import type { TestService } from '../../support/service.ts'

/** Without those of types, which are in comments. */
const IMPORTED = /(?:^import \{[^}]*\} from |await import\()'\.\/([\w-]+\.js)'/gm

describe('the files of the chart page', () => {
  let service: TestService
  let page: string
  let worker: string

  before(async () => {
    service = await startService()
    page = (await get('/')).text
    worker = (await get('/service-worker.js')).text
  })

  after(() => service.stop())

  const get = (path: string, headers: Record<string, string> = {}) =>
    send(service.url, { path, headers })

  function namedFiles(): string[] {
    return [...new Set((page + worker).match(/(?<![\w/])web\/[\w./-]+/g))].map((path) => `/${path}`)
  }

  it('are the page, with a policy that allows this service alone', async () => {
    const { status, headers } = await get('/?code=1&state=2')
    expect(status).to.equal(200)
    expect(headers['content-type']).to.equal('text/html; charset=utf-8')
    expect(headers['cache-control']).to.equal('public, no-cache')
    const policy = headers['content-security-policy']
    expect(policy).to.match(/^default-src 'none'; script-src 'self'; style-src 'self';/)
    expect(policy).not.to.match(/unsafe|http|\*/)
    expect(page + worker).not.to.match(/\{\{/)
  })

  it('are all there, compressed and to be kept for ever', async () => {
    const files = namedFiles()
    expect(files).to.have.length.greaterThan(15)
    for (const path of files) {
      const { status, headers } = await get(path, { 'accept-encoding': 'gzip' })
      expect(status, path).to.equal(200)
      expect(headers['cache-control'], path).to.equal('public, max-age=31536000, immutable')
      const isPicture = path.endsWith('.png')
      expect(headers['content-encoding'], path).to.equal(isPicture ? undefined : 'gzip')
    }
  })

  it('are small, all of them together', async () => {
    const headers = { 'accept-encoding': 'gzip' }
    const texts = namedFiles().filter((path) => !path.endsWith('.png'))
    const lengths = await Promise.all(
      texts.map(async (path) => Number((await get(path, headers)).headers['content-length'])),
    )
    expect(lengths.reduce((sum, length) => sum + length)).to.be.within(30_000, 150_000)
  })

  it('are known to the worker, every one that a module imports', async () => {
    const files = namedFiles()
    const [folder = ''] = /web\/\w+\//.exec(files[0] ?? '') ?? []
    for (const path of files.filter((file) => /\/[a-z-]+\.js$/.test(file))) {
      const { text } = await get(path)
      const imported = Array.from(text.matchAll(IMPORTED), ([, name = '']) => name)
      if (path.endsWith('/page.js')) expect(imported).to.include('sign-in-view.js')
      for (const name of imported) expect(worker, path).to.include(`${folder}${name} `)
    }
  })

  it('are an app that can be installed', async () => {
    const { headers, body } = await get('/manifest.webmanifest')
    expect(headers['content-type']).to.equal('application/manifest+json')
    expect(body).to.include({ start_url: '.', display: 'standalone' })
    for (const { src } of (body as { icons: { src: string }[] }).icons) {
      expect((await get(`/${src}`)).status, src).to.equal(200)
    }
  })

  for (const path of ['/', '/service-worker.js', '/manifest.webmanifest']) {
    it(`are not sent again to who has ${path}`, async () => {
      const { headers } = await get(path)
      const known = { 'if-none-match': headers.etag ?? '' }
      expect((await get(path, known)).status).to.equal(304)
    })
  }

  it('are asked about with HEAD and changed by nothing', async () => {
    const head = await send(service.url, { method: 'HEAD', path: '/' })
    expect(head.status).to.equal(200)
    expect(head.text).to.equal('')
    const post = await send(service.url, { method: 'POST', path: '/' })
    expect(post.status).to.equal(405)
    expect(post.headers.allow).to.equal('GET, HEAD')
  })

  for (const path of [
    '/web/0123456789ab/page.js',
    '/web/page.js',
    '/web/',
    '/index.html',
    '/page.js',
  ]) {
    it(`have no ${path}`, async () => {
      expect((await send(service.url, { path })).status).to.equal(404)
    })
  }
})
