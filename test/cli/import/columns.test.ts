import { expect } from 'chai'
import { findColumns } from '../../../src/cli/import/columns.ts'

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
      expect(findColumns(columns, {}, false).names).to.deep.equal(names)
    })
  }

  it('takes a file without serial numbers when the sensor is named', () => {
    const columns = findColumns(['time (UTC)', 'temperature (celsius)'], {}, true)
    expect(columns).to.deep.equal({
      names: { timestamp: 'time (UTC)', temp: 'temperature (celsius)' },
      isUtc: true,
    })
  })

  it('takes the columns that are named', () => {
    const { names } = findColumns(['a', 'b', 'c'], { timestamp: 'c', temp: 'b', sn: 'a' }, false)
    expect(names).to.deep.equal({ timestamp: 'c', temp: 'b', sn: 'a' })
  })

  const refused = [
    { columns: ['temp', 'sn'], message: /no column for timestamp among "temp", "sn"/ },
    { columns: ['time', 'sn'], message: /no column for temp/ },
    { columns: ['time', 'temp'], message: /no column for sn/ },
    { columns: ['Time', 'time', 'temp', 'sn'], message: /which column is it: "Time", "time"\?/ },
    { columns: ['time', 'temp (fahrenheit)', 'sn'], message: /not in degrees Celsius/ },
  ]
  for (const { columns, message } of refused) {
    it(`refuses ${columns.join(', ')}`, () => {
      expect(() => findColumns(columns, {}, false)).to.throw(message)
    })
  }

  it('refuses one sensor for a file that has serial numbers', () => {
    expect(() => findColumns(['time', 'temp', 'sn'], {}, true)).to.throw(/column "sn"/)
  })

  it('refuses a named column that is not there', () => {
    expect(() => findColumns(['time', 'temp'], { temp: 'celsius' }, true)).to.throw(
      /no column "celsius"/,
    )
  })
})
