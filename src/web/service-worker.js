// Stores the page itself, so that it opens without a network; kept.js stores the data it shows
// then.
//
// Each version has its own cache, filled completely before the version is used, so that a page
// never mixes two versions. The service inserts the version and the files when it serves this file.

const VERSION = '{{version}}'
/** The page's own path, below any prefix. */
const PAGE = new URL('.', location.href).pathname
const FILES = '{{files}}'.split(' ').map((file) => PAGE + file)
/** After this time without a response, assume there is no network. */
const ANSWER_MS_MAX = 4_000
const CACHE = `thermolog-page-${VERSION}`

addEventListener('install', (event) => void event.waitUntil(fill()))
addEventListener('activate', (event) => void event.waitUntil(takeOver()))

addEventListener('fetch', (event) => {
  const { request } = event
  const { origin, pathname } = new URL(request.url)
  if (request.method !== 'GET' || origin !== location.origin) return
  const isPage = request.mode === 'navigate' && pathname === PAGE
  if (isPage) event.respondWith(newestPage(request))
  else if (FILES.includes(pathname)) event.respondWith(keptFile(request))
})

async function fill() {
  const cache = await caches.open(CACHE)
  await cache.addAll([PAGE, ...FILES])
  await skipWaiting()
}

async function takeOver() {
  const names = await caches.keys()
  const old = names.filter((name) => name.startsWith('thermolog-page-') && name !== CACHE)
  await Promise.all(old.map((name) => caches.delete(name)))
  await clients.claim()
}

/** The newest page available: from the service, else the stored one. */
async function newestPage(request) {
  const response = await fetch(request, { signal: AbortSignal.timeout(ANSWER_MS_MAX) }).catch(() =>
    Response.error(),
  )
  // A proxy responds with 502 to 504 if the service is down.
  if (response.type !== 'error' && response.status < 500) return response
  return (await caches.match(PAGE, { cacheName: CACHE })) ?? response
}

async function keptFile(request) {
  return (await caches.match(request, { cacheName: CACHE })) ?? fetch(request)
}
