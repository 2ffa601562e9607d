import { expect } from 'chai'
import { resolve } from 'node:path'
import { operationsSocketPath } from '../../src/socket/path.ts'

describe('operationsSocketPath', () => {
  it('is the shorter of the absolute path and the one from here', () => {
    expect(operationsSocketPath('./data')).to.equal('data/thermolog.sock')
    expect(operationsSocketPath(resolve('data'))).to.equal('data/thermolog.sock')
    expect(operationsSocketPath('/srv/x')).to.equal('/srv/x/thermolog.sock')
    expect(operationsSocketPath('.')).to.equal('thermolog.sock')
  })

  it('refuses what no socket can have', () => {
    expect(() => operationsSocketPath('x'.repeat(93))).to.throw(/too long for a socket/)
    expect(operationsSocketPath('x'.repeat(92))).to.have.lengthOf(107)
  })
})
