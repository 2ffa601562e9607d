// `npm run bench`: what the service does, beside a yardstick for each figure in the same run, since
// machines differ and change from hour to hour. Prints a table of ratios.
//
//   npm run bench                 everything, about five minutes
//   npm run bench -- --seconds 5  shorter loads

import { parseArgs } from 'node:util'
import { measureBatches } from './batches.ts'
import { measureHistory } from './history.ts'
import { measureInflux } from './influx.ts'
import { printTable } from './report.ts'
import type { Figure } from './report.ts'
import { measureSingles } from './singles.ts'

const { values } = parseArgs({ options: { seconds: { type: 'string', default: '60' } } })
const seconds = Number(values.seconds)
if (!(seconds >= 1)) throw new Error('--seconds takes a number of 1 or more')

const figures: Figure[] = []
for (const measure of [measureSingles, measureBatches, measureInflux, measureHistory]) {
  figures.push(...(await measure(seconds)))
}
printTable(figures)
