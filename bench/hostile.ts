// How long one user's single measurement takes, sent every 100 ms, while another user sends hostile
// requests to every route; and what that does to the memory.

import { HostileRequests } from '../test/support/hostile.ts'
import { readRoutes } from '../test/support/hostile-routes.ts'
import { HostileRun } from '../test/support/hostile-run.ts'
import { quantile, sendSteadily } from './fairness.ts'
import { startMobileMeasured } from './mobile-service.ts'
import { megabytes, milliseconds, perSecond, say } from './report.ts'
import type { Figure } from './report.ts'
import { createTenant } from './tenants.ts'

/** The same requests in each run, as far as it comes. */
const SEED = 1

export async function measureHostile(seconds: number): Promise<Figure[]> {
  const service = await startMobileMeasured()
  const { port, token, mobileToken, signIn } = service
  const other = await createTenant(service, 'other@example.org')
  const url = `http://127.0.0.1:${port}`
  const requests = new HostileRequests(await readRoutes(url), SEED)
  const run = new HostileRun({
    url,
    requests,
    tokens: { daemon: token, mobile: mobileToken },
    isAlive: service.isAlive,
    renewMobileToken: signIn,
  })
  say(`one measurement every 100 ms beside hostile requests for ${seconds} s`)
  const ended = new AbortController()
  const sending = sendSteadily(port, other, ended.signal)
  const endAtMs = performance.now() + seconds * 1_000
  await Promise.race([run.send(() => performance.now() > endAtMs), sending])
  ended.abort()
  run.close()
  const timesMs = await sending
  const peakBytes = service.peakMemoryBytes()
  await service.stop()
  await service.remove()
  const answered = [...run.outcomes.values()].reduce((sum, count) => sum + count, 0)
  const beside = "another user's single POST beside hostile requests"
  const alone = { yardstick: '', ratio: '' }
  return [
    {
      name: `p99 of ${beside}`,
      ours: milliseconds(quantile(timesMs, 0.99)),
      yardstick: `${perSecond(answered / seconds)} of the other`,
      ratio: '',
    },
    { name: '  the worst of them', ours: milliseconds(quantile(timesMs, 1)), ...alone },
    { name: '  peak memory', ours: megabytes(peakBytes), ...alone },
  ]
}
