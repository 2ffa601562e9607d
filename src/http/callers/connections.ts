// How many connections there are, in all and from one address. Beyond either limit the one that has
// been idle longest makes room for the new one: a daemon may keep its connection between two
// minutes, and finds it closed at worst, while whoever only holds connections open keeps nobody
// out. Where none is idle, the new one is refused.

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { clientKey } from './client-address.ts'
import type { ClientAddresses } from './client-address.ts'

export interface ConnectionLimits {
  readonly connectionsMax: number
  readonly connectionsPerAddressMax: number
}

/** In the order in which they had their last request. */
type Group = Set<Socket>

interface Connection {
  /** All connections, and those of its address unless it may have any number. */
  readonly groups: readonly Group[]
  /** Requests that are not answered to the end. */
  underWay: number
  readonly noteAnswered: () => void
}

export class Connections {
  readonly #addresses: ClientAddresses
  readonly #limits: ConnectionLimits
  readonly #all: Group = new Set()
  readonly #byAddress = new Map<string, Group>()
  readonly #open = new Map<Socket, Connection>()

  constructor(addresses: ClientAddresses, limits: ConnectionLimits) {
    this.#addresses = addresses
    this.#limits = limits
  }

  /** A new connection: takes it, or closes one. */
  admit(socket: Socket): void {
    const { connectionsMax, connectionsPerAddressMax } = this.#limits
    const key = this.#keyOf(socket)
    const ofAddress: Group | undefined =
      key === undefined ? undefined : (this.#byAddress.get(key) ?? new Set())
    const hasRoom =
      (ofAddress === undefined || this.#makeRoom(ofAddress, connectionsPerAddressMax)) &&
      this.#makeRoom(this.#all, connectionsMax)
    if (!hasRoom) {
      socket.destroy()
      return
    }
    if (key !== undefined && ofAddress !== undefined) this.#byAddress.set(key, ofAddress)
    const groups = ofAddress === undefined ? [this.#all] : [this.#all, ofAddress]
    for (const group of groups) group.add(socket)
    const connection = { groups, underWay: 0, noteAnswered: () => connection.underWay-- }
    this.#open.set(socket, connection)
    onDestroy(socket, () => {
      this.#forget(socket)
      if (key !== undefined && ofAddress?.size === 0) this.#byAddress.delete(key)
    })
  }

  /** A request has come: its connection is not idle until it is answered. */
  noteRequest({ socket }: IncomingMessage, response: ServerResponse): void {
    const connection = this.#open.get(socket)
    if (connection === undefined) return
    connection.underWay++
    response.on('close', connection.noteAnswered)
    for (const group of connection.groups) {
      group.delete(socket)
      group.add(socket)
    }
  }

  /** Closes every connection on which no request is under way. */
  closeIdle(): void {
    for (const socket of this.#all) {
      if (this.#isIdle(socket)) this.#close(socket)
    }
  }

  /** What stands for the peer; `undefined`: proxies and this machine may have any number. */
  #keyOf(socket: Socket): string | undefined {
    const peer = this.#addresses.ofPeer(socket)
    return this.#addresses.isNear(peer) ? undefined : clientKey(peer)
  }

  /** Closes the longest idle one of a full group. @returns whether there is room for one more */
  #makeRoom(group: Group, countMax: number): boolean {
    if (group.size < countMax) return true
    for (const socket of group) {
      if (!this.#isIdle(socket)) continue
      this.#close(socket)
      return true
    }
    return false
  }

  #isIdle(socket: Socket): boolean {
    return this.#open.get(socket)?.underWay === 0
  }

  #close(socket: Socket): void {
    this.#forget(socket)
    socket.destroy()
  }

  #forget(socket: Socket): void {
    for (const group of this.#open.get(socket)?.groups ?? []) group.delete(socket)
    this.#open.delete(socket)
  }
}

/**
 * Calls back once the socket is being closed. Where `close` has a second listener, V8 moves most
 * requests to its old generation, which takes half of a single submission's time.
 */
function onDestroy(socket: Socket, callback: () => void): void {
  const destroy = socket._destroy.bind(socket)
  socket._destroy = (error, done) => {
    callback()
    destroy(error, done)
  }
}
