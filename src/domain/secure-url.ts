// URLs to which secrets may be sent.

/** Whether a URL is https, or http on this machine. */
export function isSecureUrl(text: string): boolean {
  const url = URL.parse(text)
  if (url === null || url.username !== '' || url.password !== '') return false
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname))
}

/** Whether only this machine can open a URL. */
export function isOfThisMachine(text: string): boolean {
  return isLoopback(URL.parse(text)?.hostname ?? '')
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname)
}
