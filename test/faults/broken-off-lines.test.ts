// Goal: a body of line protocol that is broken off between its transactions is stored once when it
// is sent again. Method: the service is killed, or finds no room on its disk, at one call after the
// other that changes a file while it stores a body; then the body is sent until it is taken.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { serve } from '../support/command.ts'
import type { RunningService } from '../support/command.ts'
import { useDiskFaults } from '../support/disk-faults.ts'
import { createFleetToken } from '../support/fleet-token.ts'
import { sendUnchecked } from '../support/http.ts'
import type { TestAnswer } from '../support/http.ts'
import { byLength } from '../support/length.ts'
import { until } from '../support/until.ts'
import { expectClean } from '../support/verify.ts'

const POINTS = byLength(4, 40)
const KEYED = 2_000
const UNKEYED = 3
const START_MS = Date.UTC(2026, 0, 1)
const DAY = 'from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00Z&bucket=day'
const SETTINGS = {
  RATE_LIMIT_REQUESTS: '0',
  RATE_LIMIT_MEASUREMENTS: '0',
  MIN_FREE_DISK: '0B',
  // So that it does not start itself once more.
  MALLOC_ARENA_MAX: '2',
}

/** Each with sensors of its own, so that what is stored of it can be told. */
function bodyOf(name: string): string {
  const keyed = Array.from(
    { length: KEYED },
    (_, at) => `room,sn=${name} temp=${at / 100} ${START_MS + at * 1_000}000000`,
  )
  return [...Array.from({ length: UNKEYED }, () => `now,sn=${name} temp=1`), ...keyed].join('\n')
}

describe('a body of line protocol that is broken off', () => {
  const diskFaults = useDiskFaults()
  let dataDir: string
  let service: RunningService
  let token: string
  let stored: number

  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'thermolog-lines-'))
    token = await createFleetToken(dataDir, 'fleet@example.org')
    await start()
    stored = 0
  })

  afterEach(async () => {
    await service.stop('SIGKILL')
    await rm(dataDir, { recursive: true })
  })

  const start = async () => {
    service = await serve(dataDir, { ...SETTINGS, ...diskFaults().environment })
  }
  const write = (body: string): Promise<TestAnswer> => {
    const headers = { authorization: `Token ${token}` }
    return sendUnchecked(service.url, { method: 'POST', path: '/api/v2/write', body, headers })
  }
  const countOf = ({ headers }: TestAnswer, name: string) => Number(headers[`thermolog-${name}`])

  it('by kill -9 has each point with a time once, and is never half acknowledged', async () => {
    let unanswered = 0
    const inParts = await sweep('kill', async (body) => {
      // What forwards makes calls too: among the last ones, the answer may come first.
      const answer = await write(body).catch(() => undefined)
      if (answer === undefined) unanswered++
      else expect(answer.status).to.equal(204)
      diskFaults().rest()
      await service.stop('SIGKILL')
      await start()
      const again = await write(body)
      expect(again.status).to.equal(204)
      return again
    })
    expect(inParts, 'kills between two transactions').to.be.greaterThan(0)
    expect(unanswered, 'kills before the answer').to.be.at.least(POINTS * 0.75)
  })

  it('by a full disk is refused with 503, and stored once when there is room', async () => {
    const inParts = await sweep('ENOSPC', async (body) => {
      const refused = await write(body)
      expect(refused.status, refused.text).to.equal(503)
      expect(refused.body.code).to.equal('unavailable')
      expect(Number(refused.headers['retry-after'])).to.be.greaterThan(0)
      diskFaults().rest()
      return untilStored(body)
    })
    expect(inParts, 'refusals between two transactions').to.be.greaterThan(0)
  })

  /** @returns how often a part of the body was stored when it was broken off */
  async function sweep(
    action: 'kill' | 'ENOSPC',
    breakOff: (body: string) => Promise<TestAnswer>,
  ): Promise<number> {
    const fault = { files: ['control.db'], calls: ['write'] } as const
    diskFaults().order({ ...fault, action: 'count', at: Number.MAX_SAFE_INTEGER })
    expect((await write(bodyOf('sn-whole'))).status).to.equal(204)
    stored += KEYED + UNKEYED
    const calls = diskFaults().counted()
    let inParts = 0
    for (let point = 0; point < POINTS; point++) {
      const at = 1 + Math.floor((calls * point) / POINTS)
      const name = `sn-${point}`
      diskFaults().order({ ...fault, action, at, times: Number.MAX_SAFE_INTEGER })
      const answer = await breakOff(bodyOf(name))
      const created = countOf(answer, 'created')
      const duplicates = countOf(answer, 'duplicates')
      expect(created + duplicates, `call ${at}`).to.equal(KEYED + UNKEYED)
      if (duplicates > 0 && duplicates < KEYED) inParts++
      await expectStored(name)
    }
    await service.stop()
    // Without an answer nobody knows whether points without a time were stored: they come twice.
    const twiceMax = action === 'kill' ? POINTS * UNKEYED : 0
    expect(await expectClean(dataDir)).to.be.within(stored, stored + twiceMax)
    return inParts
  }

  async function untilStored(body: string): Promise<TestAnswer> {
    let answer = await write(body)
    await until('there is room', async () => {
      if (answer.status === 204) return true
      expect(answer.status, answer.text).to.equal(503)
      answer = await write(body)
      return answer.status === 204
    })
    return answer
  }

  async function expectStored(name: string): Promise<void> {
    stored += KEYED + UNKEYED
    const list = await sendUnchecked(service.url, { path: '/api/v1/sensors', token })
    const sensors = list.body.data as { id: number; sn: string }[]
    const id = sensors.find(({ sn }) => sn === `room.${name}`)?.id
    const path = `/api/v1/sensors/${id}/measurements?${DAY}`
    let count: number | undefined
    await until(`the history of ${name} is complete`, async () => {
      const { body, status } = await sendUnchecked(service.url, { path, token })
      if (status !== 200 || body.data.complete !== true) return false
      count = (body.data.points as [{ count: number }])[0].count
      return true
    })
    expect(count, name).to.equal(KEYED)
  }
})
