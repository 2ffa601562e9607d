import { expect } from 'chai'
import { StateFigures } from '../../src/sqlite/state-figures.ts'
import { CommitterBench } from '../support/committer.ts'
import { WatchedSensors } from '../support/watched-sensors.ts'

describe('StateFigures', () => {
  it('counts the sensors there are, and those whose deletion is not through', () => {
    const watched = new WatchedSensors()
    const { bench, commands } = watched
    const figures = new StateFigures(bench.control, bench.ledgerFile)
    expect(figures.sensorDeletions(bench.nowMs)).to.deep.equal({ count: 0, oldestAgeMs: 0 })
    watched.submit(1, ['A', 'B', 'C'])
    commands.deleteSensor(1, 1)
    bench.nowMs += 60_000
    commands.deleteSensor(1, 2)
    bench.nowMs += 1_000
    expect(figures.sensorDeletions(bench.nowMs)).to.deep.equal({ count: 2, oldestAgeMs: 61_000 })
    expect(figures.sensors(bench.nowMs - 61_000)).to.deep.equal({ registered: 1, online: 1 })
    expect(figures.sensors(bench.nowMs - 60_999)).to.deep.equal({ registered: 1, online: 0 })
    watched.close()
  })

  it('counts the event ids that are sealed', () => {
    const bench = new CommitterBench({}, 64)
    const figures = new StateFigures(bench.control, bench.ledgerFile)
    for (let at = 0; at < 65; at++) {
      const event = { eventId: `event-${at}`, serialNumber: 'A', tempCelsius: 1, measuredAtMs: at }
      bench.commit([{ userId: 1, receivedAtMs: bench.nowMs, measurements: [event] }])
    }
    expect(figures.sealedEvents()).to.equal(0)
    bench.seal()
    expect(figures.sealedEvents()).to.equal(64)
    bench.close()
  })
})
