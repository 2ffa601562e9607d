import { expect } from 'chai'
import { StateFigures } from '../../src/sqlite/state-figures.ts'
import { systemClock } from '../../src/system/clock.ts'
import { CommitterBench } from '../support/committer.ts'
import { WatchedSensors } from '../support/watched-sensors.ts'

describe('StateFigures', () => {
  it('counts the sensors there are, and those whose deletion is not through', () => {
    const watched = new WatchedSensors()
    const { bench, commands } = watched
    const figuresOf = (offlineAfterMs: number) =>
      new StateFigures(
        { control: bench.control, ledger: bench.ledgerFile, clock: watched.clock },
        { offlineAfterMs, futureMsMax: 0 },
      )
    const figures = figuresOf(61_000)
    expect(figures.sensorDeletions()).to.deep.equal({ count: 0, oldestAgeMs: 0 })
    expect(figures.sensors()).to.deep.equal({ registered: 0, online: 0, lastSeenAtMs: 0 })
    const lastSeenAtMs = bench.nowMs
    watched.submit(1, ['A', 'B', 'C'])
    commands.deleteSensor(1, 1)
    bench.nowMs += 60_000
    commands.deleteSensor(1, 2)
    bench.nowMs += 1_000
    expect(figures.sensorDeletions()).to.deep.equal({ count: 2, oldestAgeMs: 61_000 })
    expect(figures.sensors()).to.deep.equal({ registered: 1, online: 1, lastSeenAtMs })
    expect(figuresOf(60_999).sensors()).to.include({ registered: 1, online: 0 })
    watched.submit(1, ['C'], { ageMs: -1 })
    expect(figures.sensors()).to.include({ registered: 1, online: 0 })
    bench.nowMs += 1
    expect(figures.sensors()).to.include({ registered: 1, online: 1 })
    watched.close()
  })

  it('counts the event ids that are sealed', () => {
    const bench = new CommitterBench({}, 64)
    const of = { control: bench.control, ledger: bench.ledgerFile, clock: systemClock }
    const figures = new StateFigures(of, { offlineAfterMs: 0, futureMsMax: 0 })
    for (let at = 0; at < 65; at++) {
      const event = { eventId: `event-${at}`, serialNumber: 'A', tempCelsius: 1, measuredAtMs: at }
      bench.commit([{ userId: 1, receivedAtMs: bench.nowMs, measurements: [event] }])
    }
    expect(figures.countSealedEvents()).to.equal(0)
    bench.seal()
    expect(figures.countSealedEvents()).to.equal(64)
    bench.close()
  })
})
