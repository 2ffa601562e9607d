// The address of a client: the peer's, or, where the peer is a proxy that the operator trusts, the
// last one of X-Forwarded-For that is no such proxy. What a client writes into that header itself
// stands further left and is never reached.

import type { IncomingMessage } from 'node:http'
import { BlockList, isIP } from 'node:net'
import type { Socket } from 'node:net'

const LOOPBACK = new BlockList()
LOOPBACK.addSubnet('127.0.0.0', 8)
LOOPBACK.addAddress('::1', 'ipv6')

export class ClientAddresses {
  readonly #trusted = new BlockList()

  /** @param trustedProxies addresses and networks, checked by their setting */
  constructor(trustedProxies: readonly string[]) {
    for (const network of trustedProxies) {
      const [address = '', bits] = network.split('/')
      const family = familyOf(address)
      if (bits === undefined) this.#trusted.addAddress(address, family)
      else this.#trusted.addSubnet(address, Number(bits), family)
    }
  }

  of({ socket, headers }: IncomingMessage): string {
    const header = headers['x-forwarded-for']
    const forwarded = (Array.isArray(header) ? header.join(',') : (header ?? '')).split(',')
    let address = this.ofPeer(socket)
    while (this.#isTrusted(address)) {
      const before = plainAddress(forwarded.pop()?.trim() ?? '')
      // Nobody, or a name that a proxy made up: the proxy itself has to stand for it.
      if (isIP(before) === 0) return address
      address = before
    }
    return address
  }

  /** The address at the other end of a connection, `''` when it is closed. */
  ofPeer({ remoteAddress }: Socket): string {
    return plainAddress(remoteAddress ?? '')
  }

  /** Whether a peer is this machine itself or a trusted proxy, behind which many clients may be. */
  isNear(peer: string): boolean {
    return this.#isTrusted(peer) || (isIP(peer) !== 0 && LOOPBACK.check(peer, familyOf(peer)))
  }

  #isTrusted(address: string): boolean {
    return isIP(address) !== 0 && this.#trusted.check(address, familyOf(address))
  }
}

/**
 * What stands for one client where clients are counted: an IPv4 address, or the network of 64 bits
 * that an IPv6 address is in, of which every client has a whole one.
 */
export function clientKey(address: string): string {
  if (isIP(address) !== 6) return address
  const [head = '', tail = ''] = address.replace(/%.*$/, '').split('::')
  const groups = head === '' ? [] : head.split(':')
  const missing = 8 - groups.length - (tail === '' ? 0 : tail.split(':').length)
  if (address.includes('::')) groups.push(...Array.from({ length: missing }, () => '0'))
  if (tail !== '') groups.push(...tail.split(':'))
  const network = groups.slice(0, 4).map((group) => parseInt(group, 16).toString(16))
  return `${network.join(':')}::/64`
}

/** Without port and brackets, an IPv4 address in its own notation. */
function plainAddress(text: string): string {
  const bare = /^\[(.*)\](?::\d+)?$/.exec(text)?.[1] ?? text
  const withoutPort = /^(\d+(?:\.\d+){3}):\d+$/.exec(bare)?.[1] ?? bare
  return /^::ffff:(\d+(?:\.\d+){3})$/i.exec(withoutPort)?.[1] ?? withoutPort
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4'
}
