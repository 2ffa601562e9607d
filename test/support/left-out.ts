// Tests that want what may not be there: a program, or a right. Where it is missing they are left
// out, and the run says so at its end, in a line for each thing that is missing: reporter.ts.

/** What may be missing, and what to do about it. */
const REMEDIES = {
  influxd: 'put it on PATH, or set INFLUX_TEST_URL, _TOKEN and _ORG',
  'influxd to pause and kill': 'put influxd on PATH',
  PostgreSQL: 'put initdb and postgres on PATH, or set TEST_POSTGRES_URL',
  'PostgreSQL to stop and kill': 'put initdb and postgres on PATH',
  Chromium: 'put it on PATH, or set CHROMIUM_PATH',
  cc: 'put a C compiler on PATH (Debian: gcc and libc6-dev); only Linux has what it is for',
  grafana: 'put it on PATH, built of its sources; GRAFANA_HOME names its folder with conf/',
  promtool: 'put it on PATH (Debian: prometheus)',
  Schemathesis: 'put it on PATH, or set SCHEMATHESIS, see test/README.md',
  'systemd-analyze': 'put it on PATH (Debian: systemd)',
  perl: 'put it on PATH (Debian: perl-base)',
  haproxy: 'put it on PATH (Debian: haproxy)',
  nginx: 'put it on PATH (Debian: nginx)',
  openssl: 'put it on PATH (Debian: openssl)',
  telegraf: 'put it on PATH, built of its sources by `go build ./cmd/telegraf`',
  mosquitto: 'put it on PATH (Debian: mosquitto)',
  mosquitto_pub: 'put it on PATH (Debian: mosquitto-clients)',
  'influxdb-client for python3': '`pip install influxdb-client` for the python3 on PATH',
  'openapi-typescript':
    'put it on PATH, of a folder with openapi-fetch, @types/node and TypeScript 5 in node_modules',
  'openapi-python-client': 'put it on PATH (PyPI), in an environment of its own',
  'oapi-codegen': 'put it on PATH, with Go: github.com/oapi-codegen/oapi-codegen/v2',
  python3: 'put it on PATH',
  curl: 'put it on PATH',
  npm: 'put it on PATH, with a Node of its own',
  awk: 'put it on PATH',
  script: 'put it on PATH (Debian: util-linux, or bsdutils)',
  tar: 'put it on PATH',
  prlimit: 'put it on PATH (Debian: util-linux); only Linux has what it is for',
  'a Docker engine': 'start one, or set DOCKER_HOST',
  'docker compose': 'install its plugin (Docker’s own packages: docker-compose-plugin)',
  'base images':
    '`docker pull` what Dockerfile begins with, and what docker-compose.yml names for influxdb',
  'mkfs.btrfs': 'put it on PATH (Debian: btrfs-progs)',
  debootstrap: 'put it on PATH (Debian: debootstrap), run them as root, with a mirror in reach',
  bash: 'put it on PATH',
  'a network': 'give the machine an IPv4 address besides loopback',
  'a network namespace': 'run them as root; only Linux has what they are for',
  'the right to mount': 'run them as root',
  'a control group': 'run them as root, where control groups of memory can be made',
  'the right to mount btrfs from a file': 'run them as root, where the kernel has btrfs and loop',
  'a user who is nobody': 'run them as root, in a checkout that everybody may read',
  '/proc': 'only Linux has it',
} satisfies Record<string, string>

export type Missing = keyof typeof REMEDIES

// Tests of several processes reach the reporter as text, so the title has to carry it.
const MARK = ' (left out for want of '

/**
 * Leaves out the test, or from a hook the suite.
 *
 * @throws always: it is how mocha is told
 */
export function leaveOut(context: Mocha.Context, missing: Missing): never {
  const { currentTest, test: runnable } = context
  const mark = (test: Mocha.Runnable) => {
    test.title = `${test.title}${MARK}${missing})`
  }
  if (runnable?.title.startsWith('"before all" hook')) runnable.parent?.eachTest(mark)
  else if (runnable?.title.startsWith('"before each" hook') && currentTest) mark(currentTest)
  else if (runnable) mark(runnable)
  return context.skip()
}

/** @returns what the test with this title wants, unless it is pending for another reason */
export function missingFor(title: string): Missing | undefined {
  const [, name = ''] = title.slice(0, -1).split(MARK)
  return Object.hasOwn(REMEDIES, name) ? (name as Missing) : undefined
}

/** One line for each of these things: how many tests were left out, and what to do. */
export function leftOutLines(missing: readonly Missing[]): string[] {
  return [...new Set(missing)].toSorted().map((name) => {
    const count = missing.filter((other) => other === name).length
    const tests = count === 1 ? 'test' : 'tests'
    return `${name}: ${count} ${tests} left out: ${REMEDIES[name]}`
  })
}
