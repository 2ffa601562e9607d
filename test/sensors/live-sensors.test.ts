// The bounds of listening. Method: real sensors, small limits, looks every few milliseconds, and a
// clock for durations that a test moves.

import { expect } from 'chai'
import { ServiceError } from '../../src/domain/errors.ts'
import { liveLimits } from '../../src/domain/limits.ts'
import { DAY_MS } from '../../src/domain/time.ts'
import { LiveSensors } from '../../src/sensors/live-sensors.ts'
import type { LiveSensorsSettings } from '../../src/sensors/live-sensors.ts'
import type { LiveEvent } from '../../src/sensors/sensor-watch.ts'
import type { Subscription } from '../../src/sensors/subscription.ts'
import { RecordingLog } from '../support/log.ts'
import { until } from '../support/until.ts'
import { WatchedSensors } from '../support/watched-sensors.ts'

const SMALL = {
  ...liveLimits,
  offlineAfterMs: 60_000,
  futureMsMax: 300_000,
  lookEveryMs: 2,
  checkTokensEveryMs: 2,
}

const isAllowed = async () => true

describe('LiveSensors', () => {
  let sensors: WatchedSensors
  let log: RecordingLog
  let live: LiveSensors

  beforeEach(() => {
    sensors = new WatchedSensors()
    log = new RecordingLog()
  })

  afterEach(() => {
    live.stop()
    sensors.close()
  })

  function create(settings: Partial<LiveSensorsSettings> = {}): void {
    const { control, clock, cursorSecret } = sensors
    live = new LiveSensors({ control, clock, log, cursorSecret }, { ...SMALL, ...settings })
  }

  function open(
    userId: number,
    lastEventId?: string,
    onEnded: () => void = () => undefined,
  ): Promise<Subscription> {
    return live.open({ userId, tokenId: userId, lastEventId, isAllowed, onEnded })
  }

  async function codeOf(opening: Promise<Subscription>): Promise<string> {
    try {
      await opening
      return 'open'
    } catch (error) {
      if (error instanceof ServiceError) return error.code
      throw error
    }
  }

  /** The next events, empty looks passed over. */
  async function eventsOf(subscription: Subscription): Promise<readonly LiveEvent[]> {
    for (;;) {
      const events = await subscription.next()
      if (events === undefined) throw new Error('the subscription has ended')
      if (events.length > 0) return events
    }
  }

  it('opens so many subscriptions in all, and of a token', async () => {
    create({ subscriptionsMax: 3, subscriptionsPerTokenMax: 2 })
    const subscriptions = [await open(1), await open(1)]
    expect(await codeOf(open(1))).to.equal('rate_limited')
    await open(2)
    expect(await codeOf(open(2))).to.equal('overloaded')
    expect(live.subscriptions).to.equal(3)
    subscriptions[0]?.close()
    subscriptions[0]?.close()
    expect(live.subscriptions).to.equal(2)
    expect(await codeOf(open(1))).to.equal('open')
  })

  it('opens so many subscriptions of a user, by whatever tokens', async () => {
    create({ subscriptionsPerUserMax: 2 })
    const onEnded = () => undefined
    const ofToken = (tokenId: number) =>
      live.open({ userId: 1, tokenId, lastEventId: undefined, isAllowed, onEnded })
    const subscriptions = [await ofToken(1), await ofToken(2)]
    expect(await codeOf(ofToken(3))).to.equal('rate_limited')
    expect(await codeOf(open(2))).to.equal('open')
    subscriptions[0]?.close()
    expect(await codeOf(ofToken(3))).to.equal('open')
  })

  it('watches so many sensors, and forgets those nobody listens to for others', async () => {
    create({ watchedSensorsMax: 30 })
    const names = Array.from({ length: 20 }, (_, index) => `s${index}`)
    for (const userId of [1, 2]) sensors.submit(userId, names)
    const first = await open(1)
    const { lastEventId } = first
    expect(await codeOf(open(2))).to.equal('overloaded')
    first.close()
    expect(await codeOf(open(1, lastEventId))).to.equal('open')
    expect(live.subscriptions).to.equal(1)
  })

  it('ends the subscriptions of a user whose sensors have become too many', async () => {
    create({ watchedSensorsMax: 30 })
    const subscription = await open(1)
    sensors.submit(
      1,
      Array.from({ length: 40 }, (_, index) => `s${index}`),
    )
    let events = await subscription.next()
    while (events !== undefined) events = await subscription.next()
    expect(live.subscriptions).to.equal(0)
  })

  it('shares the events of a look equally', async () => {
    create({ eventsPerLookMax: 10 })
    const subscriptions = [await open(1), await open(1)]
    const names = Array.from({ length: 20 }, (_, index) => `s${index}`)
    sensors.submit(1, names)
    for (const subscription of subscriptions) {
      expect(await eventsOf(subscription)).to.have.length(5)
      expect(await eventsOf(subscription)).to.have.length(5)
    }
  })

  it('is resumed whenever its client comes again, as long as cursors are known', async () => {
    create()
    const subscription = await open(1)
    const { lastEventId } = subscription
    subscription.close()
    sensors.submit(1, ['missed'])
    const again = await open(1, lastEventId)
    expect((await eventsOf(again)).map(({ kind }) => kind)).to.deep.equal(['sensor'])
    live.stop()
    create()
    sensors.bench.nowMs += 29 * DAY_MS
    const late = await open(1, lastEventId)
    expect((await eventsOf(late)).map(({ kind }) => kind)).to.deep.equal(['sensor'])
    late.close()
    sensors.bench.nowMs += 2 * DAY_MS
    const lost = await open(1, lastEventId)
    expect((await eventsOf(lost)).map(({ kind }) => kind)).to.deep.equal(['reset'])
  })

  it('keeps of what the clients of a user missed no more than of their sensors', async () => {
    create()
    const subscription = await open(1)
    const { lastEventId } = subscription
    sensors.submit(1, ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'])
    const resumed = await open(1, lastEventId)
    expect(resumed.lastEventId).to.equal(lastEventId)
    expect((await open(1, lastEventId)).lastEventId).to.equal(undefined)
    expect(await eventsOf(resumed)).to.have.length(8)
    expect((await open(1, lastEventId)).lastEventId).to.equal(lastEventId)
  })

  it('cuts a client off that takes nothing for long', async () => {
    create({ stallMsMax: 1_000 })
    let cut: () => void = () => undefined
    const isCut = new Promise<void>((resolve) => {
      cut = resolve
    })
    await open(1, undefined, cut)
    const patient = await open(2)
    await patient.next()
    const waiting = patient.next()
    sensors.monotonicMs += 1_001
    await isCut
    expect(await waiting).to.deep.equal([])
    expect(live.subscriptions).to.equal(1)
  })

  it('ends the subscriptions of an ended token, without a look and unread too', async () => {
    create({ lookEveryMs: 60_000 })
    const ended: string[] = []
    let hasEnded = false
    const openAs = (name: string, tokenId: number, check: () => Promise<boolean>) => {
      const onEnded = () => void ended.push(name)
      return live.open({ userId: 1, tokenId, lastEventId: undefined, isAllowed: check, onEnded })
    }
    const reading = await openAs('reading', 1, async () => !hasEnded)
    await openAs('not reading', 1, async () => !hasEnded)
    await openAs('of another token', 2, isAllowed)
    hasEnded = true
    let events = await reading.next()
    while (events !== undefined) events = await reading.next()
    await until('both have ended', () => ended.length === 2)
    expect(ended).to.have.members(['reading', 'not reading'])
    expect(live.subscriptions).to.equal(1)
  })

  it('keeps subscriptions as long as nobody can say whether their tokens have ended', async () => {
    create()
    let checks = 0
    const fail = () => {
      checks++
      return Promise.reject(new Error('out of reach'))
    }
    const order = { userId: 1, tokenId: 1, lastEventId: undefined, onEnded: () => undefined }
    await live.open({ ...order, isAllowed: fail })
    await until('it has been asked often', () => checks > 5)
    expect(live.subscriptions).to.equal(1)
  })

  it('ends the subscriptions that it can tell nothing, and says so', async () => {
    create()
    const subscription = await open(1)
    const broken = new Error('disk on fire')
    sensors.control.readChanges = () => Promise.reject(broken)
    let events = await subscription.next()
    while (events !== undefined) events = await subscription.next()
    expect(log.text).to.include('disk on fire')
  })

  it('opens no subscription that nobody would look for', async () => {
    create()
    const { lastEventId } = await open(1)
    const { readChanges } = sensors.control
    const answer = Promise.withResolvers<Awaited<ReturnType<typeof readChanges>>>()
    sensors.control.readChanges = (question) => {
      sensors.control.readChanges = () => Promise.reject(new Error('away'))
      void readChanges(question).then(answer.resolve)
      return answer.promise.then(async (changes) => {
        await until('a look has failed', () => log.text.includes('away'))
        return changes
      })
    }
    expect(await codeOf(open(1, lastEventId))).to.equal('overloaded')
    expect(live.subscriptions).to.equal(0)
  })

  it('ends all subscriptions when it stops, and opens none any more', async () => {
    create()
    const waiting = (await open(1)).next()
    live.stop()
    expect(await waiting).to.equal(undefined)
    expect(live.subscriptions).to.equal(0)
    expect(await codeOf(open(1))).to.equal('shutting_down')
  })
})
