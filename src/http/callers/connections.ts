// Limits connections, in total and per address. Beyond either limit, the connection that has been
// idle longest is closed to make room: a daemon that keeps its connection open between readings has
// to reconnect at worst, and nobody can keep others out by holding connections open. If none is
// idle, the new one is refused.
//
// A client that sends requests without waiting for answers gets some of them answered, and has to
// come again for the others: 64 KiB hold thousands, and everybody would wait for all of them.

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import type { ClientAddresses } from './client-address.ts'

export interface ConnectionLimits {
  readonly connectionsMax: number
  readonly connectionsPerAddressMax: number
}

/** Of thousands of connections, so many in one turn of a loop that has other work. */
const ENDED_AT_ONCE = 64

/** Beyond so many unanswered requests of a connection, no more of it is read. */
const UNDER_WAY_MAX = 64

/** In the order of their last requests. */
type Group = Set<Socket>

interface Connection {
  /** All connections, and those of its address unless that is exempt from the limit. */
  readonly groups: readonly Group[]
  /** Requests whose responses are not finished. */
  underWay: number
  /** Had nothing under way at the last look, nor a request since. */
  isQuiet: boolean
  /** Requests are not read any more. */
  isEnding: boolean
  /** It had too many under way: it ends when they are answered. */
  isFull: boolean
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

  /** Accepts a new connection, or closes one. */
  admit(socket: Socket): void {
    const { connectionsMax, connectionsPerAddressMax } = this.#limits
    const key = this.#addresses.farKey(this.#addresses.ofPeer(socket))
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
    const connection = {
      groups,
      underWay: 0,
      isQuiet: false,
      isEnding: false,
      isFull: false,
      noteAnswered: () => {
        connection.underWay--
        if (connection.isFull && connection.underWay === 0) socket.destroySoon()
      },
    }
    this.#open.set(socket, connection)
    onDestroy(socket, () => {
      this.#forget(socket)
      if (key !== undefined && ofAddress?.size === 0) this.#byAddress.delete(key)
    })
  }

  /**
   * A request has arrived: its connection is not idle until the response is finished.
   *
   * @returns whether to read it
   */
  noteRequest({ socket }: IncomingMessage, response: ServerResponse): boolean {
    const connection = this.#open.get(socket)
    if (connection === undefined) return true
    if (connection.isEnding) return false
    if (connection.isFull) return false
    if (connection.underWay === UNDER_WAY_MAX) {
      connection.isFull = true
      stopReading(socket)
      return false
    }
    connection.underWay++
    connection.isQuiet = false
    response.on('close', connection.noteAnswered)
    for (const group of connection.groups) {
      group.delete(socket)
      group.add(socket)
    }
    return true
  }

  /**
   * Ends every connection that has been idle since the last call, and closes it with the next. A
   * request may be on its way to it, and must not be met by a reset: a proxy may not send it again.
   *
   * @param refusal the response to it; who has sent nothing drops it with the connection
   */
  async endQuiet(refusal: () => string): Promise<void> {
    let quiet = 0
    for (const [socket, connection] of this.#open) {
      // What has arrived is read first.
      if (connection.isQuiet && quiet++ % ENDED_AT_ONCE === 0) await setImmediate()
      if (connection.isEnding || !socket.writable) this.#close(socket)
      else if (connection.isQuiet) {
        connection.isEnding = true
        socket.end(refusal())
      } else connection.isQuiet = connection.underWay === 0
    }
  }

  /**
   * Closes the longest idle connection of a full group. @returns whether there is room for one more
   */
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

/** What Node's parser knows of a socket. */
interface ParsedSocket extends Socket {
  readonly parser?: { onIncoming: () => number } | null
}

/** Tells the parser to leave the rest of what has come, as where another protocol follows. */
const LEAVE_REST = 2

/** Reads no more: what has come is not parsed any further, and nothing else comes. */
function stopReading(socket: ParsedSocket): void {
  if (socket.parser) socket.parser.onIncoming = () => LEAVE_REST
  // Not now, since the parser goes on reading where a message ends; nor in the next turn, since a
  // busy socket is read again before that, up to 2 MiB.
  process.nextTick(() => socket.pause())
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
