// Goal: dates have one form everywhere, whatever the language of the browser. Method: the page's
// own module, in a process with another language each, because it reads that once.

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect } from 'chai'

const PROGRAM = `
  const { groupedTime, moment, period, pointTime, shortPointTime } = await import(process.argv[1])
  const at = (text) => Date.parse(text + 'Z')
  const [year, other] = [new Date().getFullYear(), 2017]
  const day = (year, time = '12:00') => at(year + '-03-21T' + time)
  console.log(JSON.stringify([
    moment(day(year, '23:00'), at(year + '-03-25T00:00')), moment(day(other), Date.now()),
    pointTime(day(year), 0), pointTime(day(other), 900_000), pointTime(day(year, '23:45'), 900_000),
    pointTime(day(other), 86_400_000), shortPointTime(day(year, '23:45'), 900_000),
    period(day(year), day(year, '13:00')), period(day(year, '12:00'), at(year + '-03-22T12:00')),
    period(day(other), at(other + '-04-21T12:00')), period(day(other), at(other + '-03-22T12:00')),
    ...groupedTime(day(other), 0), ...groupedTime(day(other), 86_400_000),
  ]))`

/** What the page says, in order; the weekday of a day of this year is `DAY`. */
async function said(language: string): Promise<string[]> {
  const module = new URL('../../src/web/format.js', import.meta.url).href
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--input-type=module', '-e', PROGRAM, module],
    { env: { ...process.env, LC_ALL: language, TZ: 'UTC' } },
  )
  return (JSON.parse(stdout) as string[]).map((text) =>
    text.replaceAll(/(?:Sun|Mon|Tue|Wed|Thu|Fri|Sat),(?!.*2017)/g, 'DAY,').replaceAll(/\s/g, ' '),
  )
}

describe('dates on the page', () => {
  const british = [
    'DAY, 21 Mar, 23:00',
    'Tue, 21 Mar 2017, 12:00',
    'DAY, 21 Mar, 12:00:00',
    'Tue, 21 Mar 2017, 12:00–12:15',
    'DAY, 21 Mar, 23:45–00:00',
    'Tue, 21 Mar 2017',
    '21 Mar, 23:45–00:00',
    'DAY, 21 Mar, 12:00–13:00',
    'DAY, 21 Mar, 12:00 – DAY, 22 Mar, 12:00',
    'Tue, 21 Mar – Fri, 21 Apr 2017',
    '21 Mar 2017, 12:00 – 22 Mar 2017, 12:00',
    'Tue, 21 Mar 2017',
    '12:00:00',
    'March 2017',
    'DAY, 21 Mar',
  ]

  it('have a comma after every weekday in British English, and in the page in German', async () => {
    expect(await said('en_GB.UTF-8')).to.deep.equal(british)
    expect(await said('de_DE.UTF-8')).to.deep.equal(british)
  })

  it('are American with American hours in American English', async () => {
    expect(await said('en_US.UTF-8')).to.deep.equal([
      'DAY, Mar 21, 11:00 PM',
      'Tue, Mar 21, 2017, 12:00 PM',
      'DAY, Mar 21, 12:00:00 PM',
      'Tue, Mar 21, 2017, 12:00 – 12:15 PM',
      'DAY, Mar 21, 11:45 PM–12:00 AM',
      'Tue, Mar 21, 2017',
      'Mar 21, 11:45 PM–12:00 AM',
      'DAY, Mar 21, 12:00 – 1:00 PM',
      'DAY, Mar 21, 12:00 PM – DAY, Mar 22, 12:00 PM',
      'Tue, Mar 21 – Fri, Apr 21, 2017',
      'Mar 21, 2017, 12:00 PM – Mar 22, 2017, 12:00 PM',
      'Tue, Mar 21, 2017',
      '12:00:00 PM',
      'March 2017',
      'DAY, Mar 21',
    ])
  })
})
