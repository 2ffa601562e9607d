// A token that has stored a temperature is told so after a restart too: its points without one are
// skipped, and no sender takes them for a failure.

import { expect } from 'chai'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { servingHere } from '../../support/command.ts'
import { createFleetToken } from '../../support/fleet-token.ts'

describe('a token that has stored a temperature by line protocol', () => {
  it('is known after a restart', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'thermolog-lines-'))
    const token = await createFleetToken(dataDir, 'a@example.org')
    const write = async (url: string, body: string) => {
      const headers = { authorization: `Token ${token}` }
      return (await fetch(`${url}/api/v2/write`, { method: 'POST', headers, body })).status
    }
    await servingHere(dataDir, {}, async (url) => {
      expect(await write(url, 'air humidity=40')).to.equal(400)
      expect(await write(url, 'air temp=20')).to.equal(204)
    })
    await servingHere(dataDir, {}, async (url) => {
      expect(await write(url, 'air humidity=41')).to.equal(204)
    })
    await rm(dataDir, { recursive: true })
  })
})
