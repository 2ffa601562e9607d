// Goal: the lists of the dashboards leave no sensor of a large fleet out. Method: 1,001 sensors
// with one measurement each, and the panels' queries as Grafana sends them.

import { expect } from 'chai'
import { instant, MINUTE_MS, STOP_MS } from '../support/fleet.ts'
import { readDashboards } from '../support/grafana.ts'
import { sendBatches } from '../support/http.ts'
import { ask } from '../support/influxql.ts'
import type { TestService } from '../support/service.ts'
import { onEachStore } from '../support/stores.ts'
import { until } from '../support/until.ts'

const SENSORS = 1_001
const LISTS = ['Measurements of each sensor', 'Chosen sensors, warmest first (${unit:text})']

describe('the lists of the Grafana dashboards', () => {
  onEachStore((start) => {
    let service: TestService
    let token: string
    before(async () => {
      service = await start()
      service.clock.set(instant(STOP_MS))
      token = await service.createToken('a@example.org')
      const timestamp = instant(STOP_MS - MINUTE_MS)
      const readings = Array.from({ length: SENSORS }, (_, at) => ({
        sn: `s-${at}`,
        temp: at / 10,
        timestamp,
      }))
      await sendBatches(service.url, token, readings)
    })
    after(() => service?.stop())

    it('have every sensor', async () => {
      const panels = readDashboards().flatMap((dashboard) => dashboard.panels)
      const range = `time >= ${STOP_MS - 15 * MINUTE_MS}ms and time <= ${STOP_MS}ms`
      const lists = panels.filter(({ title }) => LISTS.includes(title))
      expect(lists).to.have.lengthOf(LISTS.length)
      for (const panel of lists) {
        const query = (panel.targets[0]?.query ?? '')
          .replace('$timeFilter', range)
          .replace('$__interval', '1m')
          .replace('${sensors:pipe}', '[0-9]+')
          .replaceAll('${unit:raw}', '1.8 + 32')
        const isWhole = async () => {
          const { error, rows } = await ask(service.url, token, query)
          expect(error, panel.title).to.equal(undefined)
          return new Set(rows.map((row) => row['sensor_id'])).size === SENSORS
        }
        // InfluxDB has the measurements a moment later.
        await until(`${panel.title} has ${SENSORS} sensors`, isWhole)
      }
    })
  })
})
