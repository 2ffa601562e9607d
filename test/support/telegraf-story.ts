// The story of a gateway with Telegraf, set up as examples/telegraf/ says: readings come by MQTT,
// Telegraf and the service are killed in turn, and a proxy between them loses requests and answers.

import { spawn, spawnSync } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { expect } from 'chai'
import { serve } from './command.ts'
import type { RunningService } from './command.ts'
import { FaultProxy } from './fault-proxy.ts'
import type { Fault, ProxiedRequest } from './fault-proxy.ts'
import { createFleetToken } from './fleet-token.ts'
import { freePort } from './free-port.ts'
import { leaveOut } from './left-out.ts'
import { until } from './until.ts'

const CONFIG = fileURLToPath(new URL('../../examples/telegraf/telegraf.conf', import.meta.url))
const WAIT_MS_MAX = 240_000
const HOUR_MS = 3_600_000
const LIFE_MS_MAX = 2_000
/** Reads 20.104 degrees. */
const W1_SENSOR = '28-0316a2794fff'
const W1_READINGS = { [W1_SENSOR]: 20_104, '28-000000000001': 85_000, '28-000000000002': -127_000 }
/** Serial numbers by what zigbee2mqtt calls a device. */
const SERIAL_NUMBERS = {
  '0x00158d0001a2b3c4': '0x00158d0001a2b3c4',
  kitchen: 'zigbee.kitchen',
  'Keller/Regal': 'zigbee.Keller_Regal.cbe93b79d49725cf',
  set: 'zigbee.set',
}
/** Of which `last_seen` is in milliseconds. */
const OF_EPOCH = 'set'
const SENSORS = Object.keys(SERIAL_NUMBERS)
const PROBE = 'probe'
const PROBE_MESSAGE = '{"temperature":1,"last_seen":"2026-01-01T00:00:00Z"}'
/** Messages beside the readings. */
const OTHER_TOPICS = ['bridge/event', 'kitchen/availability', 'Keller/Regal/set', 'kitchen/get']
const OTHER_MESSAGES = ['online', '{"temperature":""}', '{"temperature":99}', '99']
const NETWORK: readonly Fault[] = [
  { kind: 'pass' },
  { kind: 'pass' },
  { kind: 'pass' },
  { kind: 'lose_reply' },
  { kind: 'lose_reply' },
  { kind: 'cut' },
  { kind: 'answer', status: 503, headers: { 'retry-after': '1' } },
]

export interface TelegrafStory {
  readonly readings: number
  /** Of Telegraf, and as many of the service. */
  readonly kills: number
}

interface TelegrafEnd {
  /** Temperatures by serial number, in the order of their times. */
  readonly stored: ReadonlyMap<string, readonly number[]>
  /** By serial number. */
  readonly aliases: ReadonlyMap<string, string>
  /** Lines that came to the service or were on their way there. */
  readonly sentLines: number
}

/** Leaves out the test where Telegraf or the broker is missing. */
export function needTelegraf(test: Mocha.Context): void {
  for (const program of ['telegraf', 'mosquitto', 'mosquitto_pub'] as const) {
    if (spawnSync(program, ['--help']).error !== undefined) leaveOut(test, program)
  }
}

/** Runs the story; `readings` come from MQTT and one from a 1-wire bus. */
async function runTelegrafStory(story: TelegrafStory): Promise<TelegrafEnd> {
  const folder = await mkdtemp(join(tmpdir(), 'thermolog-telegraf-'))
  const gateway = await Gateway.start(folder)
  try {
    return await gateway.run(story)
  } finally {
    await gateway.end()
    await rm(folder, { recursive: true })
  }
}

class Gateway {
  readonly #folder: string
  readonly #port: number
  readonly #mqttPort: number
  readonly #broker: ChildProcess
  readonly #token: string
  readonly #proxy: FaultProxy
  #service: RunningService
  #telegraf: ChildProcess | undefined
  readonly #startMs = Date.now() - HOUR_MS

  private constructor(
    folder: string,
    parts: {
      port: number
      mqttPort: number
      broker: ChildProcess
      token: string
      proxy: FaultProxy
      service: RunningService
    },
  ) {
    this.#folder = folder
    this.#port = parts.port
    this.#mqttPort = parts.mqttPort
    this.#broker = parts.broker
    this.#token = parts.token
    this.#proxy = parts.proxy
    this.#service = parts.service
  }

  static async start(folder: string): Promise<Gateway> {
    const [port, mqttPort] = [await freePort(), await freePort()]
    for (const [sensor, reading] of Object.entries(W1_READINGS)) {
      const device = join(folder, 'w1', sensor)
      await mkdir(device, { recursive: true })
      await writeFile(join(device, 'temperature'), `${reading}\n`)
    }
    const config = join(folder, 'mosquitto.conf')
    const broker = `listener ${mqttPort} 127.0.0.1\nallow_anonymous true\nmax_queued_messages 0\n`
    await writeFile(config, broker)
    const token = await createFleetToken(join(folder, 'data'), 'gateway@example.org')
    const service = await serve(join(folder, 'data'), { PORT: String(port) })
    return new Gateway(folder, {
      port,
      mqttPort,
      broker: spawn('mosquitto', ['-c', config], { stdio: 'ignore' }),
      token,
      proxy: await FaultProxy.start(service.url),
      service,
    })
  }

  async run({ readings, kills }: TelegrafStory): Promise<TelegrafEnd> {
    this.#proxy.decide = () => NETWORK[Math.floor(Math.random() * NETWORK.length)]!
    this.#startTelegraf()
    await this.#untilSubscribed()
    for (const topic of OTHER_TOPICS) {
      for (const message of OTHER_MESSAGES) await this.#publishMessage(topic, message)
    }
    const lives = 2 * kills + 1
    for (let life = 0; life < lives; life++) {
      const from = Math.floor((readings * life) / lives)
      const to = Math.floor((readings * (life + 1)) / lives)
      await this.#publish(from, to)
      await setTimeout(Math.random() * LIFE_MS_MAX)
      if (life < lives - 1) await this.#kill(life)
    }
    this.#proxy.use({ kind: 'pass' })
    return this.#drain(readings)
  }

  async end(): Promise<void> {
    this.#killTelegraf()
    this.#broker.kill('SIGKILL')
    await this.#proxy.close()
    await this.#service.stop('SIGKILL')
  }

  #startTelegraf(): void {
    const env = {
      PATH: process.env['PATH'],
      THERMOLOG_URL: this.#proxy.url,
      THERMOLOG_TOKEN: this.#token,
      MQTT_URL: `tcp://127.0.0.1:${this.#mqttPort}`,
      W1_DEVICES: join(this.#folder, 'w1'),
      INTERVAL: '1s',
      FLUSH_INTERVAL: '200ms',
      BUFFER: join(this.#folder, 'buffer'),
    }
    const args = ['--config', CONFIG, '--quiet']
    const telegraf = spawn('telegraf', args, { env, stdio: 'ignore' })
    this.#telegraf = telegraf
    // As its systemd unit does: 1.40 may panic over the buffer that a kill left behind.
    telegraf.once('exit', () => {
      if (this.#telegraf === telegraf) this.#startTelegraf()
    })
  }

  #killTelegraf(): void {
    const telegraf = this.#telegraf
    this.#telegraf = undefined
    telegraf?.kill('SIGKILL')
  }

  async #kill(life: number): Promise<void> {
    if (life % 2 === 0) {
      this.#killTelegraf()
      await setTimeout(Math.random() * 500)
      this.#startTelegraf()
      return
    }
    await this.#service.stop('SIGKILL')
    await setTimeout(Math.random() * 500)
    this.#service = await serve(join(this.#folder, 'data'), { PORT: String(this.#port) })
  }

  /** Reading `n` has the temperature n / 100 and a time of its own. */
  async #publish(from: number, to: number): Promise<void> {
    for (const [at, sensor] of SENSORS.entries()) {
      const args = ['-p', String(this.#mqttPort), '-q', '1', '-l', '-t', `zigbee2mqtt/${sensor}`]
      const publisher = spawn('mosquitto_pub', args, { stdio: ['pipe', 'ignore', 'ignore'] })
      for (let n = from; n < to; n++) {
        if (n % SENSORS.length !== at) continue
        const atMs = this.#startMs + n * 10
        const lastSeen = sensor === OF_EPOCH ? atMs : new Date(atMs).toISOString()
        publisher.stdin.write(`${JSON.stringify({ temperature: n / 100, last_seen: lastSeen })}\n`)
      }
      publisher.stdin.end()
      await once(publisher, 'exit')
    }
  }

  async #untilSubscribed(): Promise<void> {
    await until('the broker listens', () => canConnect(this.#mqttPort))
    // The broker keeps nothing for a session that is not there yet. The 1-wire bus needs none.
    const isSubscribed = async () => {
      await this.#publishMessage(PROBE, PROBE_MESSAGE)
      await setTimeout(200)
      return this.#proxy.requests.some((request) => textOf(request).includes(PROBE))
    }
    await until('Telegraf has subscribed', isSubscribed, WAIT_MS_MAX)
  }

  async #publishMessage(topic: string, message: string): Promise<void> {
    const args = ['-p', String(this.#mqttPort), '-q', '1', '-t', `zigbee2mqtt/${topic}`]
    await once(spawn('mosquitto_pub', [...args, '-m', message], { stdio: 'ignore' }), 'exit')
  }

  async #drain(readings: number): Promise<TelegrafEnd> {
    let stored = await this.#stored()
    const isAllStored = async () => {
      stored = await this.#stored()
      return this.#countOf(stored) >= readings && stored.has(W1_SENSOR)
    }
    await until('all readings are stored', isAllStored, WAIT_MS_MAX)
    const sentLines = this.#proxy.requests.reduce((sum, request) => sum + linesIn(request), 0)
    const sensors = await this.#sensors()
    const aliases = new Map(sensors.map(({ sn, alias }) => [sn, alias]))
    return { stored, aliases, sentLines }
  }

  #countOf(stored: ReadonlyMap<string, readonly number[]>): number {
    return Object.values(SERIAL_NUMBERS).reduce((sum, sn) => sum + (stored.get(sn)?.length ?? 0), 0)
  }

  async #stored(): Promise<Map<string, number[]>> {
    const stored = new Map<string, number[]>()
    for (const { id, sn } of await this.#sensors()) {
      const [from, to] = [this.#startMs, Date.now() + HOUR_MS].map((ms) =>
        new Date(ms).toISOString(),
      )
      const range = `from=${from}&to=${to}`
      const text = await this.#getText(`/api/v1/sensors/${id}/measurements?bucket=raw&${range}`)
      const lines = text.trim().split('\r\n').slice(1)
      stored.set(
        sn,
        lines.map((line) => Number(line.split(',')[1])),
      )
    }
    return stored
  }

  async #sensors(): Promise<{ id: number; sn: string; alias: string }[]> {
    const headers = { authorization: `Bearer ${this.#token}` }
    const response = await fetch(new URL('/api/v1/sensors', this.#service.url), { headers })
    const { data } = (await response.json()) as {
      data: { id: number; sn: string; alias: string }[]
    }
    return data
  }

  async #getText(path: string): Promise<string> {
    const headers = { authorization: `Bearer ${this.#token}`, accept: 'text/csv' }
    return (await fetch(new URL(path, this.#service.url), { headers })).text()
  }
}

function linesIn(request: ProxiedRequest): number {
  return textOf(request).trim().split('\n').length
}

function textOf({ headers, body }: ProxiedRequest): string {
  const bytes = headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body
  return bytes.toString('utf8')
}

function canConnect(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true))
    socket.once('error', () => resolve(false))
    socket.once('connect', () => socket.end())
  })
}

/** Runs the story and checks its end. @returns how many lines were sent more than once */
export async function checkTelegrafStory(story: TelegrafStory): Promise<number> {
  const { stored, aliases, sentLines } = await runTelegrafStory(story)
  for (const [at, [sensor, serialNumber]] of Object.entries(SERIAL_NUMBERS).entries()) {
    const given = Array.from({ length: story.readings }, (_, n) => n).filter(
      (n) => n % SENSORS.length === at,
    )
    expect(stored.get(serialNumber)).to.deep.equal(given.map((n) => n / 100))
    expect(aliases.get(serialNumber)).to.equal(sensor)
  }
  expect(stored.get(W1_SENSOR)).to.include(20.104)
  const others = [`zigbee.${PROBE}`, W1_SENSOR]
  expect([...stored.keys()]).to.have.members([...Object.values(SERIAL_NUMBERS), ...others])
  return sentLines - story.readings
}
