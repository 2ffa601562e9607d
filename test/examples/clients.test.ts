// Goal: the programs of examples/clients/ do what they say with clients that are generated from the
// documents as they are now: what they type is there, and what is there arrives. Kotlin and Swift
// are left to people who have their compilers.

import { expect } from 'chai'
import { execFile, spawnSync } from 'node:child_process'
import { copyFile, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { send } from '../support/http.ts'
import { leaveOut } from '../support/left-out.ts'
import type { Missing } from '../support/left-out.ts'
import { startService } from '../support/service.ts'
import type { TestService } from '../support/service.ts'

const EXAMPLES = fileURLToPath(new URL('../../examples/clients/', import.meta.url))
/** What each program says after whose token it has. */
const SAID = `sensors: 0 then 304
measurement: created duplicate
conflict: event_id_conflict 20.5
batch: validation_failed /measurements/3/temp /measurements/7/sn
history: 20.5 20.5 1
failures: sensor_not_found invalid_token
`

interface Language {
  readonly file: string
  readonly generator: Missing
  /** Commands in the folder of the program, where `daemon.json` is the document. */
  readonly commands: (generator: string) => readonly (readonly string[])[]
  readonly environment?: Readonly<Record<string, string>>
}

const TSC = [
  ['--strict', '--noEmit', '--skipLibCheck', '--allowImportingTsExtensions'],
  ['--module', 'nodenext', '--target', 'es2024', '--types', 'node', 'client.ts'],
].flat()
const GO_CLIENT = ['-generate', 'types,client', '-package', 'thermolog']

const LANGUAGES: readonly Language[] = [
  {
    file: 'client.ts',
    generator: 'openapi-typescript',
    commands: (generator) => [
      [generator, 'daemon.json', '-o', 'thermolog.d.ts'],
      [join(dirname(generator), 'tsc'), ...TSC],
      [process.execPath, 'client.ts'],
    ],
  },
  {
    file: 'client.py',
    generator: 'openapi-python-client',
    commands: (generator) => [
      [generator, 'generate', '--meta', 'none', '--path', 'daemon.json'],
      [join(dirname(generator), 'python'), 'client.py'],
    ],
    environment: { PYTHONPATH: '.', PYTHONDONTWRITEBYTECODE: '1' },
  },
  {
    file: 'client.go',
    generator: 'oapi-codegen',
    commands: (generator) => [
      ['go', 'mod', 'init', 'example'],
      ['mkdir', 'thermolog'],
      [generator, ...GO_CLIENT, '-o', 'thermolog/client.go', 'daemon.json'],
      ['go', 'get', 'github.com/oapi-codegen/runtime@v1.8.0'],
      ['go', 'run', 'client.go'],
    ],
  },
]

const run = promisify(execFile)

/** Where a program on PATH really is: its package or environment is around it. */
function placeOf(program: string): string | undefined {
  const { stdout, status } = spawnSync('sh', ['-c', `command -v ${program}`], { encoding: 'utf8' })
  return status === 0 ? stdout.trim() : undefined
}

describe('the clients of examples/clients/', () => {
  let service: TestService
  let folder: string

  before(async () => {
    service = await startService()
    // The programs ask by the clock of the machine.
    service.clock.set(new Date().toISOString())
  })

  after(() => service.stop())

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'thermolog-client-'))
  })

  afterEach(() => rm(folder, { recursive: true, force: true }))

  for (const { file, generator, commands, environment } of LANGUAGES) {
    it(`${file} takes six steps with what ${generator} makes`, async function () {
      const place = placeOf(generator)
      if (place === undefined) leaveOut(this, generator)
      this.timeout(120_000)
      const { text } = await send(service.url, { path: '/openapi/daemon.json' })
      await writeFile(join(folder, 'daemon.json'), text)
      await writeFile(join(folder, 'package.json'), '{"type":"module"}')
      await copyFile(join(EXAMPLES, file), join(folder, file))
      await symlink(dirname(dirname(place)), join(folder, 'node_modules'))
      const email = `${file}@example.org`
      const token = await service.createToken(email)
      const settings = { THERMOLOG_URL: service.url, THERMOLOG_TOKEN: token, ...environment }
      const options = { cwd: folder, env: { ...process.env, ...settings } }
      let said = ''
      for (const [program = '', ...flags] of commands(place)) {
        said = (await run(program, flags, options)).stdout
      }
      expect(said).to.equal(`me: ${email}\n${SAID}`)
    })
  }
})
