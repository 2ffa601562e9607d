// Goal: a sender whose measurements may or may not be stored is told to send them again. Method:
// the HTTP face over a journal that loses its connection at every commit.

import { expect } from 'chai'
import type { OwnTokens } from '../../../src/access/own-tokens.ts'
import { AccessTokens, mintToken } from '../../../src/access/tokens.ts'
import type { SignInLinks } from '../../../src/access/sign-in-links.ts'
import type { SignIn } from '../../../src/access/sign-in.ts'
import { loadConfig } from '../../../src/config.ts'
import { DamageList } from '../../../src/ingest/damage-list.ts'
import type { Principal } from '../../../src/domain/access.ts'
import { postponedError } from '../../../src/domain/errors.ts'
import type { HistoryReader } from '../../../src/history/read-history.ts'
import { createHttpServer } from '../../../src/http/create-http-server.ts'
import { createDocument } from '../../../src/openapi/document.ts'
import type { SkippedNotes } from '../../../src/http/influx/skipped-series.ts'
import type { HttpServer } from '../../../src/http/server.ts'
import { MemoryRateCounters } from '../../../src/memory/rate-counters.ts'
import { Submissions } from '../../../src/ingest/submissions.ts'
import type { ControlReader } from '../../../src/ports/control-reader.ts'
import type { ControlWriter } from '../../../src/ports/control-writer.ts'
import type { MeasurementReader } from '../../../src/ports/measurement-store.ts'
import type { SubmissionCommitter } from '../../../src/ports/submissions.ts'
import type { LiveSensors } from '../../../src/sensors/live-sensors.ts'
import type { Sensors } from '../../../src/sensors/sensors.ts'
import { PrometheusMetrics } from '../../../src/metrics/metrics.ts'
import { BELIEVED, FakeClock } from '../../support/clock.ts'
import { send } from '../../support/http.ts'
import { RecordingLog } from '../../support/log.ts'

const user = { id: 1, email: 'a@example.org', name: 'A' }
const { text: token } = mintToken('daemon')

/** A journal of which nobody knows what it has committed. */
const LOSING: SubmissionCommitter = {
  beginGroup: () => {
    let submissions = 0
    let measurements = 0
    return {
      get submissions() {
        return submissions
      },
      get measurements() {
        return measurements
      },
      hasRoomFor: () => true,
      add: (submission) => {
        submissions++
        measurements += submission.measurements.length
      },
    }
  },
  commit: async () => {
    throw postponedError('outcome_unknown', { cause: new Error('connection lost') })
  },
}

const PROGRESS = {
  backlog: () => ({ entries: 0, bytes: 0, oldestAgeMs: 0 }),
  backlogBytes: 0,
  unreadable: 0,
  isAwaited: false,
  onReadable: () => undefined,
}

function openFace(): HttpServer {
  const clock = new FakeClock()
  const log = new RecordingLog()
  const config = loadConfig({ PORT: '0' })
  const metrics = new PrometheusMetrics()
  const damaged = new DamageList()
  const storage = { isLow: false, describe: () => ({ detail: '', hint: '' }) }
  const submissions = new Submissions(
    {
      committer: LOSING,
      progress: PROGRESS,
      clock,
      clockWatch: BELIEVED,
      metrics,
      storage,
      damaged,
    },
    { journalBytesMax: 1, isStoreEmbedded: false },
  )
  const principal: Principal = {
    user,
    token: {
      id: 1,
      userId: user.id,
      kind: 'daemon',
      name: 'gateway',
      rights: ['measurements:write'],
      serialNumberPrefix: '',
      appName: '',
      madeInSessionId: null,
      createdAtMs: 0,
      expiresAtMs: null,
      lastUsedAtMs: null,
      revokedAtMs: null,
    },
  }
  const control = { findPrincipal: async () => principal } as Partial<ControlReader>
  const tokens = new AccessTokens(
    { control: control as ControlReader, controlWriter: {} as ControlWriter, clock, log },
    config,
  )
  return createHttpServer(
    {
      submissions,
      damaged,
      refusedWriter: {} as ControlWriter,
      refusedReader: {} as ControlReader,
      skippedNotes: {} as SkippedNotes,
      progress: PROGRESS,
      tokens,
      ownTokens: {} as OwnTokens,
      sensors: {} as Sensors,
      live: { stop: () => undefined } as Partial<LiveSensors> as LiveSensors,
      history: {} as HistoryReader,
      measurements: {} as MeasurementReader,
      signIn: {} as SignIn,
      links: {} as SignInLinks,
      identityProviders: new Map(),
      dataIdentity: { id: 'x', restoredToMs: null },
      isStoreWorking: () => true,
      rateCounters: new MemoryRateCounters(),
      apiDescription: { describe: createDocument, parts: new Map() },
      metrics,
      clock,
      clockWatch: BELIEVED,
      log,
    },
    {
      ...config,
      command: 'thermolog',
      mobile: {
        mayEdit: true,
        mayMakeTokens: false,
        mayDeleteAccount: false,
        offlineAfterMs: 900_000,
        minimumVersion: undefined,
        app: { name: 'x', version: '1' },
        links: config.links,
        redirectUris: [],
        callbackUrl: undefined,
        signInProviders: [],
      },
      drainMsMax: 1_000,
    },
  )
}

describe('a commit with an unknown outcome', () => {
  let server: HttpServer
  let url: string
  beforeEach(async () => {
    server = openFace()
    ;({ url } = await server.start())
  })
  afterEach(() => server.stop())

  const measurement = { event_id: 'e1', sn: 'A1', temp: 21.4 }
  const addresses = {
    '/api/v1/measurements': measurement,
    '/api/v1/measurements/batch': { measurements: [measurement] },
  }
  for (const [path, body] of Object.entries(addresses)) {
    it(`is answered with 503 and when to send again: ${path}`, async () => {
      // The second shows that nothing of the first is left in the queue.
      for (let attempt = 0; attempt < 2; attempt++) {
        const answer = await send(url, { method: 'POST', path, token, body })
        expect([answer.status, answer.body.code]).to.deep.equal([503, 'outcome_unknown'])
        expect(answer.headers['retry-after']).to.match(/^[1-9]\d*$/)
      }
    })
  }
})
