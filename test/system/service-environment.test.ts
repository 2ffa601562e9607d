// Goal: commands of root have what the service has, or say that they cannot know it. Method: units
// in files, and what a command that takes every name gets of them.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { readServiceEnvironment } from '../../src/system/service-environment.ts'
import { parseUnit } from '../../src/system/service-unit.ts'

describe('the environment of the service', () => {
  let folder: string
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'thermolog-unit-'))
  })
  after(() => rm(folder, { recursive: true }))

  /** @param given names that root has set */
  async function read(unit: string, given: readonly string[] = []) {
    const path = join(folder, 'thermolog.service')
    await writeFile(path, unit)
    return readServiceEnvironment(parseUnit(path, []), (name) => !given.includes(name))
  }

  async function refusal(line: string, given: readonly string[] = []): Promise<string> {
    try {
      await read(`[Service]\n${line}\n`, given)
    } catch (error) {
      return (error as Error).message
    }
    return ''
  }

  it('is in every section of its name', async () => {
    const unit = '[Service]  \nEnvironment=A=1\n[Install]\nEnvironment=A=2\n[Service]\n'
    const file = join(folder, 'thermolog.service')
    expect(await read(`${unit}Environment="B=50%% x"\nWorkingDirectory=/srv`)).to.deep.equal({
      A: { file, value: '1' },
      B: { file, value: '50% x' },
      DATA_DIR: { file, value: '/srv/data' },
    })
  })

  for (const [line, name] of [
    ['Environment=DATA_DIR=%S/thermolog', 'DATA_DIR'],
    ['Environment="DATA_DIR=/srv/\\x41"', 'DATA_DIR'],
    ['Environment=APP_NAME=\\101', 'APP_NAME'],
    ['EnvironmentFile=/etc/thermolog/*.env', 'DATA_DIR'],
    ['EnvironmentFile=-%E/thermolog.env', 'DATA_DIR'],
    ['WorkingDirectory=%S/thermolog', 'DATA_DIR'],
    ['UnsetEnvironment=DATA_DIR', 'DATA_DIR'],
    ['PassEnvironment=APP_NAME', 'APP_NAME'],
    ['DynamicUser=yes', 'DATA_DIR'],
    ['SetCredential=DATABASE_URL:postgresql://user:sesame@host/base', 'DATABASE_URL'],
    ['LoadCredentialEncrypted=INFLUX_TOKEN:/etc/thermolog/influx', 'INFLUX_TOKEN'],
    ['LoadCredential=DATABASE_URL', 'DATABASE_URL'],
  ] as const) {
    it(`is refused where only systemd knows it, unless root has set it: ${line}`, async () => {
      const said = await refusal(line)
      expect(said).to.include(join(folder, 'thermolog.service')).and.include(`set ${name} `)
      expect(said)
        .to.include(line.slice(0, line.indexOf('=') + 1))
        .and.not.include('sesame')
      expect(await refusal(line, [name])).to.equal('')
    })
  }

  it('has no credential that is too large or has a NUL, nor tells what is in it', async () => {
    const path = join(folder, 'credential')
    for (const text of ['sesame\0', 'sesame'.repeat(11_000)]) {
      await writeFile(path, text)
      const said = await refusal(`LoadCredential=METRICS_TOKEN:${path}`)
      expect(said).to.include('METRICS_TOKEN').and.not.include('sesame')
      expect(await refusal(`LoadCredential=METRICS_TOKEN:${path}`, ['METRICS_TOKEN'])).to.equal('')
    }
  })
})
