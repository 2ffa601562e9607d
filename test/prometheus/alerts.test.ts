// Goal: what an operator is told rests on series that there are, and has a text to act by. Method:
// every query of the alerts and of the dashboard is held against a scrape of a running service and
// read by Prometheus's own promtool; the alerts' own tests are run by it too.

import { expect } from 'chai'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parse, stringify } from 'yaml'
import { OPERATIONS_UID, readDashboards } from '../support/grafana.ts'
import { send } from '../support/http.ts'
import { needPromtool, promtool } from '../support/promtool.ts'
import { startService } from '../support/service.ts'

const ROOT = new URL('../../', import.meta.url)
const ALERTS = 'prometheus/alerts.yml'
const SETTINGS = 'prometheus/prometheus.yml'
const TESTS = 'prometheus/alerts.test.yml'
/** Where the package for Debian has docs/operations.md. */
const GUIDE = '/usr/share/doc/thermolog/operations.md'

interface Rule {
  readonly alert: string
  readonly expr: string
  readonly labels: { readonly severity: string }
  readonly annotations: Readonly<Record<'summary' | 'description' | 'runbook_url', string>>
}

const { groups } = parse(readText(ALERTS)) as { groups: { rules: Rule[] }[] }
const rules = groups.flatMap((group) => group.rules)
const panels = readDashboards()
  .filter(({ uid }) => uid === OPERATIONS_UID)
  .flatMap((dashboard) => dashboard.panels)
const panelQueries = panels.flatMap(({ title, targets }) =>
  targets.map(({ expr = '' }) => ({ title, expr })),
)

function readText(file: string): string {
  return readFileSync(new URL(file, ROOT), 'utf8')
}

/** The names of all series of a scrape, with those that Prometheus makes itself. */
async function exportedNames(): Promise<Set<string>> {
  const service = await startService()
  const { text } = await send(service.url, { path: '/metrics' })
  await service.stop()
  const names = [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].flatMap(([, name = '', type]) =>
    type === 'histogram' ? ['_bucket', '_sum', '_count'].map((end) => name + end) : [name],
  )
  return new Set([...names, 'up', 'ALERTS'])
}

/** What a query asks for: names that are no functions, labels or words of the language. */
function namesIn(query: string): string[] {
  const bare = query
    .replaceAll(/\{[^}]*\}|\[[^\]]*\]/g, ' ')
    .replaceAll(/\b(by|on) \([^)]*\)/g, ' ')
    .replaceAll(/\b(and|or|unless)\b/g, ' ')
  return [...bare.matchAll(/\b[A-Za-z]\w*\b(?! *\()/g)].map(([name]) => name)
}

describe('the alerts and the dashboard of operators', () => {
  it('ask for series that the service has', async () => {
    const exported = await exportedNames()
    for (const { alert: title, expr } of rules) {
      expect(namesIn(expr), title).not.to.have.lengthOf(0)
      expect([...exported], title).to.include.members(namesIn(expr))
    }
    for (const { title, expr } of panelQueries) {
      expect(namesIn(expr), title).not.to.have.lengthOf(0)
      expect([...exported], title).to.include.members(namesIn(expr))
    }
  })

  it('have in the guide what each alert means and what to do', () => {
    const headings = new Set(readText('docs/operations.md').match(/^#+ .+$/gm))
    for (const { alert, annotations } of rules) {
      expect(annotations.runbook_url, alert).to.equal(`${GUIDE}#${alert.toLowerCase()}`)
      expect([...headings], alert).to.include(`#### ${alert}`)
    }
  })

  it('have in each alert who speaks, and a first command', () => {
    for (const { alert, annotations } of rules) {
      expect(annotations.summary, alert).to.match(/^Thermolog\b.*\$labels\.instance/)
      expect(annotations.description, alert).to.match(/ First: `[^`]+`\.$/)
    }
  })

  it('are queries that Prometheus can read', function () {
    needPromtool(this)
    const folder = mkdtempSync(join(tmpdir(), 'thermolog-rules-'))
    const file = join(folder, 'panels.yml')
    const recorded = panelQueries.map(({ expr }, at) => ({
      record: `panel:${at}`,
      expr: expr.replaceAll('$__rate_interval', '1m'),
    }))
    writeFileSync(file, stringify({ groups: [{ name: 'panels', rules: recorded }] }))
    const verdict = promtool(['check', 'rules', '--lint=none', file])
    rmSync(folder, { recursive: true })
    expect(verdict.exitCode, verdict.output).to.equal(0)
  })
})

describe('the rules of Prometheus', () => {
  const pathOf = (file: string) => fileURLToPath(new URL(file, ROOT))

  it('are in order', function () {
    needPromtool(this)
    const verdict = promtool(['check', 'rules', pathOf(ALERTS)])
    expect(verdict.exitCode, verdict.output).to.equal(0)
  })

  it('are among settings that Prometheus understands', function () {
    needPromtool(this)
    const verdict = promtool(['check', 'config', '--syntax-only', pathOf(SETTINGS)])
    expect(verdict.exitCode, verdict.output).to.equal(0)
  })

  it('fire when they should, and not otherwise', function () {
    needPromtool(this)
    const verdict = promtool(['test', 'rules', pathOf(TESTS)])
    expect(verdict.exitCode, verdict.output).to.equal(0)
  })

  it('are all tested', () => {
    const { tests } = parse(readText(TESTS)) as {
      tests: { alert_rule_test: { alertname: string; exp_alerts: unknown[] }[] }[]
    }
    const checks = tests.flatMap(({ alert_rule_test: list }) => list)
    const firing = checks.filter(({ exp_alerts: alerts }) => alerts.length > 0)
    const silent = checks.filter(({ exp_alerts: alerts }) => alerts.length === 0)
    for (const { alert } of rules) {
      expect(firing.map(({ alertname }) => alertname)).to.include(alert)
      expect(silent.map(({ alertname }) => alertname)).to.include(alert)
    }
  })
})
