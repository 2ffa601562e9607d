// What a point stands for: which measurements, of which sensors, and what these are called. The
// identities of the fixture are the promise: whoever changes what a point is called stores all that
// is sent again a second time.

import { expect } from 'chai'
import * as fc from 'fast-check'
import { nameFault } from '../../src/domain/names.ts'
import identities from '../fixtures/line-protocol-identities.json' with { type: 'json' }
import { read } from '../support/line-bodies.ts'
import type { LineBody } from '../support/line-bodies.ts'

/** What the sensors of the fixture are called, but for those that are called as their numbers. */
const ALIASES: Readonly<Record<string, string>> = {
  'temp.__.2deec42e8f4bd7db': 'temp.客厅',
  'temp.__.9c5d2777936e4626': 'temp.卧室',
  't.b_c_d.1c1b4307959ff029': 't.b,c=d',
  '0102030405060708': 'Stall 3',
}

async function aliases(line: string, serialNumberPrefix = ''): Promise<(string | undefined)[]> {
  const { unkeyed } = await read(line, { serialNumberPrefix })
  return unkeyed.map(({ measurement }) => measurement.alias)
}

async function temperatures(body: string): Promise<Record<string, number>> {
  const { keyed, unkeyed } = await read(body)
  return Object.fromEntries(
    [...keyed, ...unkeyed].map(({ measurement }) => [
      measurement.serialNumber,
      measurement.tempCelsius,
    ]),
  )
}

describe('a point of line protocol', () => {
  for (const { line, event_id: eventId, sn, temp } of identities.points) {
    it(`knows the event and the sensor of ${line.split(' ')[0]} by the vectors`, async () => {
      const { keyed } = await read(line)
      expect(keyed.map(({ measurement }) => measurement)).to.deep.equal([
        {
          eventId,
          serialNumber: sn,
          tempCelsius: temp,
          measuredAtMs: Math.floor(Number(line.split(' ').at(-1)) / 1e6),
          ...(ALIASES[sn] !== undefined && { alias: ALIASES[sn] }),
        },
      ])
    })
  }

  it('gives the same event id whatever the settings and the unit of the time are', async () => {
    const point = 't,probe=p1 temp=1,pool=2'
    const plain = await read(`${point} 1795380000000000000`, { fields: new Set(['pool']) })
    const rules = { serialTags: ['probe'], serialNumberPrefix: 'a.', unitNs: 1_000_000_000n }
    const other = await read(`${point} 1795380000`, { ...rules, fields: new Set(['pool']) })
    const ids = ({ keyed }: LineBody) => keyed.map(({ measurement }) => measurement.eventId)
    expect(ids(other)).to.deep.equal(ids(plain)).and.to.have.lengthOf(2)
    const names = other.keyed.map(({ measurement }) => measurement.serialNumber)
    expect(names).to.deep.equal(['a.p1', 'a.p1.pool'])
  })

  it('takes what each sender calls a temperature, and nothing else', async () => {
    const kept = {
      'GT-WT03,id=232,channel=1,mic=CRC battery_ok=1,temperature_C=26.1,humidity=48': 26.1,
      'Acurite,id=1 temperature_F=77': 25,
      'temperature,device=tasmota1,sensor=ds18b20,id=01144A0CB2AA value=24.44': 24.44,
      'node_hwmon_temp_celsius,chip=c,sensor=temp1 gauge=41': 41,
      'w,unit_of_measurement=K value=293.15': 20,
      'w1,type=temperature value=21i': 21,
      'sensors,chip=c temp_input=40.5,temp_crit=100,temp_max=90': 40.5,
      'env temperature_2_celsius=3u': 3,
      'x TEMP=1e1': 10,
      'nvidia_smi temperature_gpu=61i': 61,
      'boiler flow_temperature=48.5': 48.5,
      'grill probeTemp=63': 63,
      'ipmi_sensor,name=ambient_temp,unit=degrees_c value=23': 23,
      'ipmi_sensor,name=ambient_temp,unit=degrees_f value=77': 25,
      'K,domain=sensor,entity_id=color_probe value=293.15': 20,
    }
    for (const [line, celsius] of Object.entries(kept)) {
      expect(Object.values(await temperatures(line)), line).to.deep.equal([celsius])
    }
    const skipped = [
      'climate.a,domain=climate,entity_id=a temperature=22,state="heat"',
      '%,domain=sensor,entity_id=h value=40',
      't target_temp=1,set_temperature=2,temperature_min=3',
      'mem value=1',
      '°C,domain=number,entity_id=boiler_target value=55',
      'x,domain=input_number,entity_id=wanted temp=21,current_temperature=21',
      'K,domain=sensor,entity_id=lamp_Color_Temperature value=2700',
      'lamp.colour_temp value=2700',
      'x,unit=degrees_k value=1',
      'x,unit_of_measurement=degrees_c value=1',
      'degrees_c value=1',
    ]
    for (const line of skipped) {
      const body = await read(line)
      expect([body.skipped.length, body.unkeyed.length, body.refused], line).to.deep.equal([
        1,
        0,
        [],
      ])
    }
    const fields = new Set(['color_temp'])
    expect((await read('lamp Color_Temp=2700', { fields })).skipped).to.have.lengthOf(1)
  })

  it('tells sensors apart by what names them', async () => {
    expect(
      await temperatures(
        [
          'x,dev_eui=0102030405060708,sn=28-0316a2794fff temp=1',
          'x,sn=kitchen,room=b temp=2',
          'x,domain=sensor,entity_id=living value=1,temp=3',
          'x,b=2,a=1,_seq=9,device_name=n temp=4,temperature_1=5',
          `x,a=${'y'.repeat(80)} temp=6`,
          '_,a=- temp=7',
          'x,a=1 probeTemp=8,flow_temperature=9',
        ].join('\n'),
      ),
    ).to.deep.equal({
      '0102030405060708': 1,
      'x.b.kitchen': 2,
      'sensor.living': 3,
      'x.1.2': 4,
      'x.1.2.temperature_1': 5,
      [`x.${'y'.repeat(45)}.2824c0ae32493a2c`]: 6,
      '_.-.7f875fe5287bbef0': 7,
      'x.1.probeTemp': 8,
      'x.1.flow_temperature': 9,
    })
  })

  it('calls its sensor by a name, else by all that its serial number stands for', async () => {
    const called: Readonly<Record<string, readonly (string | undefined)[]>> = {
      'x,name=Sauna,mac=cbb8334c884f temp=1': ['Sauna'],
      'x,name=n,device_name=d temp=1,friendly_name="f"': ['f'],
      'x,name=n,device_name=d temp=1,h="y"': ['d'],
      'x,name=n temp=1,friendly_name_str=" "': ['n'],
      'x temp=1,name="not a tag"': [undefined],
      'greenhouse,location=bench\\ 0 temp=1': ['greenhouse.bench 0'],
      'zigbee,sn=Küche\\ Nord temp=1,temp_1=2': ['zigbee.Küche Nord', 'zigbee.Küche Nord.temp_1'],
      [`x,a=${'y'.repeat(80)} temp=1`]: [`x.${'y'.repeat(80)}`],
      [`x,a=${'y'.repeat(300)} temp_1=1`]: [`x.${'y'.repeat(126)}`],
      [`x,name=${'y'.repeat(127)}🌡🌡 temp=1`]: [`${'y'.repeat(127)}🌡`],
      [`x,name=${'🌡'.repeat(15_000)} temp=1`]: ['🌡'.repeat(128)],
      [`x,name=${'\\ '.repeat(30_001)}🌡 temp=1`]: ['🌡'],
      [`${'\\ '.repeat(255)}🌡 temp_1=1`]: ['🌡.temp_1'],
      'x,name=\u0000Sauna\u202e\u0007 temp=1,friendly_name="\u200b\u202e"': ['Sauna'],
      'x,name=Sauna\tund\u0085Bad\u2067 temp=1': ['Sauna und Bad'],
      'x,sn=\u0000123456789\u202e,name=\u200b temp=1': ['123456789'],
    }
    for (const [line, expected] of Object.entries(called)) {
      expect(await aliases(line), line.slice(0, 40)).to.deep.equal(expected)
    }
    expect(await aliases('t,a=é temp=1', 'cabin.')).to.deep.equal(['cabin.t.é'])
  })

  it('never gives a name that no sensor may have', async () => {
    const texts = fc
      .string({ unit: 'binary', minLength: 1, maxLength: 300 })
      .filter((text) => !/[\\\r\n\t]|^#/u.test(text) && text.isWellFormed())
      .map((text) => text.replaceAll(/[,= ]/g, '\\$&'))
    await fc.assert(
      fc.asyncProperty(texts, texts, fc.constantFrom('name', 'a'), async (text, value, key) => {
        for (const alias of await aliases(
          `m${text.replaceAll('\\=', '=')},${key}=${value} temp=1`,
        )) {
          if (alias === undefined) continue
          expect(alias.trim()).to.equal(alias)
          expect(nameFault(alias)).to.equal(undefined)
        }
      }),
    )
  })
})
