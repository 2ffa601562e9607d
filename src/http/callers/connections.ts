// Limits connections, in total and per address. Beyond either limit, the connection that has been
// idle longest is closed to make room: a daemon that keeps its connection open between readings has
// to reconnect at worst, and nobody can keep others out by holding connections open. If none is
// idle, the new one is refused.
//
// One request of a connection is handled at a time, the next one when its client has taken the
// answer: nothing is made that would wait behind another. Requests that wait are counted, on each
// connection and on all; beyond that no more is read, and the connection ends with the answer to
// the last of them: no client is known to send so many without waiting, and 64 KiB hold thousands.
// Nor does a connection stay whose client takes nothing of an answer.

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { SECOND_MS } from '../../domain/time.ts'
import type { Clock } from '../../ports/system.ts'
import { endWithAnswer } from '../body/rest-of-body.ts'
import type { WaitingRequest } from '../call/call.ts'
import type { ClientAddresses } from './client-address.ts'

export interface ConnectionLimits {
  readonly connectionsMax: number
  readonly connectionsPerAddressMax: number
}

/** Of thousands of connections, so many in one turn of a loop that has other work. */
const ENDED_AT_ONCE = 64

/** How often it is looked whether clients take their answers, and how often in vain. */
export const LOOK_EVERY_MS = 10 * SECOND_MS
const VAIN_LOOKS_MAX = 6

/** Requests of a connection that wait for the answers before theirs, and those of all. */
const WAITING_MAX = 63
const ALL_WAITING_MAX = 512

/** In the order of their last requests. */
type Group = Set<Socket>

type Handle = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>

interface Exchange {
  readonly request: WaitingRequest
  readonly response: ServerResponse
  readonly handle: Handle
}

interface Connection {
  /** All connections, and those of its address unless that is exempt from the limit. */
  readonly groups: readonly Group[]
  /** The one that is being answered. */
  current: Exchange | undefined
  /** Those behind it. */
  readonly waiting: Exchange[]
  /** Had no request at the last look, nor one since. */
  isQuiet: boolean
  /** It ends when its requests are answered. */
  isLast: boolean
  /** Differs once its client has taken more of an answer. */
  takenMark: number
  /** Looks since then. */
  vainLooks: number
  readonly noteAnswered: () => void
}

export class Connections {
  readonly #addresses: ClientAddresses
  readonly #clock: Clock
  readonly #limits: ConnectionLimits
  readonly #all: Group = new Set()
  readonly #byAddress = new Map<string, Group>()
  readonly #open = new Map<Socket, Connection>()
  /** Requests of all connections that wait behind others. */
  #waiting = 0

  constructor(
    { addresses, clock }: { readonly addresses: ClientAddresses; readonly clock: Clock },
    limits: ConnectionLimits,
  ) {
    this.#addresses = addresses
    this.#clock = clock
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
    const connection: Connection = {
      groups,
      current: undefined,
      waiting: [],
      isQuiet: false,
      isLast: false,
      takenMark: 0,
      vainLooks: 0,
      noteAnswered: () => this.#handleNext(socket, connection),
    }
    this.#open.set(socket, connection)
    onDestroy(socket, () => {
      this.#forget(socket)
      this.#waiting -= connection.waiting.splice(0).length
      if (key !== undefined && ofAddress?.size === 0) this.#byAddress.delete(key)
    })
  }

  /**
   * A request has arrived: its connection is not idle until its client has taken the answer.
   *
   * @param handle begins to answer it, now or when those before it are answered; not at all if the
   *   connection ends before
   */
  take(request: IncomingMessage, response: ServerResponse, handle: Handle): void {
    const { socket } = request
    const connection = this.#open.get(socket)
    if (connection === undefined) return void handle(request, response)
    const isFree = connection.current === undefined
    if (!isFree && !connection.isLast && !this.#mayWait(connection)) {
      this.#endWithLast(connection)
      dropRest(socket)
      // Not now, since the parser goes on reading where a message ends; nor in the next turn, since
      // a busy socket is read again before that, up to 2 MiB.
      process.nextTick(() => socket.pause())
    }
    // What comes after an answer that ends the connection may be the rest of its request.
    if (!socket.writable) dropRest(socket)
    if (connection.isLast || !socket.writable) {
      // What is unread when a connection is closed resets it, and an answer may be lost with it.
      request.resume()
      return
    }
    response.on('close', connection.noteAnswered)
    connection.isQuiet = false
    for (const group of connection.groups) {
      group.delete(socket)
      group.add(socket)
    }
    const exchange = { request, response, handle }
    if (isFree) this.#begin(connection, exchange)
    else this.#wait(connection, exchange)
  }

  /**
   * No more requests can be read from a connection.
   *
   * @returns whether it ends by itself, once those that were read are answered
   */
  noteUnreadable(socket: Socket): boolean {
    const connection = this.#open.get(socket)
    if (connection?.current === undefined) return false
    const { current, waiting } = connection
    const last = waiting.at(-1) ?? current
    if (!last.request.complete) {
      // Its own body is broken, and the answer is due if its turn has come.
      if (waiting.pop() === undefined) return false
      this.#waiting--
    }
    this.#endWithLast(connection)
    return true
  }

  /**
   * Closes every connection of whose answer nothing was taken for a minute. Call it every
   * `LOOK_EVERY_MS`. What its client goes on sending does not count, nor do answers that are not
   * made yet.
   */
  closeUntaken(): void {
    for (const [socket, connection] of this.#open) {
      const mark = takenMarkOf(socket)
      const isVain = socket.writableLength > 0 && mark === connection.takenMark
      connection.takenMark = mark
      connection.vainLooks = isVain ? connection.vainLooks + 1 : 0
      if (connection.vainLooks >= VAIN_LOOKS_MAX) this.#close(socket)
    }
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
      if (!socket.writable) this.#close(socket)
      else if (connection.isQuiet) socket.end(refusal())
      else connection.isQuiet = connection.current === undefined
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
    const connection = this.#open.get(socket)
    return connection !== undefined && connection.current === undefined
  }

  #mayWait({ waiting }: Connection): boolean {
    return waiting.length < WAITING_MAX && this.#waiting < ALL_WAITING_MAX
  }

  #wait({ waiting }: Connection, exchange: Exchange): void {
    exchange.request.arrivedAtMs = this.#clock.nowMs()
    waiting.push(exchange)
    this.#waiting++
  }

  #begin(connection: Connection, exchange: Exchange): void {
    connection.current = exchange
    if (connection.isLast) this.#endWithLast(connection)
    void exchange.handle(exchange.request, exchange.response)
  }

  /** The connection ends with the last answer, which says so unless it has begun. */
  #endWithLast(connection: Connection): void {
    connection.isLast = true
    const { current, waiting } = connection
    if (waiting.length === 0 && current !== undefined) {
      endWithAnswer(current.request, current.response)
    }
  }

  #handleNext(socket: Socket, connection: Connection): void {
    const next = connection.waiting.shift()
    connection.current = undefined
    if (next !== undefined) {
      this.#waiting--
      if (socket.writable) this.#begin(connection, next)
    } else if (connection.isLast && socket.writable) socket.destroySoon()
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

/** What Node knows of a socket. */
interface ParsedSocket extends Socket {
  readonly parser?: { onIncoming: () => number } | null
  /** With the bytes of a write that the system has not taken yet. */
  readonly _handle?: { readonly writeQueueSize: number } | null
}

/** Changes whenever the system has taken more bytes. */
function takenMarkOf({ bytesWritten, writableLength, _handle }: ParsedSocket): number {
  return bytesWritten - writableLength - (_handle?.writeQueueSize ?? 0)
}

/** Tells the parser to leave the rest of what has come, as where another protocol follows. */
const LEAVE_REST = 2

/** What has come is not parsed any further, and whatever else comes is dropped. */
function dropRest(socket: ParsedSocket): void {
  if (socket.parser) socket.parser.onIncoming = () => LEAVE_REST
  process.nextTick(() => {
    // Node's, the first one, parses. Beside another one it does not read the socket by itself.
    const [parse] = socket.listeners('data')
    if (parse !== undefined) socket.off('data', parse as () => void)
    socket.on('data', () => undefined)
  })
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
