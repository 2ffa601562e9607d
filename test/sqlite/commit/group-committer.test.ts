import { expect } from 'chai'
import { GroupBuilder } from '../../../src/sqlite/commit/submission-committer.ts'
import { allocateGroup } from '../../../src/sqlite/commit/group-frame.ts'

describe('GroupBuilder', () => {
  it('makes no group of what is no measurement, and goes on as before', () => {
    const sound = { eventId: 'e-1', serialNumber: 'cellar', tempCelsius: 1, measuredAtMs: null }
    const submit = (measurements: object[]) =>
      ({ userId: 1, receivedAtMs: 0, measurements }) as Parameters<GroupBuilder['add']>[0]
    const builder = new GroupBuilder(allocateGroup())
    builder.add(submit([sound]))
    const unfit: object[] = [
      { serialNumber: 2 },
      { eventId: {} },
      { tempCelsius: NaN },
      { tempCelsius: '1' },
      { measuredAtMs: 0.5 },
    ]
    for (const change of unfit) {
      const measurements = [
        { ...sound, serialNumber: 'attic' },
        { ...sound, ...change },
      ]
      expect(() => builder.add(submit(measurements)), JSON.stringify(change)).to.throw(TypeError)
    }
    const { submissionCount, elementCount, serialNumbers } = builder.finish()
    expect([submissionCount, elementCount]).to.deep.equal([1, 1])
    expect(serialNumbers).to.deep.equal(['cellar'])
  })
})
