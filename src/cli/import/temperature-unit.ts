// Which unit the name of a temperature column says, wherever it says it: `Temp, (*F)`, `temp_f`,
// `TempF`, `Temperature [unit="K"]`, `Temperatur in °C (LGR S/N: 1)`.

export type TemperatureUnit = 'C' | 'F' | 'K'
/** `other`: one that cannot be read, or several. */
type Unit = TemperatureUnit | 'other'

export interface TemperatureName {
  /** In lower case, without unit and brackets; `degrees` if nothing else is there. */
  readonly name: string
  /** `undefined`: it says none. */
  readonly unit: Unit | undefined
}

/** The sign has many forms; some programs cannot write it. */
const DEGREE_SIGNS = /[ºᵒ˚∘]|Â(?=°)|[*?\uFFFD](?=\s*[CFK]\b)/giu
const BRACKETS = /[([{]([^)\]}]*)/g
const WORDS = /[\p{L}\p{N}°%]+/gu
/** `tempf`, `temp1f`, `degC`: a letter without a gap before it. */
const JOINED =
  /((?:te?mp|temperature|dwp|dewpt|deg(?:rees?)?)(?:in|out|door)*\d*)([cfk])(?![\p{L}])/gu
const DEGREES = /^(°|deg|degrees?|grad|grade?n|grados|gradi|degrés?)$/
const OF_LETTER = /^(t|te?mp.*|dwp|dewpt|in)$/
/** Things that people tell apart by letters: `Sensor F` is none in degrees Fahrenheit. */
const LETTERED = new Set(
  (
    'sensor probe channel ch port zone room group station logger node box rack tank line type ' +
    'thermocouple building house hall label lbl'
  ).split(' '),
)
/** The first that fits counts. */
const UNIT_WORDS: readonly (readonly [RegExp, Unit])[] = [
  [/^[md]?°(?!c$|f$|k$|cel$)\p{L}{1,2}$|^m°|(rankine|r[eé]aumur)$/u, 'other'],
  [/^(milli|deci|centi(?!grade)|tenths?$|hundredths?$)/, 'other'],
  [/(celsius|celcius|centigrade)$|^°?cel$|^°c$|^metric$/, 'C'],
  [/fahr|farenh|^°f$|^imperial$/, 'F'],
  [/kelvins?$|^°k$/, 'K'],
  [/^[mdc](deg|[cfk]$)/, 'other'],
]
const LETTERS: ReadonlyMap<string, TemperatureUnit> = new Map([
  ['c', 'C'],
  ['f', 'F'],
  ['k', 'K'],
])
/** In brackets. */
const OTHER_QUANTITIES = new Set(
  (
    'rh v volt volts mv ma mk mc w kw wh kwh pa hpa kpa mpa bar mbar psi inhg mmhg mm cm km ft ' +
    'feet inch inches m/s km/h kmh mph knots lux lx ppm ppb db dbm hz khz ohm ohms kohm ω kω kg ' +
    'ms adc counts'
  ).split(' '),
)
/** In brackets: percent, tenths of a degree; degrees per hour. */
const SCALED = /^%|^[x×*·]?\s?[\d./]+\s?[x×*·]?\s?(?:°|[cfk]$)/u
const CHANGE = /(?:°\s?|\b)[cfk]\s?(?:[x×*·]\s?\d|\/\s?(?:\d|[smhdw]|kw))/u

/** @param column the name as the file spells it */
export function readTemperatureName(column: string): TemperatureName {
  const text = withPlainSigns(column)
  const outside = wordsOf(text.replace(BRACKETS, ' '))
  const unitsOutside = outside.map((_, at) => unitOfWord(outside, at, isLastLetter(outside, at)))
  const inBrackets = [...text.matchAll(BRACKETS)].flatMap(([, content = '']) => unitsOf(content))
  const units = new Set([...unitsOutside, ...inBrackets].filter((unit) => unit !== undefined))
  const [unit] = units
  const isOfUnit = outside.map((word, at) => unitsOutside[at] !== undefined || DEGREES.test(word))
  const rest = outside.filter((word, at) => {
    return isOfUnit[at] !== true && !(word === 'in' && isOfUnit[at + 1] === true)
  })
  // A lone letter may be anything, unless the operator names it as a temperature.
  const isUnitAlone = rest.length === 0 && unit !== undefined && outside.join('').length !== 1
  const name = isUnitAlone ? 'degrees' : rest.join(' ')
  const isOfAnything = name === 'value' && text.search(BRACKETS) !== -1
  return { name, unit: units.size > 1 ? 'other' : (unit ?? (isOfAnything ? 'other' : undefined)) }
}

/** One sign for degrees, words apart, lower case. */
function withPlainSigns(column: string): string {
  return column
    .replace(DEGREE_SIGNS, (sign) => (sign === 'Â' ? '' : '°'))
    .normalize('NFKC')
    .replace(/(?<=\p{Ll}{2}|\d|\bt)(?=\p{Lu})/gu, ' ')
    .toLowerCase()
    .replace(/(?<![\p{L}\p{N}.])(?:[o0⁰ø]|\\x?u?(?:00)?b0)\s?(?=[cfk](?![\p{L}\p{N}]))/gu, '°')
    .replace(/°\s+(?=[cfk](?![\p{L}]))/gu, '°')
    .replace(/(?<![\p{L}°])([cfk])\s?°(?![\p{L}])/gu, '°$1')
    .replace(/(?<!(?<!\p{L})[md])°(?=\p{L})/gu, ' °')
    .replace(JOINED, '$1 $2')
}

/** The units that the content of a pair of brackets says. */
function unitsOf(content: string): Unit[] {
  return content
    .replace(/\bunits?\s*[=:]/, '')
    .split(/[,;]/)
    .flatMap((part) => {
      const plain = part.replaceAll(/["']/g, '').trim()
      if (OTHER_QUANTITIES.has(plain) || SCALED.test(plain) || CHANGE.test(plain)) return ['other']
      const words = wordsOf(plain)
      return words.flatMap((_, at) => unitOfWord(words, at, mayStandAlone(words, at)) ?? [])
    })
}

function wordsOf(text: string): string[] {
  return text.match(WORDS) ?? []
}

/** @param isUnitAlone whether a letter is one with no word beside it that says so */
function unitOfWord(words: readonly string[], at: number, isUnitAlone: boolean): Unit | undefined {
  const word = words[at] ?? ''
  const [, unit] = UNIT_WORDS.find(([form]) => form.test(word)) ?? []
  if (unit !== undefined) return unit
  const before = words[at - 1] ?? ''
  const after = words[at + 1] ?? ''
  const isOfDegrees = DEGREES.test(before) || DEGREES.test(after)
  const isOfTemperature = OF_LETTER.test(at === 0 ? after : before)
  const isUnit = isUnitAlone || isOfDegrees || isOfTemperature
  return isUnit && after !== 'type' ? LETTERS.get(word) : undefined
}

/** In brackets F and K are units, unless they tell things apart, as in `(probe F)`. */
function mayStandAlone(words: readonly string[], at: number): boolean {
  if (words.length === 1) return true
  return words[at] !== 'c' && !words.slice(0, at).some((word) => LETTERED.has(word))
}

function isLastLetter(words: readonly string[], at: number): boolean {
  return at === words.length - 1 && !LETTERED.has(words[at - 1] ?? '')
}
