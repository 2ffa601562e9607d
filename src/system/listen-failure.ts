// Why nobody can listen to HOST and PORT, and what to do.

import { isIP } from 'node:net'

const CHOOSE_HOST = 'Set HOST to 127.0.0.1 for this machine alone, or 0.0.0.0 for all addresses.'

export interface ListenFailure {
  /** `usage`: no new attempt can succeed. */
  readonly kind: 'failed' | 'usage'
  readonly message: string
  readonly hint: string
}

/** @returns `undefined` if the error has another reason */
export function listenFailure(
  { code, syscall, address = '' }: NodeJS.ErrnoException & { readonly address?: string },
  { host, port }: { readonly host: string; readonly port: number },
): ListenFailure | undefined {
  if (syscall === 'getaddrinfo') {
    return failed(`HOST ${host} is not a known host name (${code})`, CHOOSE_HOST)
  }
  // The address of the socket for commands is a path.
  if (syscall !== 'listen' || isIP(address) === 0) return undefined
  if (code === 'EADDRINUSE') {
    const hint = 'Set PORT to a free port (0 picks one), or stop the other process.'
    return failed(`PORT ${port} of ${host} is already in use`, hint)
  }
  if (code === 'EADDRNOTAVAIL') {
    return failed(`HOST ${host} is not an address of this machine`, CHOOSE_HOST)
  }
  if (code !== 'EACCES') return undefined
  const message = `PORT ${port} may not be used (${code})`
  return { kind: 'usage', message, hint: 'Set PORT to one above 1023.' }
}

function failed(message: string, hint: string): ListenFailure {
  return { kind: 'failed', message, hint }
}
