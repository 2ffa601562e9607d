// Goal: systemd knows when the service is ready, that it is alive, and when it stops. Method: the
// real command, with a datagram socket in place of systemd's, which says who has sent a message.

import { spawn, spawnSync } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { serve } from '../support/command.ts'
import { leaveOut } from '../support/left-out.ts'

const COMMAND = fileURLToPath(new URL('../../src/thermolog.js', import.meta.url))
const RECEIVER = fileURLToPath(new URL('../support/notify-socket.py', import.meta.url))

describe('a service that systemd watches', () => {
  let folder: string
  let receiver: ChildProcess
  let messages: AsyncIterator<string>
  before(function () {
    for (const program of ['perl', 'python3'] as const) {
      if (spawnSync(program, ['--version']).error !== undefined) leaveOut(this, program)
    }
  })
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'thermolog-notify-'))
    receiver = spawn('python3', [RECEIVER, join(folder, 'notify')])
    mainPid = undefined
    messages = createInterface(receiver.stdout!)[Symbol.asyncIterator]()
    expect(await next()).to.equal('bound')
  })
  afterEach(async () => {
    receiver.kill()
    await rm(folder, { recursive: true })
  })

  /** Of the main process alone: systemd takes no others. */
  let mainPid: string | undefined
  async function next(): Promise<string> {
    const { value } = (await messages.next()) as { value: string }
    const [, sender, message = value] = /^(\d+) (.*)$/.exec(value) ?? []
    if (sender === undefined) return message
    mainPid ??= sender
    expect(sender).to.equal(mainPid)
    return message
  }
  /** @returns the first message with this event */
  async function said(event: string): Promise<string> {
    const message = await next()
    return message.startsWith(`${event} `) ? message : said(event)
  }

  it('says that it starts, is ready, is alive again and again, and stops', async () => {
    const service = await serve(join(folder, 'data'), {
      NOTIFY_SOCKET: join(folder, 'notify'),
      WATCHDOG_USEC: '300000',
    })
    expect(await next()).to.match(/^EXTEND_TIMEOUT_USEC=\d+ STATUS=starting/)
    const idle = 'STATUS=ready; 0 measurements wait for the measurement store'
    expect(await said('READY=1')).to.equal(`READY=1 ${idle}`)
    expect(await said('WATCHDOG=1')).to.equal(`WATCHDOG=1 ${idle}`)
    await said('WATCHDOG=1')
    const stopped = service.stop()
    expect(await said('STOPPING=1')).to.include('STATUS=stopping')
    expect(await stopped).to.equal(0)
  })

  it('says that it is alive while requests under way hold up its stop', async () => {
    const service = await serve(join(folder, 'data'), {
      NOTIFY_SOCKET: join(folder, 'notify'),
      WATCHDOG_USEC: '300000',
    })
    const socket = connect(Number(new URL(service.url).port), '127.0.0.1')
    socket.write('POST /query HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n')
    socket.write('Content-Type: application/x-www-form-urlencoded\r\n')
    socket.write('Expect: 100-continue\r\n\r\n')
    await once(socket, 'data')
    const stopped = service.stop()
    expect(await said('STOPPING=1')).to.include('STATUS=stopping')
    for (let count = 0; count < 3; count++) {
      expect(await next()).to.match(/^WATCHDOG=1 STATUS=stopping/)
    }
    socket.destroy()
    expect(await stopped).to.equal(0)
  })

  it('is not called ready when it cannot start', async () => {
    const environment = { NOTIFY_SOCKET: join(folder, 'notify'), HOST: '192.0.2.1' }
    const failed = await serve(join(folder, 'data'), environment).catch(String)
    expect(failed).to.include('HOST 192.0.2.1 is not an address of this machine')
    const events = []
    for (let message = ''; !message.startsWith('STOPPING=1'); events.push(message.split('=')[0])) {
      message = await next()
    }
    expect(events).to.deep.equal(['EXTEND_TIMEOUT_USEC', 'STOPPING'])
  })
})

describe('a service that may not tell systemd anything', () => {
  const start = (environment: string) => {
    const program = ['-c', `${environment} exec "$@"`, 'sh', process.execPath, COMMAND, 'serve']
    const env = { PATH: process.env['PATH'], DATA_DIR: '/proc/none', HOST: '127.0.0.1' }
    return spawnSync('sh', program, { env, encoding: 'utf8' }).stderr
  }

  it('goes on, to an end of its own', () => {
    // Nothing is open there, so that every message fails.
    expect(start('NOTIFY_FD=255 NOTIFY_PID=$$')).to.include('/proc/none')
  })

  it('writes to no file that was opened for another process', () => {
    expect(start('NOTIFY_FD=none NOTIFY_PID=$$')).to.include('NOTIFY_FD must be')
    expect(start('NOTIFY_FD=none NOTIFY_PID=1')).to.include('/proc/none')
  })
})
