// App Links and Universal Links: which apps open `/app/callback/…`, so that no other app can take a
// sign-in over, and what is there for a browser that opens it itself.

import type { AppLinks } from '../../domain/app-links.ts'
import { ServiceError } from '../../domain/errors.ts'
import { answerJson } from '../call/call.ts'
import type { Call } from '../call/call.ts'
import { anything } from '../routes/input.ts'
import { OpenRoutes, small } from '../routes/routes.ts'
import type { RouteTable } from '../routes/routes.ts'
import { answerPage } from './html.ts'

const CACHED_FOR_AN_HOUR = 'public, max-age=3600'

/** @param links without an app of a system its file is 404 */
export function appLinksRouter({ android, apple }: AppLinks, appName: string): RouteTable {
  const open = new OpenRoutes('')

  open.add('GET /.well-known/assetlinks.json', anything, small(show(android, assetLinks)))
  open.add('GET /.well-known/apple-app-site-association', anything, small(show(apple, appleLinks)))
  open.add('GET /app/callback/:idp', anything, small(sayOpenOnPhone(appName)))
  return open
}

function show<App>(apps: readonly App[], make: (apps: readonly App[]) => unknown) {
  const text = JSON.stringify(make(apps))
  return (call: Call): void => {
    if (apps.length === 0) throw new ServiceError('not_found')
    call.ctx.set('Cache-Control', CACHED_FOR_AN_HOUR)
    answerJson(call, 200, text)
  }
}

function assetLinks(apps: AppLinks['android']) {
  const byName = Map.groupBy(apps, ({ packageName }) => packageName)
  return Array.from(byName, ([name, signed]) => ({
    relation: ['delegate_permission/common.handle_all_urls'],
    target: {
      namespace: 'android_app',
      package_name: name,
      sha256_cert_fingerprints: signed.map(({ fingerprint }) => fingerprint),
    },
  }))
}

function appleLinks(apps: AppLinks['apple']) {
  return { applinks: { details: [{ appIDs: apps, components: [{ '/': '/app/callback/*' }] }] } }
}

function sayOpenOnPhone(appName: string) {
  const title = 'Open this on your phone'
  const content =
    '<p>This address belongs to the app. Sign in with the app, on a device that has it.</p>'
  return (call: Call): void => answerPage(call, { title, appName }, content)
}
