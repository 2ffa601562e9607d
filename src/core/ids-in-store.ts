// Asks the measurement store which ids it knows, before ids are given out again after a restore.
// Only InfluxDB is asked: every other store is part of what was restored.

import { UnfitSettings } from '../config.ts'
import type { Config } from '../config.ts'
import { postponedError, StoreUnavailable } from '../domain/errors.ts'
import { NO_IDS } from '../domain/ids-after-restore.ts'
import type { HighestIds } from '../domain/ids-after-restore.ts'
import { MINUTE_MS } from '../domain/time.ts'
import { checkInfluxBucket } from '../influx/bucket-check.ts'
import { InfluxConnection } from '../influx/connection.ts'
import { readHighestIds } from '../influx/point-counts.ts'
import { storeNameOf } from './measurement-store.ts'

const INFLUX_SETTINGS = { socketsMax: 1, timeoutMs: MINUTE_MS }

/**
 * The highest ids in the store of data that were restored.
 *
 * @param inUse the name of the store, as the data say; `undefined`: they have not used one
 * @throws UnfitSettings if the settings name another store, or no usable bucket
 * @throws ServiceError `overloaded`: InfluxDB is out of reach
 */
export async function readIdsInStore(
  config: Pick<Config, 'influx' | 'database'>,
  inUse: string | undefined,
): Promise<HighestIds> {
  const { influx, database } = config
  if (inUse === undefined || inUse === storeNameOf({ influx: undefined, database })) return NO_IDS
  if (influx === undefined || inUse !== storeNameOf(config)) {
    throw new UnfitSettings(
      `the measurements are in another store (${inUse}) than the settings say ` +
        `(${storeNameOf(config)}): set INFLUX_URL, _ORG, _BUCKET and _TOKEN as for the service, ` +
        'because ids that have measurements there are not to be given to others',
    )
  }
  const connection = new InfluxConnection(influx, INFLUX_SETTINGS)
  try {
    const state = await checkInfluxBucket(connection)
    if (state.kind === 'unreachable') throw outOfReach(state.reason)
    if (state.kind === 'fault' || state.kind === 'expires') {
      throw new UnfitSettings(`${state.problem}: ${state.remedy}`)
    }
    return await readHighestIds(connection)
  } catch (error) {
    throw error instanceof StoreUnavailable ? outOfReach(error.message) : error
  } finally {
    connection.close()
  }
}

function outOfReach(reason: string): Error {
  return postponedError('overloaded', {
    detail: 'InfluxDB does not say which ids have measurements there.',
    hint: `Nothing has been changed. Try again when it answers: ${reason}`,
  })
}
