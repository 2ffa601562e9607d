// How long the stories of test/faults are: short where CI is `true`, long elsewhere.

const isShort = process.env['CI'] === 'true'

/** The one for CI, or the long one. */
export function byLength<Length>(short: Length, long: Length): Length {
  return isShort ? short : long
}
