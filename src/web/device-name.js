// A session's name for people: what its app calls itself, or what a `User-Agent` says.

const BROWSER = /(Edg|OPR|SamsungBrowser|Firefox|FxiOS|CriOS|Chrome|Safari)\//
const SYSTEM = /(Android|iPhone|iPad|Windows|Mac OS X|CrOS|Linux)/
/** @type {Readonly<Record<string, string>>} */
const NAMES = {
  Edg: 'Edge',
  OPR: 'Opera',
  SamsungBrowser: 'Samsung Internet',
  FxiOS: 'Firefox',
  CriOS: 'Chrome',
  'Mac OS X': 'macOS',
  CrOS: 'ChromeOS',
}

/** Libraries that send their own name if an app sends none. */
const LIBRARIES = /** @type {const} */ ([
  [/^(?:node|undici|axios)\b/i, 'Node.js program'],
  [/^Go-http-client\b/, 'Go program'],
  [/^python|^aiohttp\b/i, 'Python program'],
  [/^(?:curl|wget)\b/i, 'Terminal'],
  [/^(?:okhttp|Dalvik)\b/i, 'Android app'],
  [/^Dart\b/, 'Flutter app'],
  [/^(?:Java|Apache-HttpClient)\b/, 'Java program'],
])

/** @param {string} name */
export function deviceName(name) {
  if (name.startsWith('Mozilla/')) return browserName(name)
  const [, library] = LIBRARIES.find(([pattern]) => pattern.test(name)) ?? []
  if (library !== undefined) return `${library} (${productOf(name)})`
  // The system's own library, preceded by the app's name.
  if (name.includes(' CFNetwork/')) return `${productOf(name)} on an Apple device`
  return name === '' ? 'Unknown device' : name
}

/** @param {string} name */
function browserName(name) {
  const [browser = 'Browser', system = 'unknown system'] = [BROWSER, SYSTEM].map((pattern) => {
    const found = pattern.exec(name)?.[1]
    return found && (NAMES[found] ?? found)
  })
  return `${browser} on ${system}`
}

/** Without the version. @param {string} name */
function productOf(name) {
  return name.split(/[/ ]/, 1).join('').replaceAll('%20', ' ')
}
