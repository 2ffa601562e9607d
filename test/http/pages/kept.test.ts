// Goal: nothing is broken for good because files could not be opened for a moment. Method: take the
// service its descriptors away by its limit, ask, and give them back.

import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { Agent, get } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { serve } from '../../support/command.ts'
import type { RunningService } from '../../support/command.ts'
import { leaveOut } from '../../support/left-out.ts'

const PATHS = ['/', '/service-worker.js', '/docs/swagger-ui-bundle.js', '/docs/swagger-ui.css']

describe('files that cannot be opened for a moment', () => {
  let dataDir: string
  let service: RunningService | undefined
  // One connection, opened before there is none to be had.
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })

  before(async function () {
    if (spawnSync('prlimit', ['--version']).error !== undefined) leaveOut(this, 'prlimit')
    dataDir = await mkdtemp(join(tmpdir(), 'thermolog-'))
    service = await serve(dataDir)
  })
  after(async () => {
    agent.destroy()
    await service?.stop()
    if (service !== undefined) await rm(dataDir, { recursive: true })
  })

  async function ask(path: string): Promise<IncomingMessage> {
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      get(`${service?.url}${path}`, { agent }, resolve).once('error', reject)
    })
    answer.resume()
    await new Promise((resolve) => answer.once('end', resolve))
    return answer
  }

  function limitDescriptors(limit: string): void {
    const { status } = spawnSync('prlimit', [
      '--pid',
      `${service?.child.pid}`,
      `--nofile=${limit}:`,
    ])
    expect(status).to.equal(0)
  }

  it('are read by the next request that can', async () => {
    expect((await ask('/healthz')).statusCode).to.equal(200)
    const open = readdirSync(`/proc/${service?.child.pid}/fd`).map(Number)
    limitDescriptors(String(Math.min(...free(open))))
    for (const path of PATHS) {
      const { statusCode, headers } = await ask(path)
      expect(statusCode, path).to.equal(503)
      expect(headers['retry-after'], path).to.match(/^\d+$/)
      expect(headers['cache-control'], path).to.equal('no-store')
    }
    limitDescriptors('1024')
    for (const path of PATHS) {
      const { statusCode, headers } = await ask(path)
      expect(statusCode, path).to.equal(200)
      expect(headers['cache-control'], path).to.match(/^public/)
    }
  })
})

/** Descriptors that are not in use. */
function free(open: readonly number[]): number[] {
  const used = new Set(open)
  return Array.from({ length: open.length + 1 }, (_, at) => at).filter((at) => !used.has(at))
}
