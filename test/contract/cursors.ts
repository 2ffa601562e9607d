// What the cursors of every engine promise, as clients have them: ids of live events are cursors.
// Goal: whatever somebody sends, only what the same user was given is known. Method: the services
// that clients ask, over the data of each engine, and changes of any character or bit.

import { expect } from 'chai'
import fc from 'fast-check'
import { cursorCharactersMax, liveLimits } from '../../src/domain/limits.ts'
import { MINUTE_MS } from '../../src/domain/time.ts'
import { SensorWatch } from '../../src/sensors/sensor-watch.ts'
import { Sensors } from '../../src/sensors/sensors.ts'
import { systemClock as clock } from '../../src/system/clock.ts'
import { newUser, openForEach, PERMISSIVE } from './open-data.ts'
import type { NewData, OpenData } from './open-data.ts'

const SETTINGS = { ...liveLimits, offlineAfterMs: 15 * MINUTE_MS, futureMsMax: 5 * MINUTE_MS }

/** What a client of one user asks. */
export class CursorClient {
  readonly #userId: number
  readonly #sensors: Sensors
  readonly #newWatch: () => SensorWatch
  readonly #watch: SensorWatch

  private constructor(userId: number, sensors: Sensors, newWatch: () => SensorWatch) {
    this.#userId = userId
    this.#sensors = sensors
    this.#newWatch = newWatch
    this.#watch = newWatch()
  }

  static async open(data: OpenData, userId: number): Promise<CursorClient> {
    const { control, controlWriter } = data
    const cursorSecret = await control.readCursorSecret()
    const of = { control, controlWriter, clock, cursorSecret }
    const newWatch = () => new SensorWatch(userId, of, SETTINGS)
    return new CursorClient(userId, new Sensors(of, SETTINGS), newWatch)
  }

  async newCursor(): Promise<string> {
    return (await this.#sensors.changes(this.#userId, undefined)).cursor
  }

  async isKnown(cursor: string): Promise<boolean> {
    return !(await this.#sensors.changes(this.#userId, cursor)).isReset
  }

  async newEventId(): Promise<string> {
    await this.#watch.look()
    return this.#watch.end.id
  }

  async isKnownEvent(id: string): Promise<boolean> {
    return (await this.#watch.placeAfter(id)) !== undefined
  }

  /** At another process. */
  async isKnownElsewhere(id: string): Promise<boolean> {
    return (await this.#newWatch().placeAfter(id)) !== undefined
  }
}

/** A text, changed in one character, one bit, or its length. */
const change = fc.oneof(
  fc.record({
    kind: fc.constant('character' as const),
    at: fc.nat(),
    by: fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
  }),
  fc.record({ kind: fc.constant('bit' as const), at: fc.nat(), by: fc.nat({ max: 7 }) }),
  fc.record({
    kind: fc.constant('insert' as const),
    at: fc.nat(),
    by: fc.string({ minLength: 1 }),
  }),
  fc.record({
    kind: fc.constant('cut' as const),
    at: fc.nat(),
    by: fc.integer({ min: 1, max: 30 }),
  }),
)
type Change = typeof change extends fc.Arbitrary<infer One> ? One : never

function changed(text: string, { kind, at: anywhere, by }: Change): string {
  const at = anywhere % text.length
  const [before, rest] = [text.slice(0, at), text.slice(at)]
  if (kind === 'bit')
    return before + String.fromCharCode(text.charCodeAt(at) ^ (1 << by)) + rest.slice(1)
  if (kind === 'cut') return before + rest.slice(by)
  return before + by + rest.slice(kind === 'character' ? 1 : 0)
}

/** Declares the suite for one engine. */
export function describeCursors(engine: string, newData: NewData): void {
  describe(`${engine}, asked with cursors`, () => {
    let data: OpenData
    let userId: number
    let client: CursorClient
    const reopen = openForEach(newData, (opened, id) => {
      data = opened
      userId = id
    })
    beforeEach(async () => {
      client = await CursorClient.open(data, userId)
    })

    it('knows those that it gave, after a start too', async () => {
      const cursor = await client.newCursor()
      const id = await client.newEventId()
      expect(await client.isKnown(cursor)).to.equal(true)
      expect(await client.isKnownEvent(id)).to.equal(true)
      expect(await client.isKnownElsewhere(id)).to.equal(true)
      await reopen()
      client = await CursorClient.open(data, userId)
      for (const one of [cursor, id]) {
        expect(await client.isKnown(one)).to.equal(true)
        expect(await client.isKnownElsewhere(one)).to.equal(true)
      }
    })

    it('knows none of another user, or of other data', async () => {
      const cursor = await client.newCursor()
      const id = await client.newEventId()
      const another = await CursorClient.open(data, await newUser(data))
      const others = await newData(PERMISSIVE)
      const otherData = await others.open()
      const stranger = await CursorClient.open(otherData, await newUser(otherData))
      for (const one of [another, stranger]) {
        expect(await one.isKnown(cursor)).to.equal(false)
        expect(await one.isKnownElsewhere(id)).to.equal(false)
      }
      await otherData.close()
      await others.remove()
    })

    it('knows none that was changed, however little', async () => {
      const cursor = await client.newCursor()
      const id = await client.newEventId()
      const isUnknown = fc.asyncProperty(change, async (one) => {
        const [otherCursor, otherId] = [changed(cursor, one), changed(id, one)]
        fc.pre(otherCursor !== cursor && otherId !== id)
        expect(await client.isKnown(otherCursor)).to.equal(false)
        expect(await client.isKnownEvent(otherId)).to.equal(false)
      })
      await fc.assert(isUnknown, { numRuns: 300 })
    })

    it('knows none that is made up, empty or long', async () => {
      const madeUp = ['', '.', 'x', '\0', 'unknown', '1.'.repeat(cursorCharactersMax)]
      for (const text of madeUp) {
        expect(await client.isKnown(text), text).to.equal(false)
        expect(await client.isKnownEvent(text), text).to.equal(false)
      }
    })
  })
}
