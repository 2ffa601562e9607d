// Which shard the measurements of a sensor are in. Where there are several, no key tells it by the
// sensor alone, so every machine is asked, once: a sensor never changes its shard.

import type { Database } from '../server/database.ts'

const FIND = 'SELECT shard FROM sensors WHERE id = $1'

/** Up to so many are remembered, about 50 bytes each. */
const SENSORS_MAX = 100_000

export class SensorShards {
  readonly #database: Database
  readonly #shards = new Map<number, number>()

  constructor(database: Database) {
    this.#database = database
  }

  /** @param sensorId of a sensor that is registered, or was; else its shard is the first one */
  async find(sensorId: number): Promise<number> {
    const [first = 0, ...others] = (await this.#database.readShards()).numbers
    if (others.length === 0) return first
    const known = this.#shards.get(sensorId)
    if (known !== undefined) return known
    const [found] = await this.#database.rows<{ shard: number }>(FIND, [sensorId])
    if (found === undefined) return first
    if (this.#shards.size >= SENSORS_MAX) this.#shards.clear()
    this.#shards.set(sensorId, found.shard)
    return found.shard
  }
}
