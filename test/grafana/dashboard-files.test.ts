import { expect } from 'chai'
import { readdirSync, readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { OPERATIONS_UID, provisionedUid, readDashboards } from '../support/grafana.ts'
import type { Target } from '../support/grafana.ts'

const PROVISIONING = new URL('../../grafana/provisioning/', import.meta.url)

interface DataSource {
  readonly uid: string
  readonly type: string
  readonly isDefault?: boolean
  readonly jsonData: { readonly version?: string; readonly dbName?: string }
  readonly secureJsonData?: Readonly<Record<string, string>>
}

const dashboards = readDashboards()
const datasources = ['thermolog', 'influxdb'].flatMap((name) => {
  const file = parse(readText(`datasources/${name}.yml`)) as { datasources: DataSource[] }
  return file.datasources
})

function readText(file: string): string {
  return readFileSync(new URL(file, PROVISIONING), 'utf8')
}

describe('the files of the Grafana dashboards', () => {
  it('have an id and a title each of their own', () => {
    const names = dashboards.flatMap(({ uid, title }) => [uid, title])
    expect(new Set(names).size).to.equal(names.length)
    expect(dashboards).to.have.lengthOf(7)
  })

  it('ask data sources that are provisioned, in their language', () => {
    const versions = new Map(
      datasources.map(({ uid, type, jsonData }) => [uid, jsonData.version ?? type]),
    )
    for (const dashboard of dashboards) {
      for (const { query, expr, datasource } of dashboard.panels.flatMap(
        ({ targets }) => targets,
      )) {
        const language =
          expr !== undefined ? 'prometheus' : query.startsWith('SELECT') ? 'InfluxQL' : 'Flux'
        const uid = provisionedUid(dashboard, datasource.uid)
        expect(versions.get(uid), query).to.equal(language)
      }
      for (const { name, type, datasource } of dashboard.templating.list) {
        if (type !== 'query') continue
        const uid = provisionedUid(dashboard, datasource?.uid ?? '')
        expect(versions.get(uid), name).to.be.oneOf(['Flux', 'InfluxQL'])
      }
    }
  })

  for (const dashboard of dashboards) {
    describe(dashboard.title, () => {
      const variables = dashboard.templating.list.map(({ name }) => name)
      const text = JSON.stringify(dashboard.panels)

      it('lets its reader choose each data source, whatever uid Grafana has given it', () => {
        const asked: Target['datasource'][] = []
        JSON.stringify(dashboard, (key, value) => {
          if (key === 'datasource') asked.push(value)
          return value
        })
        expect(asked).not.to.have.lengthOf(0)
        for (const { type, uid } of asked) {
          const variable = dashboard.templating.list.find(({ name }) => uid === `\${${name}}`)
          expect(variable, uid).to.include({ type: 'datasource', query: type })
        }
      })

      it('gives each panel an id, a title and a description', () => {
        const ids = dashboard.panels.map(({ id }) => id)
        expect(new Set(ids).size).to.equal(ids.length)
        for (const { title, description } of dashboard.panels) {
          expect(title).not.to.equal('')
          expect(description, title).to.match(/\.$/)
        }
      })

      it('uses every variable it has, and no other', () => {
        const used = [...text.matchAll(/\$\{(\w+)(?::\w+)?\}/g)].map(([, name]) => name ?? '')
        const own = used.filter((name) => !name.startsWith('__'))
        expect([...new Set(own)]).to.have.members(variables)
      })

      it('draws what is healthy in no colour of danger, and counts whole', () => {
        for (const { title, fieldConfig } of dashboard.panels) {
          const { thresholds, unit, min, custom } = fieldConfig.defaults
          const [first] = thresholds?.steps ?? []
          if (dashboard.uid !== OPERATIONS_UID) expect(first?.color, title).not.to.equal('red')
          if (dashboard.uid !== OPERATIONS_UID) expect(thresholds, title).not.to.equal(undefined)
          if (dashboard.uid !== OPERATIONS_UID) expect(unit, title).not.to.equal('short')
          if (custom?.drawStyle === 'bars') expect(min, title).to.equal(0)
        }
      })

      it('says of what may be cut how much there is', () => {
        const targets = dashboard.panels.flatMap((panel) => panel.targets)
        for (const { query = '' } of targets.filter((target) =>
          /SLIMIT/.test(target.query ?? ''),
        )) {
          const [, most] = / SLIMIT (\d+)$/.exec(query) ?? []
          const [, chosen] = /AND (.+) GROUP BY/.exec(query) ?? []
          const counter = dashboard.panels.find(({ targets: [target] }) =>
            target?.query.endsWith(` count("online") FROM "sensor" WHERE ${chosen}`),
          )
          expect(counter?.fieldConfig.overrides, query).to.deep.equal([
            {
              matcher: {
                id: 'byValue',
                options: { reducer: 'lastNotNull', op: 'gt', value: Number(most) },
              },
              properties: [{ id: 'unit', value: `prefix:${most} of ` }],
            },
          ])
        }
      })

      it('sorts tables by columns that they have', () => {
        for (const { title, options, fieldConfig } of dashboard.panels) {
          const names = fieldConfig.overrides
            .flatMap(({ properties }) => properties)
            .flatMap(({ id, value }) => (id === 'displayName' ? [value] : []))
          for (const { displayName } of options.sortBy ?? []) {
            expect(names, title).to.include(displayName)
          }
        }
      })

      it('leads only to dashboards and variables that exist', () => {
        const links = [...text.matchAll(/"url":"\/d\/([\w-]+)\?([^"]*)"/g)]
        for (const [, uid, query = ''] of links) {
          const target = dashboards.find((candidate) => candidate.uid === uid)
          const set = [...query.matchAll(/var-(\w+)=/g)].map(([, name]) => name)
          const known = target?.templating.list.map(({ name }) => name) ?? []
          expect(known).to.include.members(set)
          // The data source, too: the sensor of one user is not known to that of another.
          expect(set).to.include.members(known.filter((name) => variables.includes(name)))
        }
      })
    })
  }
})

describe('the provisioning of Grafana', () => {
  it('takes every secret from a file', () => {
    for (const { secureJsonData } of datasources) {
      for (const secret of Object.values(secureJsonData ?? {})) {
        expect(secret).to.match(/^((Token|Bearer) )?\$__file\{[\w/-]+\}$/)
      }
    }
  })

  it('takes the place of no default data source that a Grafana has already', () => {
    expect(datasources.filter(({ isDefault }) => isDefault)).to.deep.equal([])
  })

  it('has nothing but what its README names', () => {
    expect(readdirSync(PROVISIONING)).to.have.members(['alerting', 'dashboards', 'datasources'])
  })
})
