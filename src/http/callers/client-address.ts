// The address of a client: the peer's or, if the peer is a trusted proxy, the last address in
// X-Forwarded-For that is not a trusted proxy. Whatever the client itself writes into that header
// comes before it and is never reached.

import type { IncomingMessage } from 'node:http'
import { BlockList, isIP } from 'node:net'
import type { Socket } from 'node:net'

const LOOPBACK = new BlockList()
LOOPBACK.addSubnet('127.0.0.0', 8)
LOOPBACK.addAddress('::1', 'ipv6')

/** Where proxies of one's own are; other callers rarely come from there with such a header. */
const NEIGHBOURS = new BlockList()
for (const [network, bits] of [
  ['10.0.0.0', 8],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
] as const) {
  NEIGHBOURS.addSubnet(network, bits)
}
NEIGHBOURS.addSubnet('fc00::', 7, 'ipv6')

export class ClientAddresses {
  readonly #trusted = new BlockList()
  readonly #onUnnamedProxy: (address: string) => void
  #hasUnnamedProxy = false

  /**
   * @param trustedProxies addresses and networks, already validated
   * @param onUnnamedProxy called when the first of them is seen
   */
  constructor(
    trustedProxies: readonly string[],
    onUnnamedProxy: (address: string) => void = () => undefined,
  ) {
    this.#onUnnamedProxy = onUnnamedProxy
    for (const network of trustedProxies) {
      const [address = '', bits] = network.split('/')
      const family = familyOf(address)
      if (bits === undefined) this.#trusted.addAddress(address, family)
      else this.#trusted.addSubnet(address, Number(bits), family)
    }
  }

  /** Whether requests have come through a proxy nearby that is not trusted. */
  get hasUnnamedProxy(): boolean {
    return this.#hasUnnamedProxy
  }

  of({ socket, headers }: IncomingMessage): string {
    const header = headers['x-forwarded-for']
    const forwarded = (Array.isArray(header) ? header.join(',') : (header ?? '')).split(',')
    let address = this.ofPeer(socket)
    if (header !== undefined && !this.#hasUnnamedProxy) this.#noteProxy(address)
    while (this.#isTrusted(address)) {
      const before = plainAddress(forwarded.pop()?.trim() ?? '')
      // No address, or a name that a proxy made up: use the proxy's own address.
      if (isIP(before) === 0) return address
      address = before
    }
    return address
  }

  /** The address of the peer, `''` when the connection is closed. */
  ofPeer({ remoteAddress }: Socket): string {
    return plainAddress(remoteAddress ?? '')
  }

  /** Whether an address is this machine or a trusted proxy: either may serve many clients. */
  isNear(address: string): boolean {
    if (isIP(address) === 0) return false
    return this.#isTrusted(address) || LOOPBACK.check(address, familyOf(address))
  }

  /** How an address is counted where what is near has no limit; `undefined`: it is near. */
  farKey(address: string): string | undefined {
    return this.isNear(address) ? undefined : clientKey(address)
  }

  #noteProxy(address: string): void {
    if (isIP(address) === 0 || this.#isTrusted(address)) return
    const isNeighbour = NEIGHBOURS.check(address, familyOf(address))
    if (!isNeighbour && !LOOPBACK.check(address, familyOf(address))) return
    this.#hasUnnamedProxy = true
    this.#onUnnamedProxy(address)
  }

  #isTrusted(address: string): boolean {
    return isIP(address) !== 0 && this.#trusted.check(address, familyOf(address))
  }
}

/**
 * How a client is identified for counting: by its IPv4 address, or by the /64 network of its IPv6
 * address, because every client has a whole /64.
 */
export function clientKey(address: string): string {
  if (isIP(address) !== 6) return address
  const [head = '', tail = ''] = address.replace(/%.*/s, '').split('::')
  const groups = head === '' ? [] : head.split(':')
  const missing = 8 - groups.length - (tail === '' ? 0 : tail.split(':').length)
  if (address.includes('::')) groups.push(...Array.from({ length: missing }, () => '0'))
  if (tail !== '') groups.push(...tail.split(':'))
  const network = groups.slice(0, 4).map((group) => parseInt(group, 16).toString(16))
  return `${network.join(':')}::/64`
}

/** Without port and brackets; IPv4-mapped addresses become plain IPv4. */
function plainAddress(text: string): string {
  const bare = /^\[(.*)\](?::\d+)?$/.exec(text)?.[1] ?? text
  const withoutPort = /^(\d+(?:\.\d+){3}):\d+$/.exec(bare)?.[1] ?? bare
  return /^::ffff:(\d+(?:\.\d+){3})$/i.exec(withoutPort)?.[1] ?? withoutPort
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4'
}
