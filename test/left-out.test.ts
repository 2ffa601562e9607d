// Goal: where programs are missing nothing fails, and the end of the run says in one line for each
// of them how many tests it has left out. Method: mocha, as `npm test` starts it, on one file for
// each program, with none on PATH.

import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import type { Missing } from './support/left-out.ts'

const ROOT = fileURLToPath(new URL('../', import.meta.url))
const MOCHA = fileURLToPath(import.meta.resolve('mocha/bin/mocha.js'))

/** What each file wants first. */
const WANTED: Readonly<Record<string, readonly Missing[]>> = {
  'data-dir/archive': ['tar'],
  'deploy/thermolog-service': ['systemd-analyze'],
  'examples/clients': ['openapi-typescript', 'openapi-python-client', 'oapi-codegen'],
  'faults/bare-trees': ['npm'],
  'faults/containers': ['a Docker engine'],
  'faults/influx-faults': ['influxd to pause and kill'],
  'faults/merge': ['cc'],
  'faults/restarts': ['nginx'],
  'faults/snapshot': ['mkfs.btrfs'],
  'faults/telegraf': ['telegraf'],
  'faults/watchdog': ['perl'],
  'grafana/real-grafana': ['grafana'],
  'http/haproxy': ['haproxy'],
  'http/influx/python-client': ['influxdb-client for python3'],
  'http/pages/kept': ['prlimit'],
  'influx/bucket-check': ['influxd'],
  'openapi/fuzz': ['Schemathesis'],
  'openapi/samples': ['python3', 'curl'],
  'packaging/manual': ['bash'],
  'postgres/changes': ['PostgreSQL'],
  'postgres/database': ['PostgreSQL to stop and kill'],
  'prometheus/alerts': ['promtool'],
  'web/link': ['Chromium'],
}
/** Some of them in several processes, from which what is left out comes as text. */
const RUNS = {
  '--no-parallel': Object.keys(WANTED),
  '--parallel': ['data-dir/archive', 'deploy/thermolog-service', 'influx/bucket-check'],
}

describe('a run of tests', () => {
  for (const [kind, names] of Object.entries(RUNS)) {
    it(`ends with what was left out, with ${kind}`, () => {
      const env = { PATH: '', POSTGRES_FOLDER: 'none' }
      const args = [MOCHA, kind, '--jobs', '2', ...names.map((name) => `test/${name}.test.ts`)]
      const options = { cwd: ROOT, env, encoding: 'utf8' } as const
      const { status, stdout } = spawnSync(process.execPath, args, options)
      expect(status, stdout).to.equal(0)
      const [told = '', end = ''] = stdout.split(/\d+ passing/)
      expect(told).to.include('gives back every file').and.not.include('left out')
      expect(told).not.to.include('checkInfluxBucket')
      const named = [...end.matchAll(/^ {2}(.+): \d+ tests? left out: /gm)].map(([, name]) => name)
      expect(named).to.have.members(names.flatMap((name) => WANTED[name] ?? []))
      expect(end).to.match(/influxd: \d+ tests left out: put it on PATH, or set INFLUX_TEST_URL/)
      expect(end).to.include('systemd-analyze: 1 test left out: put it on PATH (Debian: systemd)')
    })
  }
})
