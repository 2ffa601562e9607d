// nginx, where it is installed, as docs/operations.md has it, but without TLS.

import { spawnSync } from 'node:child_process'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { startForeign } from './foreign-program.ts'
import { freePort } from './free-port.ts'
import { leaveOut } from './left-out.ts'
import { sendUnchecked } from './http.ts'

const DOCUMENT = new URL('../../docs/operations.md', import.meta.url)

export interface Nginx {
  readonly url: string
  stop(): Promise<void>
}

/** Leaves out the suite where nginx is not installed. */
export function needNginx(suite: Mocha.Context): void {
  if (spawnSync('nginx', ['-v']).error !== undefined) leaveOut(suite, 'nginx')
}

/** @param url of the service behind it */
export async function startNginx(url: string): Promise<Nginx> {
  const folder = await mkdtemp(join(tmpdir(), 'thermolog-nginx-'))
  // Its workers are nobody when root starts it.
  await chmod(folder, 0o755)
  const port = await freePort()
  const config = join(folder, 'nginx.conf')
  await writeFile(config, await configOf(folder, port, new URL(url).host))
  const front = `http://127.0.0.1:${port}`
  const args = ['-p', folder, '-c', config, '-e', 'stderr']
  const nginx = await startForeign('nginx', args, () => isAnswering(front))
  const stop = async () => {
    await nginx.stop()
    await rm(folder, { recursive: true })
  }
  return { url: front, stop }
}

async function configOf(folder: string, port: number, backend: string): Promise<string> {
  const [, documented = ''] =
    /^```nginx\n([^]*?)^```$/m.exec(await readFile(DOCUMENT, 'utf8')) ?? []
  const site = documented
    .replace('127.0.0.1:8080', backend)
    .replace('listen 443 ssl http2', `listen 127.0.0.1:${port}`)
    .replaceAll(/^ *ssl_.*\n/gm, '')
  expect(site).to.include(backend).and.include(`:${port};`)
  const folders = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  const temporary = folders.map((name) => `  ${name}_temp_path ${join(folder, name)};`)
  return `
daemon off;
worker_processes 2;
pid ${join(folder, 'pid')};
events { worker_connections 4096; }
http {
  access_log off;
${temporary.join('\n')}
${site}
}
`
}

async function isAnswering(url: string): Promise<boolean> {
  try {
    return (await sendUnchecked(url, { path: '/metrics' })).status === 404
  } catch {
    return false
  }
}
