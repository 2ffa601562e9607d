// What this process has seen of the data: the last row of each stream, acknowledged by this or
// another process. A server that has less lacks something.

import { shardOfStream } from '../../domain/shard.ts'
import { MINUTE_MS } from '../../domain/time.ts'
import type { Clock } from '../../ports/system.ts'
import { ageMsOf, momentNow } from './moment.ts'
import type { Moment } from './moment.ts'

/** All streams, as `stream:head:fence,…`. */
export type StreamsText = string

interface Seen {
  readonly head: number
  /** Of the stream's owner then. */
  readonly fence: number
}

/** A server's data, and the streams as they were in this process's epoch. */
export interface FoundData {
  readonly id: string
  readonly epoch: string
  /** `null`: the data never had that epoch. */
  readonly streamsThen: StreamsText | null
  /** Shards whose streams are not known, because their machine is away. */
  readonly unknownShards: readonly number[]
}

/** A process that has not looked for longer does not know what others acknowledged meanwhile. */
const AWAKE_MS_MAX = MINUTE_MS

type DataLife = Pick<FoundData, 'id' | 'epoch'>

export class SeenStreams {
  readonly #clock: Clock
  #life: DataLife | undefined
  #lookedAt: Moment | undefined
  readonly #streams = new Map<number, Seen>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  copy(): SeenStreams {
    const copy = new SeenStreams(this.#clock)
    copy.#life = this.#life
    copy.#lookedAt = this.#lookedAt
    for (const [stream, seen] of this.#streams) copy.#streams.set(stream, seen)
    return copy
  }

  /** `undefined` until it adopts data. */
  get epoch(): string | undefined {
    return this.#life?.epoch
  }

  /** Whether it looked at all streams within the last minute. */
  get isAwake(): boolean {
    return this.#lookedAt !== undefined && ageMsOf(this.#lookedAt, this.#clock) <= AWAKE_MS_MAX
  }

  /** Follows these data from now on. */
  adopt({ id, epoch }: DataLife): void {
    if (epoch === this.epoch) return
    this.#life = { id, epoch }
    this.#streams.clear()
    this.#lookedAt = undefined
  }

  /** This process is about to acknowledge a row. */
  noteRow(stream: number, seq: number): void {
    this.#note(stream, { head: seq, fence: 0 })
  }

  /** Takes what a look found. @param askedEpoch its epoch when the look began */
  noteLook(found: FoundData, askedEpoch: string | undefined): void {
    if (askedEpoch !== this.epoch) return
    if (found.epoch !== this.epoch) {
      if (!this.exceeds(found)) this.adopt(found)
      return
    }
    for (const [stream, seen] of streamsOf(found.streamsThen ?? '')) this.#note(stream, seen)
    this.#lookedAt = momentNow(this.#clock)
  }

  /** Whether the data lack something it has seen, though their id is still the same. */
  exceeds({ id, streamsThen, unknownShards }: FoundData): boolean {
    if (this.#life === undefined) return false
    if (streamsThen === null) return true
    if (id !== this.#life.id) return false
    const found = new Map(streamsOf(streamsThen))
    return [...this.#streams].some(([stream, { head, fence }]) => {
      if (unknownShards.includes(shardOfStream(stream))) return false
      const one = found.get(stream)
      return one === undefined || head > one.head || fence > one.fence
    })
  }

  #note(stream: number, { head, fence }: Seen): void {
    const known = this.#streams.get(stream)
    this.#streams.set(stream, {
      head: Math.max(head, known?.head ?? 0),
      fence: Math.max(fence, known?.fence ?? 0),
    })
  }
}

function streamsOf(text: StreamsText): [number, Seen][] {
  return text.split(',').map((one) => {
    const [stream = 0, head = 0, fence = 0] = one.split(':').map(Number)
    return [stream, { head, fence }]
  })
}
