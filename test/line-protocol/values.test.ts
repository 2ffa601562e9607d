// What stands in the field of a temperature, and beside it: a number, text that is one, a unit.
// What cannot be stored is refused, with the field's name; what is no temperature costs nothing.

import { expect } from 'chai'
import * as fc from 'fast-check'
import { eventIdOf, headOfField, headOfSeries } from '../../src/line-protocol/identity.ts'
import { reasonOf } from '../../src/line-protocol/read-lines.ts'
import { read } from '../support/line-bodies.ts'
import type { Reading } from '../support/line-bodies.ts'

/** Temperatures by what comes after the measurement in a serial number; reasons; `skipped`. */
type Told = readonly (number | string)[]

async function told(line: string, reading?: Reading): Promise<Told> {
  const { unkeyed, refused, skipped } = await read(line, reading)
  return [
    ...unkeyed.map(({ measurement }) => measurement.tempCelsius),
    ...refused.map(reasonOf),
    ...skipped.map(() => 'skipped'),
  ]
}

function itTells(title: string, lines: Readonly<Record<string, Told>>, reading?: Reading): void {
  it(title, async () => {
    for (const [line, expected] of Object.entries(lines)) {
      expect(await told(line, reading), line).to.deep.equal(expected)
    }
  })
}

const UNCLEAR = 'in a unit that is not clear: °C, °F or K'
const RANGE = 'outside -273.15 to 10000 degrees Celsius'

describe('a temperature of line protocol', () => {
  itTells('is in the unit that stands beside it', {
    'measurements,source=i1 temperature=68.0,temp_units="F"': [20],
    'measurements temperature=68.0,temp_units=F': [20],
    'measurements temperature=68.0,temp_unit=f': [20],
    'measurements temp_units="°F",temperature=68.0': [20],
    'measurements temperature=68.0,temp_units_str="F"': [20],
    'measurements temperature=68.0,temperature_unit="Fahrenheit"': [20],
    'measurements temperature=68.0,Temperature_Units="imperial"': [20],
    'measurements temperature=68.0,tempUnit="deg F"': [20],
    'measurements,temp_unit=F temperature=68.0': [20],
    'measurements,temperature_units=℉ temperature=68.0': [20],
    'measurements temperature=20.5,temp_units="C"': [20.5],
    'measurements temperature=20.5,temp_units=C': [20.5],
    'measurements temperature=20.5,temp_units="metric"': [20.5],
    'measurements temperature=20.5,temp_units="Degrees Celsius"': [20.5],
    'measurements temperature=293.15,temp_units=K': [20],
    'measurements temperature=68,temp_1=50,temp_units="F"': [20, 10],
    'measurements temperature=68,unit="F"': [20],
    'measurements temperature=68,units=°F': [20],
    'measurements temperature=68,unit_of_measurement="°F"': [20],
    'measurements,unit=Fahrenheit temperature=68': [20],
    'boiler flow_temperature=68,unit="F"': [20],
    'm temp-unit="F",temp=68': [20],
    'm temperature.units="F",temp=68': [20],
    'm unitOfMeasurement="deg-F",temp=68': [20],
    'm temp=68,unit="[degF]"': [20],
    'm temp=68,unit="(°F)"': [20],
    'm temp=68,unit="&deg;F"': [20],
  })

  itTells('is in the unit of its name first, then in that beside it, then in the measurement’s', {
    'm temperature_c=20,temp_units="F"': [20],
    'm temperature_f=68,temp_units="C"': [20],
    'm temp_k=293.15,temp=68,temp_units="F"': [20, 20],
    '°C value=68,temp_unit="F"': [20],
    '°F,unit=°C value=20': [20],
    '°F value=68': [20],
    'm temp=68,temp_unit="F",unit="%"': [20],
    'm temp=68,temp_unit="F",unit="C"': [20],
  })

  itTells('has no unit that is another quantity’s', {
    'm,unit=percent temp=20': [20],
    'm temp=20,unit="%"': [20],
    'm temp=20,unit=3': [20],
    'm temp=20,units="Pa",unit_of_measurement="m/s"': [20],
    'm temp=20,unit=true': [20],
    'm temp=20,tilt=25,unit="°"': [20],
    'm temp=20,unit="deg"': [20],
  })

  itTells('is refused where its unit is none of the three, or several', {
    'm temperature=68,temp_units="R"': [`temperature: ${UNCLEAR}`],
    'm temperature=68,temp_units=""': [`temperature: ${UNCLEAR}`],
    'm temperature=68,temp_units=1': [`temperature: ${UNCLEAR}`],
    'm temperature=68,temp_units=false': [`temperature: ${UNCLEAR}`],
    'm temperature=68,temp_units=t': [`temperature: ${UNCLEAR}`],
    'm temperature=68,temp_1=3,temp_units="?"': [`temperature: ${UNCLEAR}`],
    'm temperature_c=20,temp_units="?"': [`temperature_c: ${UNCLEAR}`],
    'm,temp_unit=C temperature=68,temp_units="F"': [`temperature: ${UNCLEAR}`],
    'm,unit=°C temperature=68,unit_of_measurement="°F"': [`temperature: ${UNCLEAR}`],
    'm temp=68,unit="Fahrenheit (F)"': [`temp: ${UNCLEAR}`],
    'm temp=68,unit="FAHR"': [`temp: ${UNCLEAR}`],
    'm,unit_of_measurement=°F\\ (wind\\ chill) temp=68': [`temp: ${UNCLEAR}`],
    'm humidity=40,temp_units="?"': ['skipped'],
  })

  itTells('may come as text', {
    'm temperature="-1.6"': [-1.6],
    'm temperature=" 4.20 "': [4.2],
    'm temperature="+1e1"': [10],
    'm temperature="68",temp_units="F"': [20],
    'm temperature="-300"': [`temperature: ${RANGE}`],
    'm,entity_id=a.b_temperatur state="21.5"': [21.5],
    'temp value="7"': [7],
    'm humidity="40"': ['skipped'],
    'm temperature="21i"': ['temperature: not a number'],
    'm temperature="21,5"': ['temperature: not a number'],
    'm temperature="21.5 °C"': ['temperature: not a number'],
    'm temperature="0x10"': ['temperature: not a number'],
    'm temperature="Infinity"': ['temperature: not a number'],
    'm temperature="1e999"': ['temperature: not a number'],
    'm temperature="warm"': ['temperature: not a number'],
    [`m temperature="${'1'.repeat(65)}"`]: ['temperature: not a number'],
    [`m temperature="1.${'0'.repeat(62)}"`]: [1],
  })

  itTells('is skipped where its sender says that there is none', {
    'm temperature="unavailable"': ['skipped'],
    'm temperature="Unknown"': ['skipped'],
    'm temperature=""': ['skipped'],
    'm temperature=" none "': ['skipped'],
    'm temperature="NULL"': ['skipped'],
    'm temperature="NaN"': ['skipped'],
    'm temperature="nan",temp_1=20': [20],
  })

  itTells('is refused alone where it is no number', {
    'm temperature=true,temp_1=20': [20, 'temperature: not a number'],
    'm temperature="warm",temp_1=20': [20, 'temperature: not a number'],
    'm temperature=NaN,temp_1=20': [20, 'temperature: not a number'],
    'm temperature=,temp_1=20': [20, 'temperature: not a number'],
    'm temperature=21i5': ['temperature: not a number'],
    'm temp=F': ['temp: not a number'],
    'm temp=1e9,temp_1=x,temp_2=3': [3, `temp: ${RANGE}`],
  })

  itTells('costs nothing that a field beside it cannot be read', {
    'm temp=20.8,dew=NaN': [20.8],
    'm dew=-nan,temp=20.8': [20.8],
    'm dew=,temp=20.8': [20.8],
    'm temp=20.8,dew=': [20.8],
    'm temp=20.8,on=yes,at=12:30,v=1.2.3': [20.8],
    [`m temp=20.8,n=${'9'.repeat(65)}`]: [20.8],
    'm temp=20.8,n=99999999999999999999i': [20.8],
    'm dew=NaN': ['skipped'],
  })

  itTells('is refused where its line cannot be read on, with field and column', {
    'm temp=20,5': ['column 11: missing fields'],
    'm temp=20,dew': ['column 11: missing fields'],
    'm temp=1,hum=40;temp_1=21': ['hum, column 14: invalid field value'],
    'm temp=1,a=b"c,d=e"': ['a, column 12: invalid field value'],
    'm temp=1,a=b\\,c=2': ['a, column 12: invalid field value'],
    'mé temp=1,tür="open': ['tür, column 15: unbalanced quotes'],
    'm temp=1,a="b"c': ['a, column 15: text after a string'],
    "m a='x,temp=99,y=1',temp=20": ['a, column 5: invalid field value'],
    'm a=[off,temp=85,on=1],temp=20': ['a, column 5: invalid field value'],
    'm temp=21 °C': ['column 13: bad timestamp'],
    'm temp=1,state=not home': ['column 24: bad timestamp'],
    'm,a= temp=1': ['column 5: missing tag value'],
  })

  itTells('that may be in thousandths of a degree is refused with this question', {
    'm temp=21500': [`temp: ${RANGE}: is it in thousandths of a degree?`],
    'm temp=85000i': [`temp: ${RANGE}: is it in thousandths of a degree?`],
    'm temp=1e9': [`temp: ${RANGE}`],
    'm temp=10000': [10_000],
  })

  itTells('is no set point, whatever its measurement or entity calls it', {
    'hm-rpc.0.X.1.SET_TEMPERATURE value=23': ['skipped'],
    'hm.0.X.1.SET_POINT_TEMPERATURE value=23': ['skipped'],
    'hm.0.X.1.ACTUAL_TEMPERATURE value=23': [23],
    'SZ\\ Soll-Temp value=21': ['skipped'],
    'SZ\\ Ist-Temp value=21': [21],
    'fhem.SollTemperatur value=21': ['skipped'],
    'fhem.Solltemperatur value=21': ['skipped'],
    'fhem.Vorlaufsolltemperatur value=21': ['skipped'],
    'fhem.Zieltemperatur value=21': ['skipped'],
    'fhem.Höchsttemperatur value=21': ['skipped'],
    'HM_Clima.desired-temp value=21': ['skipped'],
    'heating/livingTargetTemperature gauge=21': ['skipped'],
    'x.setpoint_temp value=21': ['skipped'],
    'x.Sollwert.Temperatur value=21': [21],
    '°C,domain=sensor,entity_id=living_target_temperature value=21': ['skipped'],
    '°C,domain=sensor,entity_id=sunset_temperature value=21': [21],
    '°C,domain=sensor,entity_id=target.living_temperature value=21': [21],
    'x.set_temperature temp=21': [21],
  })

  itTells('is called so by the last part of measurement or entity, in German too', {
    'javascript.0.Außentemperatur value=21.5': [21.5],
    'Außentemperatur gauge=21.5': [21.5],
    'AUSSENTEMPERATUR state=21.5': [21.5],
    'select.heiz_temperatur state="eco"': ['skipped'],
    'x,entity_id=kueche_temperatur value=21.5': [21.5],
    'wetter temperatur=21.5': [21.5],
    'Temperatur.Batterie value=3': ['skipped'],
    'lampe.Farbtemperatur value=2700': ['skipped'],
    'Außentemperatur other=21.5': ['skipped'],
    'Außentemperatur,domain=number value=21.5': ['skipped'],
  })

  itTells(
    'is called so by a name of the settings',
    {
      'hm.0.Kessel value=60': [60],
      'kessel state=60': [60],
      'x,entity_id=KESSEL gauge="60"': [60],
      'x kessel=60': [60],
      'hm.Kessel.Zustand value=1': ['skipped'],
      'hm.0.Kessel other=60': ['skipped'],
      'kessel temp=68,temp_unit="F"': [20],
      'hm.0.soll_kessel value=60': ['skipped'],
      'hm.0.Kessel,domain=input_number value=60': ['skipped'],
    },
    { fields: new Set(['kessel', 'soll_kessel', 'temp_unit']) },
  )

  it('is the same event as text, as a number, and in whatever unit is said beside it', async () => {
    const time = '1795380000000000000'
    const numbers = fc.double({ min: -200, max: 900, noNaN: true })
    await fc.assert(
      fc.asyncProperty(numbers, fc.constantFrom('', ',temp_units="F"'), async (value, unit) => {
        const { keyed } = await read(
          `m temp=${value}${unit} ${time}\nm temp="${value}"${unit} ${time}`,
        )
        const [number, text] = keyed.map(({ measurement }) => measurement)
        expect(text).to.deep.equal(number)
        const head = headOfField(headOfSeries({ measurement: 'm', tags: [] }), 'temp')
        expect(number?.eventId).to.equal(eventIdOf(head, time, value))
      }),
    )
  })

  it('is read behind a byte order mark as without one, in each line', async () => {
    const body = 'easy,room=b temp=1 5\neasy temp=2 6'
    const plain = await read(body)
    const marked = await read(`\ufeff${body.replace('\n', '\n\ufeff')}`)
    const events = ({ keyed }: typeof plain) => keyed.map(({ measurement }) => measurement)
    expect(events(marked)).to.deep.equal(events(plain))
    expect(await told('\ufeff')).to.deep.equal([])
    expect(await told('\ufeff# file\nm temp=1')).to.deep.equal([1])
  })
})
