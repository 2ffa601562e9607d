// Goal: somebody who has just started the service, and opens its bare address, gets from there to
// a measurement on the page by a tap and by nothing but copying what the page says. Method: a real
// browser, a real service as a process, and a shell that gets what was copied, as it was copied.

import { spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import type { BrowserContext, Locator, Page } from 'playwright-core'
import { useChromium } from '../support/chromium.ts'
import { runCommand, serve } from '../support/command.ts'
import type { RunningService } from '../support/command.ts'
import { freePort } from '../support/free-port.ts'
import { expectInSight, PHONE } from './chart-page.ts'

const CHECKOUT = fileURLToPath(new URL('../../', import.meta.url))
const TOUCH_PX = 44

describe('the first run', () => {
  const browser = useChromium()
  let dataDir = ''
  let service: RunningService
  let context: BrowserContext
  let page: Page
  /** Those that an operator types. */
  let typed: readonly string[]

  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'thermolog-'))
    await writeFile(join(dataDir, '.curlrc'), 'silent\nwrite-out = "HTTP %{http_code}\\n"\n')
    service = await serve(dataDir, { PORT: String(await freePort()) })
    context = await browser().newContext({ ...PHONE, locale: 'en-GB' })
    page = await context.newPage()
  })
  after(async () => {
    await context?.close()
    await service?.stop()
    if (dataDir !== '') await rm(dataDir, { recursive: true })
  })

  /** Lets a shell run commands where the service was started. @returns what they print */
  function run(...commands: string[]): string {
    const env = { PATH: '/usr/bin:/bin', DATA_DIR: dataDir, CURL_HOME: dataDir }
    const options = { cwd: CHECKOUT, env, encoding: 'utf8' } as const
    const { status, stdout, stderr } = spawnSync('sh', ['-c', commands.join('\n')], options)
    expect(status, stderr).to.equal(0)
    return stdout
  }

  /** Copies a command with its button. @returns what can be pasted then */
  async function copied(command: RegExp): Promise<string> {
    const box = page.locator('.command', { hasText: command })
    await box.getByRole('button', { name: 'Copy' }).tap()
    await box.getByRole('status').getByText('Copied').waitFor()
    await expectTouchable(box.getByRole('button'))
    await page.evaluate(() => document.body.append(document.createElement('textarea')))
    const field = page.locator('textarea')
    await field.focus()
    await page.keyboard.press('Control+V')
    const pasted = await field.inputValue()
    await field.evaluate((made) => made.remove())
    return pasted
  }

  // Chromium takes this address for another machine: no clipboard interface without https.
  const addressOf = ({ url }: RunningService) => url.replace('127.0.0.1', '0.0.0.0')

  it('says how to get a link, and prints one', async () => {
    await page.goto(addressOf(service))
    expect(await page.evaluate(() => 'clipboard' in navigator)).to.equal(false)
    await page.getByText('You need a sign-in link. Just started Thermolog?').waitFor()
    const create = await copied(/user create/)
    const link = await copied(/user link/)
    const url = new URL(
      run(create, link)
        .split('\n')
        .find((line) => line.startsWith('http')) ?? '',
    )
    await page.goto(addressOf(service) + url.pathname + url.hash)
    await page.getByRole('button', { name: 'Sign in' }).tap()
    await page.getByText('No sensor has sent a measurement yet.').waitFor()
  })

  // Browsers leave in a host's name what shells obey, and its owner may point it here.
  it('lets no address that it was opened at run anything', async () => {
    const { stdout } = await runCommand(dataDir, ['user', 'link', 'you@example.org', '--json'])
    const { hash } = new URL((JSON.parse(stdout) as { readonly url: string }).url)
    const other = await browser().newContext({ serviceWorkers: 'block' })
    await other.route('**/*', async (route) => {
      const url = route
        .request()
        .url()
        .replace(/^http:\/\/[^/]+\/thermolog/, service.url)
      await route.fulfill({ response: await route.fetch({ url }) })
    })
    const elsewhere = await other.newPage()
    await elsewhere.goto(`http://a$({touch,pwned}).evil.test/thermolog/${hash}`)
    await elsewhere.getByRole('button', { name: 'Sign in' }).click()
    await elsewhere.getByRole('button', { name: 'Create a token' }).click()
    const box = (text: string) => elsewhere.locator('.command', { hasText: text }).locator('code')
    const send = await box('curl').innerText()
    expect(send).to.match(/^curl 'http:\/\/a\$\(\{touch,pwned\}\)[^']*' \\\n/)
    // Telegraf, too, puts in what is behind a dollar sign.
    for (const text of ['[[outputs.influxdb_v2]]', 'influxdb:']) {
      expect(await box(text).textContent()).to.match(/"[\w:/]*a\\u0024\\u0028\\u007btouch\\u002c/)
    }
    // The prefix that a proxy cuts off is part of it.
    expect(await box('influxdb:').textContent()).to.include('path: "/thermolog"\n')
    await other.unrouteAll({ behavior: 'ignoreErrors' })
    await other.close()
  })

  it('shows commands where tokens are made by the operator', async () => {
    await page.route('**/bootstrap', async (route) => {
      const { data } = await (await route.fetch()).json()
      await route.fulfill({ json: { data: { ...data, daemon_tokens: false } } })
    })
    await page.reload()
    const guide = page.getByRole('link', { name: 'how devices send' })
    await expectTouchable(guide)
    const address = await guide.evaluate((link) => (link as HTMLAnchorElement).href)
    expect((await fetch(address)).headers.get('content-type')).to.match(/^text\/plain/)
    typed = [await copied(/token create/), await copied(/curl/)]
    await page.unroute('**/bootstrap')
  })

  it('makes a token by a tap and shows what sends, which is stored once', async () => {
    await page.reload()
    await page.getByRole('button', { name: 'Create a token' }).tap()
    await page.getByRole('heading', { name: 'Token “first”' }).waitFor()
    const send = await copied(/curl/)
    const answers = run(send, send, ...typed).match(/HTTP \d+|"status":"\w+"/g)
    const [created, duplicate] = ['created', 'duplicate'].map((status) => `"status":"${status}"`)
    // The commands were shown before, and send another measurement.
    expect(answers).to.deep.equal([created, 'HTTP 201', duplicate, 'HTTP 200', created, 'HTTP 201'])
    await page
      .locator('.card', { hasText: 'cellar' })
      .getByText('21.4 °C', { exact: true })
      .waitFor()
    await page.getByText('The first measurement has arrived.').waitFor()
    await expectInSight(page, '.first-run p', '.made', '.card')
    // A tap shows the lines for other senders again.
    const telegraf = page.getByText('Telegraf', { exact: true })
    expect(await telegraf.isVisible()).to.equal(false)
    await page.getByText('Token “first”').tap()
    expect(await telegraf.isVisible()).to.equal(true)
    await page.getByRole('button', { name: 'Done' }).tap()
    await page.locator('.command').first().waitFor({ state: 'hidden' })
    expect(await page.content()).not.to.include('thd_live_')
  })
})

async function expectTouchable(target: Locator): Promise<void> {
  const size = await target.boundingBox()
  expect(Math.min(size?.width ?? 0, size?.height ?? 0)).to.be.at.least(TOUCH_PX)
}
