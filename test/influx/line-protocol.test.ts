import { expect } from 'chai'
import * as fc from 'fast-check'
import { sensorInfoLines, temperatureLines, timestampNs } from '../../src/influx/line-protocol.ts'
import { batchOf } from '../support/measurements.ts'

const AT_MS = Date.UTC(2026, 10, 20)

describe('temperatureLines', () => {
  it('writes the places asked for, in that order', () => {
    const { measurements } = batchOf([
      { sensorId: 7, measuredAtMs: AT_MS, tempCelsius: 21 },
      { sensorId: 8, measuredAtMs: AT_MS + 1, tempCelsius: -0.5 },
      { sensorId: 7, measuredAtMs: AT_MS, tieBreakNs: 42, tempCelsius: 1e-7 },
    ])
    expect(temperatureLines(measurements, Uint32Array.of(2, 0)).toString()).to.equal(
      'temperature,sensor_id=7,user_id=1 temp=1e-7 1795132800000000042\n' +
        'temperature,sensor_id=7,user_id=1 temp=21 1795132800000000000\n',
    )
  })

  it('writes every number and every time exactly', () => {
    const rounded = fc
      .tuple(fc.integer({ min: -(2 ** 33), max: 2 ** 33 }), fc.integer({ min: 0, max: 6 }))
      .map(([digits, decimals]) => digits / 10 ** decimals)
    const tempCelsius = fc.oneof(rounded, fc.double({ noNaN: true, noDefaultInfinity: true }))
    const measuredAtMs = fc.oneof(
      fc.integer({ min: AT_MS - 1e11, max: AT_MS }),
      fc.integer({ min: -62e12, max: 8.64e15 }),
      fc.integer({ min: -2e6, max: 2e6 }),
    )
    const tieBreakNs = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 999_999 }))
    const measurement = fc.record({ tempCelsius, measuredAtMs, tieBreakNs })
    fc.assert(
      fc.property(measurement, (one) => {
        const { measurements } = batchOf([{ sensorId: 7, ...one }])
        const line = temperatureLines(measurements, Uint32Array.of(0)).toString()
        const atNs = BigInt(one.measuredAtMs) * 1_000_000n + BigInt(one.tieBreakNs)
        expect(line).to.equal(`temperature,sensor_id=7,user_id=1 temp=${one.tempCelsius} ${atNs}\n`)
      }),
      { numRuns: 5_000 },
    )
  })

  it('has room for the longest line', () => {
    const longest = {
      userId: Number.MAX_SAFE_INTEGER,
      sensorId: 2 ** 32 - 1,
      measuredAtMs: -62_135_596_800_000,
      tieBreakNs: 999_999,
      tempCelsius: -2.2250738585072014e-308,
    }
    const { measurements } = batchOf([longest])
    expect(temperatureLines(measurements, Uint32Array.of(0)).toString()).to.match(
      /^temperature,sensor_id=4294967295,user_id=\d+ temp=-2.2250738585072014e-308 -\d+\n$/,
    )
  })

  it('never writes an integer', () => {
    const { measurements } = batchOf([{ sensorId: 7, measuredAtMs: AT_MS, tempCelsius: -0 }])
    const line = temperatureLines(measurements, Uint32Array.of(0)).toString()
    expect(line).to.match(/ temp=0 /)
    expect(line).not.to.match(/\di /)
  })
})

describe('sensorInfoLines', () => {
  it('escapes what people write', () => {
    const info = {
      userId: 1,
      sensorId: 7,
      atMs: AT_MS,
      serialNumber: '28FF',
      alias: 'a "cellar" \\ döwn, there=1',
      compensationCelsius: -0.4,
    }
    expect(sensorInfoLines([info]).toString()).to.equal(
      'sensor_info,sensor_id=7,user_id=1 sn="28FF",' +
        'alias="a \\"cellar\\" \\\\ döwn, there=1",compensation=-0.4 1795132800000000000\n',
    )
  })
})

describe('timestampNs', () => {
  it('is the exact nanosecond, before 1970 too', () => {
    const atMs = fc.integer({ min: -4e12, max: 9e12 })
    const tieBreakNs = fc.integer({ min: 0, max: 999_999 })
    const isExact = (ms: number, ns: number) =>
      timestampNs(ms, ns) === String(BigInt(ms) * 1_000_000n + BigInt(ns))
    fc.assert(fc.property(atMs, tieBreakNs, isExact))
    expect(isExact(0, 5) && isExact(0, 0) && isExact(-1, 1) && isExact(1, 0)).to.equal(true)
  })
})
