// `npm run bench`: what the service does, beside a yardstick for each figure in the same run, since
// machines differ and change from hour to hour. Prints a table of ratios.
//
//   npm run bench                              everything, about eight minutes
//   npm run bench -- --seconds 5               shorter loads
//   npm run bench -- --only singles,tenants    some of it
//   npm run bench -- --only ledger --events 100000000

import { parseArgs } from 'node:util'
import { measureBatches } from './batches.ts'
import { measureDashboard } from './dashboard.ts'
import { measureFairness } from './fairness.ts'
import { measureHistory } from './history.ts'
import { measureHostile } from './hostile.ts'
import { measureInfluxHistory } from './influx-history.ts'
import { measureInflux } from './influx.ts'
import { measureLedger } from './ledger.ts'
import { measureLines } from './lines.ts'
import { measureMixed } from './mixed.ts'
import { printTable } from './report.ts'
import type { Figure } from './report.ts'
import { measurePostgres } from './postgres.ts'
import { measurePressure } from './pressure.ts'
import { measureSingles } from './singles.ts'
import { measureSmall } from './small.ts'
import { measureTenants } from './tenants.ts'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    only: { type: 'string' },
    events: { type: 'string', default: '10000000' },
  },
})
const seconds = Number(values.seconds)
if (!(seconds >= 1)) throw new Error('--seconds takes a number of 1 or more')
const events = Number(values.events)

const measures: Readonly<Record<string, () => Promise<Figure[]>>> = {
  singles: () => measureSingles(seconds),
  batches: () => measureBatches(seconds),
  influx: () => measureInflux(seconds),
  lines: () => measureLines(seconds),
  small: () => measureSmall(seconds),
  tenants: () => measureTenants(seconds),
  fairness: () => measureFairness(seconds),
  mixed: () => measureMixed(seconds),
  dashboard: () => measureDashboard(),
  history: () => measureHistory(),
  'influx-history': () => measureInfluxHistory(),
  pressure: async () => [...(await measureHostile(seconds)), ...(await measurePressure(seconds))],
  postgres: () => measurePostgres(seconds),
  ledger: () => measureLedger(seconds, events),
}
const names = values.only?.split(',') ?? Object.keys(measures)
const chosen = names.map((name) => {
  const measure = measures[name]
  if (measure === undefined) throw new Error(`--only takes ${Object.keys(measures).join(', ')}`)
  return measure
})
const figures: Figure[] = []
for (const measure of chosen) figures.push(...(await measure()))
printTable(figures)
