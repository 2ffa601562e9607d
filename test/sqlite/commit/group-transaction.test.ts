// Goal: what a group adds to its sensors is written as it is, and nothing of a group that failed.

import { expect } from 'chai'
import { CommitterBench } from '../../support/committer.ts'

const NOW_MS = 1_800_000_000_000
const SENSORS = 40

describe('GroupTransaction', () => {
  let bench: CommitterBench
  beforeEach(() => (bench = new CommitterBench()))
  afterEach(() => bench.close())

  it('writes what is new of the sensors of a group, after groups that found no room', () => {
    commit(SENSORS, 1)
    // Among those that are written with one statement, and among the rest.
    const tables = ['sensor_latest', 'accepted_per_day']
    for (const [table, sensorId] of tables.flatMap((name) => [10, 38].map((id) => [name, id]))) {
      bench.control.exec(`
        CREATE TEMP TRIGGER no_room BEFORE INSERT ON main.${table}
        WHEN new.sensor_id = ${sensorId} BEGIN SELECT RAISE(ABORT, 'no room'); END`)
      expect(() => commit(SENSORS, 2)).to.throw('no room')
      bench.control.exec('DROP TRIGGER temp.no_room')
    }
    commit(30, 3)
    const latest = listOf('SELECT temp_celsius FROM sensor_latest ORDER BY sensor_id')
    expect(latest).to.deep.equal([...Array<number>(30).fill(3), ...Array<number>(10).fill(1)])
    expect(listOf('SELECT sum(measurements) FROM accepted_per_day')).to.deep.equal([SENSORS + 30])
  })

  function commit(sensors: number, tempCelsius: number): void {
    const measurements = Array.from({ length: sensors }, (_, at) => ({
      eventId: `${tempCelsius} ${at}`,
      serialNumber: `sensor ${at}`,
      tempCelsius,
      measuredAtMs: NOW_MS,
    }))
    bench.commit([{ userId: 1, receivedAtMs: NOW_MS, measurements }])
  }

  function listOf(sql: string): number[] {
    return bench.control.prepare<[], number>(sql).pluck().all()
  }
})
