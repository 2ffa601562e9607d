// HAProxy, where it is installed: HTTP/2 over TLS in front, with a certificate made for the test;
// behind it HTTP/1.1 connections to the service, which HAProxy shares among its clients.

import { spawnSync } from 'node:child_process'
import { connect as connectHttp2 } from 'node:http2'
import type { ClientHttp2Session } from 'node:http2'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startForeign } from './foreign-program.ts'
import { freePort } from './free-port.ts'
import { leaveOut } from './left-out.ts'

export interface Haproxy {
  /** Opens an HTTP/2 connection of its own. */
  open(): ClientHttp2Session
  stop(): Promise<void>
}

/** Leaves out the suite where HAProxy or OpenSSL is not installed. */
export function needHaproxy(suite: Mocha.Context): void {
  if (spawnSync('haproxy', ['-v']).error !== undefined) leaveOut(suite, 'haproxy')
  if (spawnSync('openssl', ['version']).error !== undefined) leaveOut(suite, 'openssl')
}

/** @param url of the service behind it */
export async function startHaproxy(url: string): Promise<Haproxy> {
  const folder = await mkdtemp(join(tmpdir(), 'thermolog-haproxy-'))
  const port = await freePort()
  const pem = await makeCertificate(folder)
  const config = join(folder, 'haproxy.cfg')
  await writeFile(config, configOf({ port, pem, backend: new URL(url).host }))
  const haproxy = await startForeign('haproxy', ['-f', config, '-db'], () => isListening(port))
  const stop = async () => {
    await haproxy.stop()
    await rm(folder, { recursive: true })
  }
  const ca = await readFile(pem)
  return { open: () => connectHttp2(`https://localhost:${port}`, { ca }), stop }
}

/** An ordinary configuration: nothing in it buffers whole requests. */
function configOf(order: { port: number; pem: string; backend: string }): string {
  return `
global
  maxconn 1000
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
frontend daemons
  bind 127.0.0.1:${order.port} ssl crt ${order.pem} alpn h2,http/1.1
  default_backend thermolog
backend thermolog
  server one ${order.backend}
`
}

/** @returns a file with a certificate of localhost and its key */
async function makeCertificate(folder: string): Promise<string> {
  const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')]
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2']
  const name = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost']
  const args = ['req', '-x509', ...kind, ...name, '-keyout', key, '-out', certificate]
  const { status, stderr } = spawnSync('openssl', args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`openssl: ${stderr}`)
  const pem = join(folder, 'haproxy.pem')
  await writeFile(pem, [await readFile(certificate), await readFile(key)])
  return pem
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}
