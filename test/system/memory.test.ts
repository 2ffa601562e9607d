import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { logMemory, memoryLimit } from '../../src/system/memory.ts'
import { leaveOut } from '../support/left-out.ts'
import { RecordingLog } from '../support/log.ts'
import { send } from '../support/http.ts'
import { startService } from '../support/service.ts'

const MODULE = new URL('../../src/system/memory.ts', import.meta.url).href

/** Where nobody else sees it: a control group of v2 with these limits, and a process in it. */
const IN_GROUP = `set -e
mount -t tmpfs none /sys/fs/cgroup
mkdir -p /sys/fs/cgroup/system.slice/thermolog.service
echo "$1" > /sys/fs/cgroup/system.slice/thermolog.service/memory.high
echo "$2" > /sys/fs/cgroup/system.slice/thermolog.service/memory.max
echo 0::/system.slice/thermolog.service > "$3"
mount --bind "$3" /proc/$$/cgroup
exec "$4" --input-type=module --eval "$5"`

describe('logMemory', () => {
  const said = (events: number, limitBytes: number | undefined) => {
    const log = new RecordingLog()
    logMemory(log, events, limitBytes)
    return log.events.map(({ level, fields }) => [level, fields['ledger_bytes']])
  }

  it('says what the ledger needs of a limit, and warns when the rest is too little', () => {
    expect(said(100_000_000, 2 ** 30)).to.deep.equal([['info', 220_000_000]])
    expect(said(300_000_000, 2 ** 30)).to.deep.equal([['warn', 660_000_000]])
    expect(said(300_000_000, undefined)).to.deep.equal([])
  })
})

describe('memoryLimit', () => {
  it('is the smaller of MemoryHigh and MemoryMax, where there is one', function () {
    const mount = ['--mount', 'mount', '-t', 'tmpfs', 'none', '/sys/fs/cgroup']
    if (spawnSync('unshare', mount).status !== 0) leaveOut(this, 'the right to mount')
    const folder = mkdtempSync(join(tmpdir(), 'thermolog-group-'))
    const program = `import { memoryLimit } from '${MODULE}'; console.log(memoryLimit())`
    const limitIn = (high: string, max: string) => {
      const values = [high, max, join(folder, 'group'), process.execPath, program]
      const order = ['--mount', 'sh', '-c', IN_GROUP, 'sh', ...values]
      const { stdout, stderr } = spawnSync('unshare', order, { encoding: 'utf8' })
      expect(stderr).to.equal('')
      return stdout.trim()
    }
    expect(limitIn('268435456', 'max')).to.equal('268435456')
    expect(limitIn('max', '134217728')).to.equal('134217728')
    expect(limitIn('268435456', '134217728')).to.equal('134217728')
    expect(limitIn('max', 'max')).to.equal('undefined')
    rmSync(folder, { recursive: true })
  })

  it('is on /metrics where there is one, with what the ledger needs', async () => {
    const service = await startService()
    const { text } = await send(service.url, { path: '/metrics' })
    const valueOf = (name: string) => new RegExp(`^${name} (.+)$`, 'm').exec(text)?.[1]
    expect(valueOf('thermolog_memory_limit_bytes')).to.equal(memoryLimit()?.toString())
    expect(valueOf('thermolog_ledger_memory_bytes')).to.equal('0')
    await service.stop()
  })
})
