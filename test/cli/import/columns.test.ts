import { expect } from 'chai'
import { findColumns } from '../../../src/cli/import/columns.ts'
import { OperationError } from '../../../src/operations/operations.ts'

describe('findColumns', () => {
  const found = [
    {
      columns: ['timestamp', 'sn', 'temp'],
      names: { timestamp: 'timestamp', sn: 'sn', temp: 'temp' },
    },
    {
      columns: ['Event_ID', 'Serial Number', 'Time', 'Temperature [°C]'],
      names: {
        eventId: 'Event_ID',
        sn: 'Serial Number',
        timestamp: 'Time',
        temp: 'Temperature [°C]',
      },
    },
    {
      columns: ['date', 'value', 'sensor', 'timestamp', 'rejected_because'],
      names: { timestamp: 'timestamp', temp: 'value', sn: 'sensor' },
    },
  ]
  for (const { columns, names } of found) {
    it(`finds what is meant among ${columns.join(', ')}`, () => {
      expect(findColumns(columns, {}, false, 'C').names).to.deep.equal(names)
    })
  }

  it('takes a file without serial numbers when the sensor is named', () => {
    const columns = findColumns(['time (UTC)', 'temperature (celsius)'], {}, true, 'C')
    expect(columns).to.deep.equal({
      names: { timestamp: 'time (UTC)', temp: 'temperature (celsius)' },
      isUtc: true,
    })
  })

  it('takes the columns that are named', () => {
    const { names } = findColumns(
      ['a', 'b', 'c'],
      { timestamp: 'c', temp: 'b', sn: 'a' },
      false,
      'C',
    )
    expect(names).to.deep.equal({ timestamp: 'c', temp: 'b', sn: 'a' })
  })

  const refused = [
    { columns: ['temp', 'sn'], message: /no column for timestamp among "temp", "sn"/ },
    { columns: ['time', 'sn'], message: /no column for temp/ },
    { columns: ['time', 'temp'], message: /no column for sn/ },
    {
      columns: ['Time', 'time', 'temp', 'sn'],
      message: /more than one column for timestamp: "Time", "time"/,
    },
    { columns: ['time', 'temp (fahrenheit)', 'sn'], message: /not in degrees Celsius/ },
  ]
  for (const { columns, message } of refused) {
    it(`refuses ${columns.join(', ')}`, () => {
      expect(() => findColumns(columns, {}, false, 'C')).to.throw(message)
    })
  }

  it('refuses one sensor for a file that has serial numbers', () => {
    expect(() => findColumns(['time', 'temp', 'sn'], {}, true, 'C')).to.throw(/column "sn"/)
  })

  it('refuses a named column that is not there', () => {
    expect(() => findColumns(['time', 'temp'], { temp: 'celsius' }, true, 'C')).to.throw(
      /no column "celsius"/,
    )
  })

  const units = [
    { column: 'temp (°F)', unit: 'F' },
    { column: 'temp [fahrenheit]', unit: 'F' },
    { column: 'temp (K)', unit: 'K' },
    { column: 'temp', unit: 'K' },
  ] as const
  for (const { column, unit } of units) {
    it(`takes ${column} for a temperature in ${unit}`, () => {
      expect(findColumns(['time', column], {}, true, unit).names.temp).to.equal(column)
    })
  }

  const otherUnits = [
    { column: 'temp (°F)', unit: 'C', hint: /^Add --unit F, or use --column-temp/ },
    { column: 'temp (Kelvin)', unit: 'F', hint: /^Add --unit K/ },
    { column: 'temp (°C)', unit: 'F', hint: /^Leave out --unit/ },
    { column: 'temp (°Ré)', unit: 'C', hint: /^Convert it to degrees Celsius/ },
  ] as const
  for (const { column, unit, hint } of otherUnits) {
    it(`says what to do about ${column} that is to be in ${unit}`, () => {
      const find = () => findColumns(['time', column], {}, true, unit)
      expect(find).to.throw(OperationError).with.nested.property('failure.hint').match(hint)
      const named = () => findColumns(['time', column], { temp: column }, true, unit)
      expect(named().names.temp).to.equal(column)
    })
  }
})
