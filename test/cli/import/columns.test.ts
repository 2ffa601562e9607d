import { expect } from 'chai'
import { findColumns } from '../../../src/cli/import/columns.ts'
import { OperationError } from '../../../src/operations/failure.ts'

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

  it('prefers a column in the unit that is asked for', () => {
    const find = (unit: 'F' | undefined, ...columns: string[]) =>
      findColumns(['time', ...columns], {}, true, unit).names.temp
    expect(find(undefined, 'temp', 'temperature_c')).to.equal('temperature_c')
    expect(find(undefined, 'temp_f', 'temperature')).to.equal('temperature')
    expect(find('F', 'temp', 'temperature_f')).to.equal('temperature_f')
  })

  it('takes a file without serial numbers when the sensor is named', () => {
    const columns = findColumns(['time (UTC)', 'temperature (celsius)'], {}, true, 'C')
    expect(columns).to.deep.equal({
      names: { timestamp: 'time (UTC)', temp: 'temperature (celsius)' },
      units: [],
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

  it('finds a named column without the blanks around it', () => {
    const { names } = findColumns(['time', ' Temp '], { temp: 'Temp' }, true, undefined)
    expect(names.temp).to.equal(' Temp ')
  })

  it('refuses a named column that is not there', () => {
    expect(() => findColumns(['time', 'temp'], { temp: 'celsius' }, true, 'C')).to.throw(
      /no column "celsius"/,
    )
  })

  // The unit of each name, and the temperature that it is found as.
  const units = {
    C: [
      ['Temperature [°C]', 'temperature_celsius', 'temperature_2m (°C)', 'temp (degree_C)'],
      ['degrees_c', 'Celsius', 'celcius', 'Temp(C)', 'Temp (℃)', 'TEMPERATURE (DEGREES CELSIUS)'],
      [
        'Temperatur in °C',
        'Temp (Deg. C.)',
        'temp (Cel)',
        'tempC',
        'Temp (Â°C)',
        'degC',
        'Temp C°',
      ],
      [
        'temperature (degree_Celsius)',
        'value (°C)',
        'Temp (avg) [°C]',
        'tempcelsius',
        'temp (2m °C)',
      ],
    ],
    F: [
      ['Temp, (*F)', 'Temp, °F (LGR S/N: 1, SEN S/N: 2, LBL: C)', ' Temperature_Fahrenheit'],
      ['temp_f', 'TEMP_F', 'tempf', 'TempF', 'temp (deg F)', 'Temp.(F)', 'Temp ( F )', '°F', '℉'],
      ['fahrenheit', 'FAHRENHEIT', 'Temp (ºF)', 'Temp (˚F)', 'Temp (℉)', 'Temperature（°F）'],
      ['\uFEFFtemp_f ', 'temp (F, avg)', 'Temp (\uFFFDF)', 'degrees F', 'Temp F°', 'temp [degF]'],
      ['Temp (oF)', 'Temp (avg F)', 'Temp (F 2m)', 'temp (fahr.)', 'Temp (0F)', 'temp (imperial)'],
      ['temp {f}', 'Temp/°F', 'F Temp', 'temp_degf', 'temperaturefahrenheit'],
    ],
    K: [['temp (K)', 'Temperature [unit="K"]', 'Temperature in Kelvin', 'temp_k', 'kelvins', '°K']],
  } as const
  for (const [unit, names] of Object.entries(units)) {
    for (const column of names.flat()) {
      it(`takes ${column} for a temperature in ${unit}`, () => {
        const find = (asked: 'C' | 'F' | 'K' | undefined) =>
          findColumns(['time', column], {}, true, asked).names.temp
        for (const asked of ['C', 'F', 'K'] as const) {
          if (asked === unit) expect(find(asked)).to.equal(column)
          else expect(() => find(asked)).to.throw(/is not in/)
        }
        if (unit !== 'C') expect(() => find(undefined)).to.throw(/is not in degrees Celsius/)
      })
    }
  }

  const named = [
    'Temp_Fahr',
    'temp (0.1C)',
    'temp (mdegC)',
    'temp (dK)',
    'T [K]',
    'Outdoor_F',
    'dewpoint_f',
    'F',
    'tF',
    'tempinf',
    'Sea_Temp (K)',
  ]
  for (const column of named) {
    it(`does not take ${column} for degrees Celsius unless the operator says so`, () => {
      const find = (asked: 'C' | undefined) =>
        findColumns(['time', column], { temp: column.trim() }, true, asked).names.temp
      expect(() => find(undefined)).to.throw(/is not in degrees Celsius/)
      expect(find('C')).to.equal(column)
    })
  }

  const without = ['temp', 'temp (LGR S/N: 1)', 'temp (kitchen)', 'temp (°)', 'temp (degree)']
  const words = [
    'sensor (kitchen)',
    'Sensor F',
    'temp_probe_k',
    'Temp (Building F)',
    'temp 2m',
    'Thermocouple K',
    'Temp K-type',
    'temp (Type K)',
  ]
  for (const column of [...without, ...words]) {
    it(`sees no unit in ${column}`, () => {
      for (const unit of ['C', 'F', 'K', undefined] as const) {
        const { names } = findColumns(['time', column, 's'], { temp: column, sn: 's' }, false, unit)
        expect(names.temp).to.equal(column)
      }
    })
  }

  const others = ['temp (mV)', 'temp (%)', 'temp (°Ré)', 'temp (0.1 °C)', 'temp (m°C)']
  const kinds = [
    'value (pH)',
    'temp (°C/h)',
    'temp (°C/°F)',
    'temp_f (°C)',
    'temp_millidegrees',
    'temp (1/10 °C)',
    'temp_millicelsius',
  ]
  for (const column of [...others, ...kinds]) {
    it(`refuses ${column} in whatever unit`, () => {
      for (const unit of ['C', 'F', 'K'] as const) {
        const find = () => findColumns(['time', column], {}, true, unit)
        expect(find).to.throw(/is not in|no column for temp/)
        const { names } = findColumns(['time', column], { temp: column }, true, unit)
        expect(names.temp).to.equal(column)
      }
    })
  }

  it('does not take one of several places for the temperature', () => {
    const find = () => findColumns(['time', 'temp_in', 'temp_out'], {}, true, undefined)
    expect(find).to.throw(/no column for temp/)
  })

  it('takes of several temperatures the one in the unit of the import', () => {
    const find = (columns: string[], unit: 'C' | 'F' | undefined) =>
      findColumns(['time', ...columns], {}, true, unit).names.temp
    expect(find(['temp_f', 'temp_c'], undefined)).to.equal('temp_c')
    expect(find(['temp_f', 'temp_c'], 'F')).to.equal('temp_f')
    expect(find(['temp_f', 'temp'], undefined)).to.equal('temp')
    expect(() => find(['temp_f', 'temp_k'], undefined)).to.throw(/more than one column for temp/)
  })

  const otherUnits = [
    {
      column: 'temp (°F)',
      unit: undefined,
      hint: /^Add --unit F, or use --column-temp with --unit C/,
    },
    { column: 'temp (Kelvin)', unit: 'F', hint: /^Add --unit K/ },
    { column: 'temp (°C)', unit: 'F', hint: /^Leave out --unit/ },
    { column: 'temp (°Ré)', unit: 'C', hint: /^Convert it to degrees Celsius/ },
  ] as const
  for (const { column, unit, hint } of otherUnits) {
    it(`says what to do about ${column} that is to be in ${unit ?? 'C'}`, () => {
      const find = () => findColumns(['time', column], {}, true, unit)
      expect(find).to.throw(OperationError).with.nested.property('failure.hint').match(hint)
    })
  }
})
