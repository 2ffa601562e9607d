import { expect } from 'chai'
import type { IncomingMessage } from 'node:http'
import { ClientAddresses, clientKey } from '../../../src/http/callers/client-address.ts'

interface Row {
  readonly trusted?: readonly string[]
  readonly peer: string
  readonly forwarded?: string
  readonly client: string
}

const ROWS: readonly Row[] = [
  { peer: '192.0.2.1', client: '192.0.2.1' },
  { peer: '::ffff:192.0.2.1', client: '192.0.2.1' },
  { peer: '192.0.2.1', forwarded: '198.51.100.1', client: '192.0.2.1' },
  { trusted: ['10.0.0.1'], peer: '10.0.0.1', forwarded: '198.51.100.1', client: '198.51.100.1' },
  { trusted: ['10.0.0.1'], peer: '10.0.0.2', forwarded: '198.51.100.1', client: '10.0.0.2' },
  {
    trusted: ['10.0.0.0/8'],
    peer: '::ffff:10.1.2.3',
    forwarded: '2001:db8::1',
    client: '2001:db8::1',
  },
  { trusted: ['10.0.0.0/8'], peer: '10.0.0.1', forwarded: '1.2.3.4, 5.6.7.8', client: '5.6.7.8' },
  { trusted: ['10.0.0.0/8'], peer: '10.0.0.1', forwarded: '5.6.7.8, 10.9.9.9', client: '5.6.7.8' },
  { trusted: ['10.0.0.0/8'], peer: '10.0.0.1', forwarded: '1.1.1.1, _x', client: '10.0.0.1' },
  { trusted: ['10.0.0.0/8'], peer: '10.0.0.1', client: '10.0.0.1' },
  { trusted: ['10.0.0.0/8'], peer: '10.0.0.1', forwarded: '5.6.7.8:1234', client: '5.6.7.8' },
  { trusted: ['fd00::/8'], peer: 'fd00::1', forwarded: '[2001:db8::1]:80', client: '2001:db8::1' },
]

const KEYS = [
  ['192.0.2.1', '192.0.2.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8:1:2::9', '2001:db8:1:2::/64'],
  ['2001:0db8::1', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['1::', '1:0:0:0::/64'],
] as const

describe('ClientAddresses', () => {
  for (const { trusted = [], peer, forwarded, client } of ROWS) {
    const said = forwarded === undefined ? '' : ` that forwards "${forwarded}"`
    it(`takes ${peer}${said}, trusting ${trusted.join() || 'nobody'}, for ${client}`, () => {
      const request = {
        socket: { remoteAddress: peer },
        headers: { 'x-forwarded-for': forwarded },
      } as unknown as IncomingMessage
      expect(new ClientAddresses(trusted).of(request)).to.equal(client)
    })
  }

  for (const [peer, trusted, isNoted] of [
    ['127.0.0.1', [], true],
    ['::ffff:192.168.1.9', [], true],
    ['fd00::1', [], true],
    ['192.168.1.9', ['192.168.0.0/16'], false],
    ['203.0.113.7', [], false],
  ] as const) {
    const does = isNoted ? 'notes' : 'does not note'
    it(`${does} a proxy at ${peer}, trusting ${trusted.join()}`, () => {
      const noted: string[] = []
      const addresses = new ClientAddresses(trusted, (address) => noted.push(address))
      const socket = { remoteAddress: peer }
      const headers = { 'x-forwarded-for': '198.51.100.1' }
      addresses.of({ socket, headers: {} } as unknown as IncomingMessage)
      expect(addresses.hasUnnamedProxy).to.equal(false)
      for (let time = 1; time <= 2; time++) {
        addresses.of({ socket, headers } as unknown as IncomingMessage)
      }
      expect(noted).to.have.lengthOf(isNoted ? 1 : 0)
      expect(addresses.hasUnnamedProxy).to.equal(isNoted)
    })
  }

  for (const [address, key] of KEYS) {
    it(`counts ${address} as ${key}`, () => {
      expect(clientKey(address)).to.equal(key)
    })
  }
})
