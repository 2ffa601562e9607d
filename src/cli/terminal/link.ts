// A sign-in link for a person at a terminal: with a QR code, for the phone.

import { hostname } from 'node:os'
import { encodeQR } from 'qr'
import { networkAddress } from '../../config-values.ts'
import { isOfThisMachine } from '../../domain/secure-url.ts'

const HALVES = [' ', '▄', '▀', '█']
/** Black on white, whatever the colours of the terminal are. */
const COLOURS = { on: '\u001B[30;107m', off: '\u001B[0m' }

/** Two rows of the code on each line; `''` where no phone can open the address. */
export function qrCode(url: string): string {
  if (isOfThisMachine(url)) return ''
  // As small as it gets: it has to fit a terminal of 24 rows, with the link below it.
  const rows = encodeQR(url, 'raw', { ecc: 'low', border: 2 })
  const lines: string[] = []
  for (let at = 0; at < rows.length; at += 2) {
    const upper = rows[at] ?? []
    const lower = rows[at + 1] ?? []
    const halves = upper.map((isDark, column) => {
      return HALVES[2 * Number(isDark) + Number(lower[column] ?? false)]
    })
    lines.push(`${COLOURS.on}${halves.join('')}${COLOURS.off}\n`)
  }
  return lines.join('')
}

/** What to know about a link, `''` if nothing. */
export function reachOf(url: string): string {
  if (isOfThisMachine(url)) {
    return 'Only this machine can open it. For others, set HOST=0.0.0.0, or PUBLIC_URL.\n'
  }
  const named = namedUrl(url)
  return named === undefined ? '' : `By this machine's name: ${named}\n`
}

/** The same with this machine's name, for what has its address in its network. */
export function namedUrl(url: string): string | undefined {
  const address = networkAddress()
  if (address === undefined || URL.parse(url)?.hostname !== address) return undefined
  return url.replace(address, hostname())
}
