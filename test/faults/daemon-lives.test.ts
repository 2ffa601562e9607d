// Goal: a daemon of examples/daemon/ loses no reading that it has confirmed and has none stored
// twice. Method: a proxy does to its requests what networks do, it is killed again and again, and
// in the end the readings that the service has are counted; each has a temperature of its own.

import { expect } from 'chai'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { startWorker } from '../../src/threads/start-threads.ts'
import { Daemon, DAEMONS, needPrograms } from '../support/daemon.ts'
import { FaultProxy } from '../support/fault-proxy.ts'
import type { Fault } from '../support/fault-proxy.ts'
import { byLength } from '../support/length.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'
import { storedTemperatures } from '../support/stored-temperatures.ts'

const HOUR_MS = 3_600_000
const LIVES = byLength(4, 40)
const LIFE_MS_MAX = 1_200
const SENSORS = ['cellar', 'attic']

const DEAD: Fault = { kind: 'cut' }
const NETWORK: readonly Fault[] = [
  { kind: 'pass' },
  { kind: 'pass' },
  { kind: 'cut' },
  { kind: 'lose_reply' },
  { kind: 'lose_reply' },
  { kind: 'cut_reply', afterBytes: 40 },
  { kind: 'arrive_late', afterMs: 300 },
  { kind: 'answer', status: 503, headers: { 'retry-after': '1' } },
  { kind: 'answer', status: 429 },
  { kind: 'answer', status: 200, body: '<html>Please sign in to the Wi-Fi</html>' },
  { kind: 'answer', status: 200, body: '{"data":[],"errors":{}}' },
]

for (const kind of DAEMONS) {
  describe(`the lives of examples/daemon/${kind.name}`, () => {
    let service: TestService
    let proxy: FaultProxy
    let token: string
    let folder: string | undefined

    before(async function () {
      needPrograms(this, kind)
      service = await startService({}, startWorker)
      // Ahead of the daemon's clock, which is that of the machine.
      service.clock.set(
        new Date(Math.max(Date.now(), service.clock.nowMs()) + HOUR_MS).toISOString(),
      )
      proxy = await FaultProxy.start(service.url)
      token = await service.createToken('ana@example.org')
      folder = await mkdtemp(join(tmpdir(), 'thermolog-daemon-'))
    })
    after(async () => {
      // A suite that is left out has not begun.
      if (folder === undefined) return
      await proxy.close()
      await service.stop()
      await rm(folder, { recursive: true })
    })

    const start = () =>
      new Daemon(kind, { url: proxy.url, token, spool: join(folder ?? '', 'spool') })

    it('lose nothing and double nothing, killed on a bad network', async () => {
      const confirmed: number[] = []
      const doubtful: number[] = []
      let temp = 0
      const give = async (daemon: Daemon) => {
        const isAlive = await daemon.give(SENSORS[temp % 2] ?? '', ++temp)
        ;(isAlive ? confirmed : doubtful).push(temp)
        return isAlive
      }
      for (let life = 0; life < LIVES; life++) {
        // Every fourth time the network is dead for a whole life.
        if (life % 4 === 1) proxy.use(DEAD)
        else proxy.decide = () => NETWORK[Math.floor(Math.random() * NETWORK.length)] ?? DEAD
        const daemon = start()
        // Every second life ends some time after it has begun to read, the others at any time.
        if (life % 2 === 0) expect(await give(daemon), daemon.errors).to.equal(true)
        const killing = setTimeout(Math.random() * LIFE_MS_MAX).then(() => daemon.kill())
        while (await give(daemon)) await setTimeout(Math.random() * 10)
        await killing
      }
      proxy.use({ kind: 'pass' })
      const last = start()
      expect(await give(last)).to.equal(true)
      expect(await last.finish(), last.errors).to.equal(0)
      await proxy.settleLate()
      const found = await storedTemperatures(service.url, token)
      expect(new Set(found).size, 'stored twice').to.equal(found.length)
      expect(found).to.include.members(confirmed)
      expect([...confirmed, ...doubtful]).to.include.members(found)
      expect(confirmed.length).to.be.greaterThan(LIVES / 2)
    })
  })
}
