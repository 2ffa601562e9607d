// How tests find a real PostgreSQL with Citus: CITUS_BIN, else the programs on PATH or in their
// usual folder. A coordinator and two workers are shared by all tests of a process. Where there is
// none the tests that need it are left out; with REQUIRE_CITUS=1 they fail.

import { chmodSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connectAlone } from '../../src/postgres/server/connection.ts'
import { codeOf } from '../../src/postgres/server/failures.ts'
import { atEndOfRun } from './end-of-run.ts'
import { freePort } from './free-port.ts'
import { leaveOut } from './left-out.ts'
import { AS_COPIED, postgresPrograms, PostgresServer } from './postgres-server.ts'
import type { ServerSettings } from './postgres-server.ts'
import { runOnce } from './postgres.ts'
import type { TestPostgres } from './postgres.ts'
import { until } from './until.ts'

const OBJECT_IN_USE = '55006'
const START_MS_MAX = 120_000
const WORKERS = 2
const SETTINGS = [
  'shared_preload_libraries=citus',
  // Every process has connections to the coordinator, and that has many to each worker.
  'max_connections=300',
  'max_prepared_transactions=300',
  // A database has one that looks after it.
  'max_worker_processes=64',
  'wal_level=logical',
  'jit=off',
  'citus.node_conninfo=sslmode=disable',
  // What a killed node leaves prepared holds its locks until it is recovered: default 60 s.
  'citus.recover_2pc_interval=2s',
]
/** A database that only knows its nodes; the others are copies of it, or of such a copy. */
const BARE = 'bare'

let shared: Promise<CitusCluster> | undefined

/** Says that the tests of the suite need Citus. @returns where it is, for tests and hooks */
export function useCitus(): () => CitusCluster {
  let cluster: CitusCluster | undefined
  before(async function () {
    this.timeout(START_MS_MAX)
    const programs = citusPrograms(this)
    shared ??= CitusCluster.start(programs)
    cluster = await shared
  })
  return () => expectStarted(cluster)
}

/**
 * Says that the tests of the suite need a Citus of their own, to stop and kill.
 *
 * @param isArchived whether the logs of the nodes are, so that what is lost can be recovered
 */
export function useCitusCluster(isArchived = false): () => CitusCluster {
  let cluster: CitusCluster | undefined
  before(async function () {
    this.timeout(START_MS_MAX)
    cluster = await CitusCluster.start(citusPrograms(this), { isArchived })
  })
  after(() => cluster?.remove())
  return () => expectStarted(cluster)
}

/** A coordinator and its workers: each has its part of every database. */
export class CitusCluster implements TestPostgres {
  coordinator: PostgresServer
  readonly workers: PostgresServer[]
  readonly #programs: string
  readonly #archive: string | undefined
  readonly #templates = new Set<string>()

  private constructor(
    programs: string,
    [coordinator, ...workers]: readonly PostgresServer[],
    archive: string | undefined,
  ) {
    if (coordinator === undefined) throw new Error('there is no coordinator')
    this.#programs = programs
    this.coordinator = coordinator
    this.workers = workers
    this.#archive = archive
  }

  /** @param programs the folder of initdb and postgres */
  static async start(
    programs: string,
    { workers = WORKERS, isArchived = false } = {},
  ): Promise<CitusCluster> {
    const archive = isArchived ? newArchive() : undefined
    const nodes: PostgresServer[] = []
    for (let count = 0; count <= workers; count++) nodes.push(await startNode(programs, archive))
    const cluster = new CitusCluster(programs, nodes, archive)
    await cluster.createGrowing(BARE)
    return cluster
  }

  url(database: string): string {
    return this.coordinator.url(database)
  }

  /** @param template whose parts are copied on each node; nobody can connect to it any more */
  async createDatabase(name: string, template = BARE): Promise<void> {
    if (!this.#templates.has(template)) {
      this.#templates.add(template)
      await this.#onEachNode((node) => closeDatabase(node, template))
    }
    await this.#onEachNode((node) => {
      return runOnce(node.url(), `CREATE DATABASE ${name} TEMPLATE ${template}`)
    })
  }

  async dropDatabase(name: string): Promise<void> {
    await this.#onEachNode((node) => dropPart(node, name))
  }

  /** Has a database that is only on the coordinator's server know of Citus, but of no worker. */
  async makeCoordinator(database: string): Promise<void> {
    await runOnce(this.url(database), 'CREATE EXTENSION citus')
    await addNode('citus_set_coordinator_host', this.url(database), this.coordinator)
  }

  /** Makes a database to which workers can be added: one that is copied has the name of another. */
  async createGrowing(database: string): Promise<string> {
    await runOnce(this.url('postgres'), `CREATE DATABASE ${database}`)
    await this.makeCoordinator(database)
    await this.addWorkers(database)
    return this.url(database)
  }

  /** The workers have nothing of the database yet. */
  async addWorkers(database: string): Promise<void> {
    await Promise.all(this.workers.map((worker) => createPart(worker, database)))
    for (const worker of this.workers) await addNode('citus_add_node', this.url(database), worker)
  }

  /** Gives a database another worker, which has nothing of it yet. */
  async addWorker(database: string): Promise<PostgresServer> {
    const worker = await startNode(this.#programs, this.#archive)
    this.workers.push(worker)
    await createPart(worker, database)
    await addNode('citus_add_node', this.url(database), worker)
    return worker
  }

  /** As a coordinator does that is killed before it commits. */
  async leavePrepared(database: string): Promise<void> {
    const text = `SELECT shard_name(logicalrelid, shardid) AS copy FROM pg_dist_shard
      WHERE logicalrelid = 'data_identity'::regclass`
    const [shard] = await runOnce(this.url(database), text)
    for (const node of this.workers) {
      const client = await connectAlone(node.url(database), false)
      await client.query('SET citus.enable_manual_changes_to_shards = on; BEGIN')
      await client.query(`UPDATE ${shard?.['copy']} SET may_lack = true`)
      await client.query("PREPARE TRANSACTION 'citus_0_1_1000000_1'")
      await client.end()
    }
  }

  /** What a node has now, to be put in its place later: a life of its own. */
  async backUp(node: PostgresServer): Promise<PostgresServer> {
    const backup = PostgresServer.empty(this.#programs, settingsAt(node.port, this.#archive))
    await backup.copy(node, 'restored')
    return backup
  }

  /** Puts a backup of a node in its place, as it was. */
  async restore(node: PostgresServer, backup: PostgresServer): Promise<void> {
    await node.remove()
    await this.#startAs(node, backup, AS_COPIED)
  }

  /**
   * Puts a backup of a node that is lost in its place, with its log: what is archived, and the end
   * of it that is not.
   *
   * @param target up to where, as a setting of PostgreSQL; default: all of it
   */
  async recover(
    node: PostgresServer,
    backup: PostgresServer,
    target: readonly string[] = [],
  ): Promise<void> {
    if (this.#archive === undefined) throw new Error('there is no archive')
    backup.takeLog(node)
    await node.remove()
    const command = `restore_command=cp ${archiveOf(this.#archive, node.port)}/%f %p`
    await this.#startAs(node, backup, [command, 'recovery_target_action=promote', ...target])
  }

  /** Starts a standby of a worker, at an address of its own. */
  async standBy(worker: PostgresServer): Promise<PostgresServer> {
    const settings = settingsAt(await freePort(), this.#archive)
    const standby = PostgresServer.empty(this.#programs, settings)
    await standby.copy(worker, 'standby')
    await standby.restart()
    return standby
  }

  /** Has a database look for what a lost worker had at the address of another server. */
  async replace(database: string, worker: PostgresServer, other: PostgresServer): Promise<void> {
    const { hostname } = new URL(other.url())
    const update = `SELECT citus_update_node(nodeid, '${hostname}', ${other.port})
      FROM pg_dist_node WHERE nodeport = ${worker.port}`
    await runOnce(this.url(database), update)
    await worker.remove()
    this.workers.splice(this.workers.indexOf(worker), 1, other)
  }

  async #startAs(
    node: PostgresServer,
    backup: PostgresServer,
    recovery: readonly string[],
  ): Promise<void> {
    await backup.restart(recovery)
    await until('it is no standby', async () => {
      const [row] = await runOnce(backup.url(), 'SELECT pg_is_in_recovery() AS "isStandby"')
      return row?.['isStandby'] === false
    })
    if (node === this.coordinator) this.coordinator = backup
    else this.workers.splice(this.workers.indexOf(node), 1, backup)
  }

  async remove(): Promise<void> {
    await this.#onEachNode((node) => node.remove())
    if (this.#archive !== undefined) rmSync(this.#archive, { recursive: true })
  }

  async #onEachNode(work: (node: PostgresServer) => Promise<unknown>): Promise<void> {
    await Promise.all([this.coordinator, ...this.workers].map(work))
  }
}

async function startNode(programs: string, archive: string | undefined): Promise<PostgresServer> {
  return PostgresServer.start(programs, settingsAt(await freePort(), archive))
}

/** A folder that survives the nodes. The servers may run as another user. */
function newArchive(): string {
  const folder = mkdtempSync(join(tmpdir(), 'thermolog-archive-'))
  chmodSync(folder, 0o777)
  return folder
}

/** A node keeps its port. */
function archiveOf(archive: string, port: number): string {
  return join(archive, String(port))
}

function settingsAt(port: number, archive: string | undefined): ServerSettings {
  if (archive === undefined) return { port, always: SETTINGS }
  const folder = archiveOf(archive, port)
  const command = `archive_command=mkdir -p ${folder} && cp %p ${folder}/%f`
  return { port, always: [...SETTINGS, 'archive_mode=on', command] }
}

/** @param call of Citus, on the coordinator's database */
async function addNode(call: string, url: string, node: PostgresServer): Promise<void> {
  const { hostname, port } = new URL(node.url())
  await runOnce(url, `SELECT ${call}('${hostname}', ${port})`)
}

async function createPart(node: PostgresServer, database: string): Promise<void> {
  await runOnce(node.url(), `CREATE DATABASE ${database}`)
  await runOnce(node.url(database), 'CREATE EXTENSION citus')
}

/** Citus keeps connections between the nodes, and a process that looks after the database. */
async function closeDatabase(node: PostgresServer, database: string): Promise<void> {
  await runOnce(node.url(), `ALTER DATABASE ${database} ALLOW_CONNECTIONS false`)
  const all = `FROM pg_stat_activity WHERE datname = '${database}'`
  await runOnce(node.url(), `SELECT pg_terminate_backend(pid, 10000) ${all}`)
}

/** What Citus has running in a database may come back as it is ended: it takes more tries. */
async function dropPart(node: PostgresServer, database: string): Promise<void> {
  const found = await runOnce(node.url(), `SELECT FROM pg_database WHERE datname = '${database}'`)
  if (found.length === 0) return
  await runOnce(node.url(), `ALTER DATABASE ${database} ALLOW_CONNECTIONS false`)
  await until(`${database} is dropped`, async () => {
    try {
      await runOnce(node.url(), `DROP DATABASE ${database} WITH (FORCE)`)
      return true
    } catch (error) {
      if (codeOf(error) !== OBJECT_IN_USE) throw error
      return false
    }
  })
}

/** The folder of initdb and postgres; `undefined`: there is no Citus. */
export function findCitus(): string | undefined {
  const programs = process.env['CITUS_BIN'] ?? postgresPrograms(hasCitus)
  return programs !== undefined && hasCitus(programs) ? programs : undefined
}

/** The same, for a test that is left out without them. */
export function citusPrograms(context: Mocha.Context): string {
  const programs = findCitus()
  if (programs !== undefined) return programs
  if (process.env['REQUIRE_CITUS'] === '1') throw new Error('REQUIRE_CITUS=1, but no Citus')
  return leaveOut(context, 'Citus')
}

/** The library is beside the programs, or deeper where they are built from source. */
function hasCitus(programs: string): boolean {
  const folders = ['../lib', '../lib/postgresql']
  return folders.some((folder) => existsSync(join(programs, folder, 'citus.so')))
}

function expectStarted(cluster: CitusCluster | undefined): CitusCluster {
  if (cluster === undefined) throw new Error('Citus is started in a hook')
  return cluster
}

atEndOfRun(async () => {
  await (await shared)?.remove()
})
