// What is in the artefacts, as CycloneDX 1.6: every package that is bundled, and each Node.

import { lockedNode, lockedPackages } from './lock.ts'
import type { LockedPackage } from './lock.ts'
import type { Machine } from './program.ts'
import type { Release } from './release.ts'

export function billOfMaterials(release: Release, machines: readonly Machine[]): object {
  const packages = [...lockedPackages(), ...machines.map(lockedNode)].map(toComponent)
  const components = new Map(packages.map((component) => [component.purl, component]))
  const { version } = release
  const program = { type: 'application', name: 'thermolog', version, ...licenses('MIT') }
  const purl = `pkg:npm/thermolog@${version}`
  const commit = { name: 'commit', value: release.commit ?? 'unknown' }
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      timestamp: new Date(release.madeAtS * 1000).toISOString(),
      component: { ...program, purl, 'bom-ref': purl, properties: [commit] },
    },
    components: [...components.values()],
    dependencies: [{ ref: purl, dependsOn: [...components.keys()] }],
  }
}

function toComponent({ name, version, integrity, license }: LockedPackage) {
  const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`
  const [algorithm = '', hash = ''] = integrity.split('-', 2)
  const content = Buffer.from(hash, 'base64').toString('hex')
  const hashes = [{ alg: algorithm.replace('sha', 'SHA-'), content }]
  return { type: 'library', 'bom-ref': purl, name, version, purl, hashes, ...licenses(license) }
}

function licenses(license: string | undefined): object {
  if (license === undefined) return {}
  const isExpression = / (OR|AND|WITH) /.test(license)
  return { licenses: [isExpression ? { expression: license } : { license: { id: license } }] }
}
