// Goal: a process or a database that goes away costs time, never measurements. Method: real
// processes and a server of their own, killed in the middle.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'chai'
import { runCommand, serve } from '../support/command.ts'
import type { RunningService } from '../support/command.ts'
import { send } from '../support/http.ts'
import type { TestAnswer } from '../support/http.ts'
import { usePostgresServer } from '../support/postgres.ts'
import type { PostgresServer } from '../support/postgres-server.ts'

const AT_MS = Date.UTC(2026, 10, 20, 10)
const WAIT_MS_MAX = 20_000

describe('outages with PostgreSQL', function () {
  this.timeout(90_000)
  const server = usePostgresServer()
  describe('of two processes', () => outagesOf(server))
})

function outagesOf(server: () => PostgresServer): void {
  const folder = mkdtempSync(join(tmpdir(), 'thermolog-'))
  let services: RunningService[] = []
  let token: string

  before(async () => {
    const environment = { DATABASE_URL: server().url() }
    const run = async (...args: readonly string[]) => {
      const { exitCode, stdout, stderr } = await runCommand(folder, args, environment)
      expect(exitCode, stderr).to.equal(0)
      return stdout.trim()
    }
    await run('user', 'create', '--email', 'a@example.org')
    token = await run('token', 'create', '--user', 'a@example.org', '--name', 'x')
    services = await Promise.all([serve(folder, environment), serve(folder, environment)])
  })
  after(async () => {
    for (const service of services) await service.stop()
    rmSync(folder, { recursive: true })
  })

  const urlOf = (at: number) => services[at]?.url ?? ''
  const submit = (at: number, event: number) => {
    const timestamp = new Date(AT_MS + event * 1_000).toISOString()
    const body = { event_id: `e${event}`, sn: 'cellar', temp: event, timestamp }
    return send(urlOf(at), { method: 'POST', path: '/api/v1/measurements', token, body })
  }
  const untilAnswered = async (
    ask: () => Promise<TestAnswer>,
    isMeant: (answer: TestAnswer) => boolean,
  ) => {
    const deadlineMs = performance.now() + WAIT_MS_MAX
    for (;;) {
      const answer = await ask()
      if (isMeant(answer)) return answer
      if (performance.now() > deadlineMs) throw new Error(`${answer.status} ${answer.text}`)
      await pause(100)
    }
  }
  const history = (at: number) => {
    const range = 'from=2026-11-20T10:00:00Z&to=2026-11-20T11:00:00Z&bucket=raw'
    return send(urlOf(at), { path: `/api/v1/sensors/1/measurements?${range}`, token })
  }

  it('are answered 503 while the database is away, and leave every process whole', async () => {
    expect((await submit(0, 1)).status).to.equal(201)
    await server().stop('SIGQUIT')
    for (const at of [0, 1]) expect((await submit(at, 2)).status).to.equal(503)
    const notReady = await untilAnswered(
      () => send(urlOf(0), { path: '/readyz' }),
      ({ status }) => status === 503,
    )
    expect(notReady.body.detail).to.equal('The database is out of reach.')
    await server().restart()
    const answer = await untilAnswered(
      () => submit(0, 2),
      ({ status }) => status !== 503,
    )
    expect(answer.status).to.be.oneOf([200, 201])
    await untilAnswered(
      () => submit(1, 1),
      ({ status }) => status === 200,
    )
  })

  it('lose nothing of a process that is killed: another one forwards it', async () => {
    for (let event = 3; event < 10; event++) await submit(0, event)
    const [killed] = services.splice(0, 1)
    await killed?.stop('SIGKILL')
    const { body } = await untilAnswered(
      () => history(0),
      (answer) => answer.body.data?.complete === true,
    )
    expect(body.data.points).to.have.lengthOf(9)
    expect((await submit(0, 5)).status).to.equal(200)
  })
}
