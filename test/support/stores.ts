// The whole service on each store that can have the measurements, for suites in which all of them
// have to give the same.

import { FakeClock } from './clock.ts'
import { newBucket, newToken, useInflux } from './influx.ts'
import { newMigratedDatabase, setServerClock, usePostgres } from './postgres.ts'
import { startService } from './service.ts'
import type { TestService } from './service.ts'

export type StartOnStore = () => Promise<TestService>

/** Makes a suite for each store. @param suite gets what starts a service, to be called in hooks */
export function onEachStore(suite: (start: StartOnStore) => void): void {
  describe('on SQLite', () => suite(startService))
  describe('on PostgreSQL', () => {
    const postgres = usePostgres()
    suite(async () => {
      const database = await newMigratedDatabase(postgres())
      await setServerClock(database, new FakeClock().nowMs())
      const service = await startService({ DATABASE_URL: database.url })
      const stop = async () => {
        await service.stop()
        await database.remove()
      }
      return { ...service, stop }
    })
  })
  describe('on InfluxDB', () => {
    const influx = useInflux()
    suite(async () => {
      const bucket = await newBucket(influx())
      return startService({
        INFLUX_URL: bucket.url,
        INFLUX_ORG: bucket.organization,
        INFLUX_BUCKET: bucket.influxBucket,
        INFLUX_TOKEN: await newToken(influx(), bucket, ['read', 'write']),
      })
    })
  })
}
