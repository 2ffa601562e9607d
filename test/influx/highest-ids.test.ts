// Goal: ids that have anything of ours in the bucket are known, whenever it is of, and nothing that
// others write there is taken for one.

import { expect } from 'chai'
import { NO_IDS } from '../../src/domain/ids-after-restore.ts'
import { readHighestIds } from '../../src/influx/point-counts.ts'
import { connect, newBucket, useInflux, writeLines } from '../support/influx.ts'

describe('the highest ids in a bucket', () => {
  const influx = useInflux()

  it('are those of measurements and infos of all times, if there are any', async () => {
    const target = await newBucket(influx())
    const connection = connect(target)
    expect(await readHighestIds(connection)).to.deep.equal(NO_IDS)
    await writeLines(connection, [
      'temperature,sensor_id=9,user_id=9 temp=1 1773100800000000000',
      'temperature,sensor_id=1000000009,user_id=2 temp=1 -2000000000000000000',
      'sensor_info,sensor_id=3,user_id=10 sn="a",alias="a",compensation=0 7000000000000000000',
      'weather,sensor_id=2000000000,user_id=2000000000 temp=1 1773100800000000000',
      'temperature,sensor_id=garden,user_id=ana temp=1 1773100800000000000',
      'temperature,sensor_id=99999999999,user_id=-77 temp=1 1773100800000000000',
      'temperature,place=garden temp=1 1773100800000000000',
    ])
    expect(await readHighestIds(connection)).to.deep.equal({ userId: 10, sensorId: 1_000_000_009 })
  })
})
