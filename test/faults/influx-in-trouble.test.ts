// Goal: whatever befalls InfluxDB, submissions are acknowledged, and in the end everything that was
// acknowledged is there once. Method: the service as a process of its own, senders that send all
// the time, an influxd that is paused and killed, and a proxy before it that cuts, delays, loses
// and refuses. influx-faults.test.ts has it longer.

import { setTimeout } from 'node:timers/promises'
import { expect } from 'chai'
import { firingOf, readAlertRules } from '../support/alert-rules.ts'
import type { Fault } from '../support/fault-proxy.ts'
import type { TestAnswer } from '../support/http.ts'
import { useInfluxServer } from '../support/influx.ts'
import { readAnswer } from '../support/influxql.ts'
import { Fleet, InfluxStory, readingsOf, STORY_RANGE } from '../support/influx-story.ts'
import { until } from '../support/until.ts'

const FAULTS: readonly Fault[] = [
  { kind: 'cut' },
  { kind: 'lose_reply' },
  { kind: 'arrive_late', afterMs: 300 },
  { kind: 'delay', byMs: 200 },
  { kind: 'answer', status: 401, body: '{"code":"unauthorized","message":"unauthorized"}' },
  { kind: 'answer', status: 429, headers: { 'retry-after': '1' } },
  { kind: 'answer', status: 500, body: '{"code":"internal error","message":"no space left"}' },
  { kind: 'answer', status: 503 },
]
const DAY_MS = 86_400_000
const OTHER_MONTH_MS = Date.UTC(2025, 6, 10)

describe('the service, when InfluxDB is in trouble', () => {
  const server = useInfluxServer()
  let story: InfluxStory
  beforeEach(async () => {
    story = await InfluxStory.begin(server())
  })
  afterEach(() => story.end())

  /** What never waits for InfluxDB, which a history gives 8 s. */
  const expectPrompt = async () => {
    const startedAtMs = performance.now()
    expect((await story.get('/api/v1/sensors')).status).to.equal(200)
    expect((await story.get('/readyz')).status).to.equal(200)
    expect(performance.now() - startedAtMs).to.be.below(5_000)
  }

  it('acknowledges all the time and has everything once in the end', async () => {
    const fleet = new Fleet(story, { senders: 4, batch: 50, pauseMs: 40 })
    await setTimeout(500)
    const id = await story.sensorId('sender-0')

    server().pause()
    await setTimeout(200)
    const asked = story.history(id)
    await setTimeout(2_500)
    await expectPrompt()
    server().resume()
    const answer = await asked
    if (answer.status === 200) expect(answer.body.data.complete).to.equal(false)
    else expect(answer.body.code).to.equal('history_unavailable')

    await server().kill()
    await until('the service says that its store fails', async () => {
      return (await story.storeState()).store === 'failing'
    })
    await expectPrompt()
    const refused = await story.history(id)
    expect(refused.status).to.equal(503)
    expect(refused.body.code).to.equal('history_unavailable')
    expect(refused.headers['retry-after']).to.match(/^\d+$/)
    await server().restart()
    await until('it says that the store works', async () => {
      return (await story.storeState()).store === 'ok'
    })

    const faults = [...FAULTS]
    let isFaulty = false
    story.proxy.decide = ({ path, body }) => {
      if (!path.startsWith('/api/v2/write') || body.length === 0) return { kind: 'pass' }
      isFaulty = !isFaulty
      return (isFaulty ? faults.pop() : undefined) ?? { kind: 'pass' }
    }
    await until('every fault has come', async () => faults.length === 0)
    const acknowledged = await fleet.stop()
    await story.drained()
    await story.proxy.settleLate()
    expect(acknowledged).to.be.greaterThan(1_000)
    expect(fleet.answerMsMax).to.be.below(10_000)
    for (const [sn, sent] of fleet.sent) await story.expectWhole(sn, sent)
    await story.expectClean()
  })

  it('writes again what InfluxDB has lost, and deletes a sensor for good meanwhile', async () => {
    await story.post([...readingsOf('KEPT', 0, 100), ...readingsOf('GONE', 0, 100)])
    await story.drained()
    const [kept, gone] = [await story.sensorId('KEPT'), await story.sensorId('GONE')]
    await story.deletePastService(STORY_RANGE, `sensor_id="${kept}"`)
    expect(await story.countInInflux(kept)).to.equal(0)

    await server().kill()
    await story.deleteSensor(gone)
    expect((await story.history(gone)).status).to.equal(404)
    // The same serial number is another sensor from here on.
    expect(await story.post(readingsOf('GONE', 500, 50))).to.equal(201)
    const again = await story.sensorId('GONE')
    expect(again).not.to.equal(gone)
    await server().restart()

    // What is back shows that the journal was written again.
    const isBack = async () => (await story.countInInflux(kept)) === 100
    await until('the journal is written again', isBack)
    const isGone = async () => (await story.countInInflux(gone)) === 0
    await until('the deleted sensor is gone', isGone)
    expect(await story.post(readingsOf('GONE', 600, 50))).to.equal(201)
    await story.drained()
    await story.restartService('SIGKILL')
    await story.drained()
    await story.expectWhole('KEPT', readingsOf('KEPT', 0, 100))
    await story.expectWhole('GONE', [
      ...readingsOf('GONE', 500, 50),
      ...readingsOf('GONE', 600, 50),
    ])
    // A start deletes it once more, and has a sentinel there meanwhile.
    await until('the deleted sensor is still gone', isGone)
  })

  it('keeps neither a reader nor its own end waiting for an InfluxDB that hangs', async () => {
    await story.post(readingsOf('CELLAR', 0, 100))
    await story.drained()
    const id = await story.sensorId('CELLAR')
    const history = () => story.history(id)
    const query = () => {
      const during = "time >= '2026-03-10T00:00:00Z' AND time < '2026-03-11T00:00:00Z'"
      const q = `SELECT mean("temp") FROM "temperature" WHERE ${during}`
      return story.get(`/query?${new URLSearchParams({ q }).toString()}`)
    }
    const refusedAfterMs = async (ask: () => Promise<TestAnswer>) => {
      const askedAtMs = performance.now()
      const { status, headers, body } = await ask()
      expect(status, JSON.stringify(body)).to.equal(503)
      expect(headers['retry-after']).to.match(/^\d+$/)
      return performance.now() - askedAtMs
    }
    server().pause()
    const waitedMs = await refusedAfterMs(history)
    expect(waitedMs).to.be.below(20_000)
    expect((await history()).body.code).to.equal('history_unavailable')
    for (const ask of [history, query]) {
      expect(await refusedAfterMs(ask)).to.be.below(waitedMs / 2)
    }
    await story.post(readingsOf('CELLAR', 100, 100))
    expect(await refusedAfterMs(history)).to.be.below(waitedMs / 2)
    server().resume()
    await until('histories are back', async () => (await history()).status === 200)
    expect((await query()).status).to.equal(200)
    server().pause()
    await story.post(readingsOf('CELLAR', 200, 100))
    // A write is given 30 s.
    expect(await story.restartService()).to.be.below(20_000)
    server().resume()
    await story.drained()
    await story.expectWhole('CELLAR', readingsOf('CELLAR', 0, 300))
  })

  it('fails the alert rule that reads it, and no other, while InfluxDB hangs', async () => {
    await story.post(readingsOf('CELLAR', 0, 100))
    await story.drained()
    const asked = async (statement: string) => {
      const q = statement.replace('$timeFilter', 'time > now() - 15m')
      return readAnswer(await story.get(`/query?${new URLSearchParams({ q }).toString()}`))
    }
    const judge = async () => {
      const found: Record<string, readonly string[] | string> = {}
      for (const rule of readAlertRules()) {
        found[rule.title] = await firingOf(rule, asked).catch((error: Error) => error.message)
      }
      return found
    }
    const well = {
      'Sensor too warm': [],
      'Sensor too cold': [],
      'Sensor silent': ['CELLAR'],
      'Thermolog cannot be asked': [],
    }
    expect(await judge()).to.deep.equal(well)
    server().pause()
    const { 'Thermolog cannot be asked': refusal, ...others } = await judge()
    server().resume()
    expect(refusal).to.match(/measurement store/)
    expect({ ...well, ...others }).to.deep.equal(well)
    await until('it can be asked again', async () => {
      return (await judge())['Thermolog cannot be asked']?.length === 0
    })
  })

  it('sets aside what InfluxDB refuses until it is tried again or dropped', async () => {
    // An integer that was written first has the floats of its month refused.
    await story.writePastService(
      `temperature,user_id=9,sensor_id=999 temp=1i ${OTHER_MONTH_MS}000000`,
    )
    const refused = readingsOf('CELLAR', 0, 3, OTHER_MONTH_MS)
    await story.post([...readingsOf('CELLAR', 0, 100), ...refused])
    await story.drained()
    await story.expectWhole('CELLAR', readingsOf('CELLAR', 0, 100))
    const id = await story.sensorId('CELLAR')
    const month = `from=2025-07-09T00:00:00Z&to=2025-07-12T00:00:00Z&bucket=raw`
    const historyOf = async () => {
      const { body } = await story.get(`/api/v1/sensors/${id}/measurements?${month}`)
      return { complete: body.data?.complete, count: body.data?.points.length }
    }
    const listed = async () => {
      const { stdout } = await story.run('journal', 'list', '--json')
      return JSON.parse(stdout) as { id: number; sensor_id: number; reason: string }[]
    }
    expect(await historyOf()).to.deep.equal({ complete: false, count: 0 })
    const aside = await listed()
    expect(aside.map(({ sensor_id: sensorId }) => sensorId)).to.deep.equal([id, id, id])
    expect(aside[0]?.reason).to.match(/field type conflict/)

    await story.run('journal', 'retry', '--all')
    await story.drained()
    await until('they are refused again', async () => (await listed()).length === 3)
    expect(await historyOf()).to.deep.equal({ complete: false, count: 0 })

    // Until its next restart InfluxDB forgets the type with the last point of the shard.
    await story.deletePastService({ startMs: OTHER_MONTH_MS, stopMs: OTHER_MONTH_MS + DAY_MS })
    const [dropped = { id: 0 }] = await listed()
    expect((await story.run('journal', 'drop', String(dropped.id), '--yes')).exitCode).to.equal(0)
    expect((await story.run('journal', 'retry', '--all')).stderr).to.match(/^2 measurements/)
    await story.drained()
    expect(await listed()).to.deep.equal([])
    expect(await historyOf()).to.deep.equal({ complete: true, count: 2 })
  })
})
