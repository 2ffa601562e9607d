import { expect } from 'chai'
import { readFile } from 'node:fs/promises'
import { generateWireTypes } from '../../schemas/generate-types.ts'
import { submissionMeasurementsMax } from '../../src/domain/limits.ts'
import { batchElementsMax } from '../../src/http/body/validate.ts'

describe('the generated types', () => {
  it('are those of the schemas as they are now', async () => {
    const file = new URL('../../schemas/messages.d.ts', import.meta.url)
    const found = await readFile(file, 'utf8')
    expect(found === (await generateWireTypes()), 'run: npm run generate').to.equal(true)
  })
})

describe('the schemas', () => {
  it('allow batches as large as a submission may be', () => {
    expect(batchElementsMax).to.equal(submissionMeasurementsMax)
  })
})
