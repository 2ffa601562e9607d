// Submissions committed on Citus by the lanes of one process, without HTTP, beside the same on one
// PostgreSQL. All servers are on this machine, with the same programs, by turns.

import { migrate } from '../src/postgres/server/migrate.ts'
import { CitusCluster, findCitus } from '../test/support/citus.ts'
import { openProcess } from '../test/support/postgres-process.ts'
import type { OpenProcess } from '../test/support/postgres-process.ts'
import { PostgresServer } from '../test/support/postgres-server.ts'
import { LOADS, makeUsers, RULES, run, submitting, TURNS } from './postgres.ts'
import { median, perSecond, say } from './report.ts'
import type { Figure } from './report.ts'

const DATABASE = 'bench'

export async function measureCitus(seconds: number): Promise<Figure[]> {
  const programs = findCitus()
  if (programs === undefined) {
    say('Citus left out: set CITUS_BIN to the folder of its initdb and postgres')
    return []
  }
  const cluster = await CitusCluster.start(programs)
  const single = await PostgresServer.start(programs)
  try {
    await cluster.createDatabase(DATABASE)
    return await measureOn(await open(cluster.url(DATABASE)), await open(single.url()), seconds)
  } finally {
    await cluster.remove()
    await single.remove()
  }
}

async function open(url: string): Promise<OpenProcess> {
  await migrate(url)
  return openProcess(url, RULES)
}

async function measureOn(
  onCitus: OpenProcess,
  onOne: OpenProcess,
  seconds: number,
): Promise<Figure[]> {
  const users = { onCitus: await makeUsers(onCitus), onOne: await makeUsers(onOne) }
  const figures: Figure[] = []
  for (const load of LOADS) {
    say(`${load.name} on Citus and on one PostgreSQL by turns`)
    const sends = {
      onCitus: submitting(onCitus, users.onCitus, load),
      onOne: submitting(onOne, users.onOne, load),
    }
    const rates: { onCitus: number[]; onOne: number[] } = { onCitus: [], onOne: [] }
    for (const send of Object.values(sends)) await run(send, load, 1)
    for (let turn = 0; turn < TURNS; turn++) {
      rates.onCitus.push(await run(sends.onCitus, load, seconds / TURNS / 2))
      rates.onOne.push(await run(sends.onOne, load, seconds / TURNS / 2))
    }
    const [rate, yardstick] = [median(rates.onCitus), median(rates.onOne)]
    figures.push({
      name: `Citus: ${load.name}, ${load.connections} in flight; one PostgreSQL`,
      ours: perSecond(rate),
      yardstick: perSecond(yardstick),
      ratio: (rate / yardstick).toFixed(2),
    })
  }
  await onCitus.close()
  await onOne.close()
  return figures
}
