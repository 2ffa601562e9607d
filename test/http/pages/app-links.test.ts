// App Links. Goal: phones learn which apps open the callback, and a browser shows nobody its query.

import { expect } from 'chai'
import { send } from '../../support/http.ts'
import { startService } from '../../support/service.ts'
import type { TestService } from '../../support/service.ts'

const PRINTS = [...'ab'].map((digit) => Array.from({ length: 32 }, () => `1${digit}`).join(':'))
const ANDROID = '/.well-known/assetlinks.json'
const APPLE = '/.well-known/apple-app-site-association'

describe('app links', () => {
  let service: TestService
  afterEach(() => service.stop())

  it('name the apps of the settings, each with all its certificates', async () => {
    service = await startService({
      APP_LINKS_ANDROID: PRINTS.map((print) => `org.example.app/${print}`).join(', '),
      APP_LINKS_APPLE: 'ABCDE12345.org.example.app',
    })
    const android = await send(service.url, { path: ANDROID })
    const target = {
      namespace: 'android_app',
      package_name: 'org.example.app',
      sha256_cert_fingerprints: PRINTS.map((print) => print.toUpperCase()),
    }
    const relation = ['delegate_permission/common.handle_all_urls']
    expect(android.body).to.deep.equal([{ relation, target }])
    const apple = await send(service.url, { path: APPLE })
    expect(apple.headers['content-type']).to.match(/^application\/json/)
    const components = [{ '/': '/app/callback/*' }]
    const details = [{ appIDs: ['ABCDE12345.org.example.app'], components }]
    expect(apple.body).to.deep.equal({ applinks: { details } })
  })

  it('are not there without apps; the callback is a page that repeats no query', async () => {
    service = await startService()
    for (const path of [ANDROID, APPLE]) {
      expect((await send(service.url, { path })).status).to.equal(404)
    }
    const path = '/app/callback/home?code=secret&state=x'
    const { status, text, headers } = await send(service.url, { path })
    expect(status).to.equal(200)
    expect(text).to.contain('phone').and.not.to.contain('secret')
    expect(headers).to.include({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' })
  })
})
