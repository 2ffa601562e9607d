import { expect } from 'chai'
import fc from 'fast-check'
import { findColumns } from '../../../src/cli/import/columns.ts'
import {
  EventNames,
  MeasurementReader,
  TimeOrder,
} from '../../../src/cli/import/read-measurements.ts'
import type { ReaderSettings } from '../../../src/cli/import/read-measurements.ts'
import { RuleCheck } from '../../../src/operations/check-measurement.ts'
import type { ImportRules } from '../../../src/operations/import-order.ts'

const RULES: ImportRules = {
  measuredAtMsMin: Date.UTC(2010, 0, 1),
  measuredAtMsMax: Date.UTC(2026, 0, 1),
  mayRegisterSensors: true,
  sensorKeys: ['a1'],
  sensorsMax: 2,
}

function createReader(
  rules: Partial<ImportRules> = {},
  form: Partial<ReaderSettings> = {},
  timeColumn = 'time',
) {
  const { unit = 'C' } = form
  const columns = findColumns([timeColumn, 'temp', 'sn', 'event_id', 'unit'], {}, false, unit)
  const usual = { serialNumber: undefined, unit, hasDecimalComma: false, localTimes: undefined }
  return new MeasurementReader(new RuleCheck({ ...RULES, ...rules }), {
    columns,
    ...usual,
    ...form,
  })
}

function record(values: Readonly<Record<string, unknown>>) {
  return {
    line: 2,
    raw: '',
    values: { time: '2020-01-01T00:00:00Z', temp: '1', sn: 'a1', ...values },
  }
}

describe('MeasurementReader', () => {
  it('reads a measurement', () => {
    const { measurement } = createReader().read(record({ event_id: 'e-1', temp: ' -1.5e1 ' }))
    expect(measurement).to.deep.equal({
      eventId: 'e-1',
      serialNumber: 'a1',
      tempCelsius: -15,
      measuredAtMs: Date.UTC(2020, 0, 1),
    })
  })

  it('takes a time without a zone only where the column says UTC', () => {
    const looseTime = { 'time (UTC)': '2020-01-01 00:00', temp: '1', sn: 'a1' }
    const { measurement } = createReader({}, {}, 'time (UTC)').read({
      line: 2,
      raw: '',
      values: looseTime,
    })
    expect(measurement?.measuredAtMs).to.equal(Date.UTC(2020, 0, 1))
    expect(createReader().read(record({ time: '2020-01-01 00:00' })).fault).to.match(
      /^timestamp "2020-01-01 00:00" has no time zone: add one to it, or --timezone/,
    )
    const zoned = createReader().read(record({ time: '2020-01-01 02:00:00+02:00' }))
    expect(zoned.measurement?.measuredAtMs).to.equal(Date.UTC(2020, 0, 1))
  })

  it('takes a line in another unit for a bad one', () => {
    for (const [said, fault] of [
      ['°C', undefined],
      [' deg C ', undefined],
      ['', undefined],
      ['F', 'the unit "F" is not celsius: see --unit'],
      ['%', 'the unit "%" is not celsius: see --unit'],
    ]) {
      expect(createReader().read(record({ unit: said })).fault, said).to.equal(fault)
    }
    const { measurement } = createReader({}, { unit: 'F' }).read(record({ temp: '68', unit: '°F' }))
    expect(measurement?.tempCelsius).to.equal(20)
  })

  const faults = [
    { values: { time: 'yesterday' }, fault: /^timestamp "yesterday" is not a valid time/ },
    { values: { time: '2009-12-31T23:59:59Z' }, fault: /MIN_TIMESTAMP/ },
    { values: { time: '2026-01-01T00:00:01Z' }, fault: /MAX_FUTURE/ },
    { values: { temp: '' }, fault: /^temp "" is not a number/ },
    { values: { temp: '1,5' }, fault: /^temp "1,5" is not a number/ },
    { values: { temp: '0x10' }, fault: /^temp "0x10" is not a number/ },
    { values: { temp: '1e999' }, fault: /^temp Infinity °C is not between/ },
    { values: { temp: '-273.16' }, fault: /^temp -273.16 °C is not between -273.15 and 10000 °C/ },
    { values: { sn: 'a b' }, fault: /^sn "a b" is not a valid serial number/ },
    { values: { event_id: 'x'.repeat(129) }, fault: /^event_id must have 1 to 128/ },
    { values: { event_id: 7 }, fault: /^event_id/ },
  ]
  for (const { values, fault } of faults) {
    it(`says what is wrong with ${JSON.stringify(values).slice(0, 60)}`, () => {
      expect(createReader().read(record(values)).fault).to.match(fault)
    })
  }

  const temperatures = [
    { unit: 'F', temp: '71.6', celsius: 22 },
    { unit: 'F', temp: '-459.67', celsius: -273.15 },
    { unit: 'F', temp: 70, celsius: 21.111111 },
    { unit: 'K', temp: '294.15', celsius: 21 },
    { unit: 'K', temp: '0', celsius: -273.15 },
  ] as const
  for (const { unit, temp, celsius } of temperatures) {
    it(`takes ${temp} ${unit} for ${celsius} °C`, () => {
      const { measurement } = createReader({}, { unit }).read(record({ temp }))
      expect(measurement?.tempCelsius).to.equal(celsius)
    })
  }

  it('takes decimal commas where cells are separated otherwise', () => {
    const reader = createReader({}, { hasDecimalComma: true })
    const read = (temp: string) => reader.read(record({ temp })).measurement?.tempCelsius
    expect(['21,5', '-0,25', '21.5', '7'].map(read)).to.deep.equal([21.5, -0.25, 21.5, 7])
    expect(['1.234,5', '1,2,3', ','].map(read)).to.deep.equal([undefined, undefined, undefined])
  })

  it('meets the limit of sensors before anything is stored', () => {
    const reader = createReader()
    expect(reader.read(record({ sn: 'b2' })).fault).to.equal(undefined)
    expect(reader.read(record({ sn: 'c3' })).fault).to.match(/MAX_SENSORS_PER_USER/)
    expect(reader.read(record({ sn: 'B2' })).fault).to.equal(undefined)
  })

  it('refuses unknown sensors when they are not registered by themselves', () => {
    const reader = createReader({ mayRegisterSensors: false })
    expect(reader.read(record({ sn: 'b2' })).fault).to.match(/sensor b2 is not registered/)
  })
})

describe('EventNames', () => {
  it('names equal measurements by number, and the same in every reading', () => {
    const lines = [record({}), record({ temp: 2 }), record({ temp: '1.0', sn: 'A1' }), record({})]
    const read = () => {
      const reader = createReader()
      const names = new EventNames(undefined)
      return lines.flatMap((line) => {
        const { measurement } = reader.read(line)
        return measurement === undefined ? [] : [names.named(measurement).measurement.eventId]
      })
    }
    const ids = read()
    expect(read()).to.deep.equal(ids)
    expect(new Set(ids).size).to.equal(4)
    expect(ids[2]).to.equal(`${ids[0]}-1`)
    expect(ids[3]).to.equal(`${ids[0]}-2`)
  })

  it('keeps an event id that is there', () => {
    const { measurement } = createReader().read(record({ event_id: 'e-1' }))
    if (measurement === undefined) throw new Error('not read')
    expect(new EventNames(undefined).named(measurement).measurement.eventId).to.equal('e-1')
  })

  it('gives the same names when it knows which sensors are in order', () => {
    const line = fc.record({
      eventId: fc.constant(null),
      serialNumber: fc.constantFrom('a1', 'A1', 'b2', 'c3'),
      measuredAtMs: fc.integer({ min: 0, max: 3 }),
      tempCelsius: fc.integer({ min: 0, max: 1 }),
    })
    fc.assert(
      fc.property(fc.array(line), fc.boolean(), (lines, isSorted) => {
        const file = isSorted ? lines.toSorted((a, b) => a.measuredAtMs - b.measuredAtMs) : lines
        const order = new TimeOrder()
        for (const measurement of file) order.add(measurement)
        const namesOf = (names: EventNames) =>
          file.map((one) => names.named(one).measurement.eventId)
        const known = namesOf(new EventNames(order))
        expect(known).to.deep.equal(namesOf(new EventNames(undefined)))
        expect(new Set(known).size).to.equal(file.length)
      }),
    )
  })
})
