// Explains problem codes, to programs and to people.

import type { ProblemExplanation } from '../../../schemas/messages.d.ts'
import { ServiceError } from '../../domain/errors.ts'
import type { ErrorCode } from '../../domain/errors.ts'
import { answerJson } from '../call/call.ts'
import type { Call } from '../call/call.ts'
import { FAULTS } from '../answers/faults.ts'
import { explainedCodes, explanationOf } from '../answers/problems.ts'
import { exampleOf } from '../answers/problem-example.ts'
import { answerPage, escapeHtml, isForPeople, proseToHtml } from './html.ts'

const CACHED_FOR_AN_HOUR = 'public, max-age=3600'
const INSIDE = 'This code is in `errors` of another problem, beside the part that it is about.'

export function explainProblem(appName: string) {
  return (call: Call): void => {
    const { ctx, parameters } = call
    const code = parameters['code'] ?? ''
    const known = explanationOf(code)
    if (known === undefined) throw new ServiceError('not_found')
    const { title, explanation, status } = known
    ctx.vary('Accept')
    ctx.set('Cache-Control', CACHED_FOR_AN_HOUR)
    if (isForPeople(call)) {
      const example = status === undefined ? undefined : exampleOf(code as ErrorCode)
      answerPage(call, { title, appName }, explanationOn(code, { explanation, status, example }))
      return
    }
    const answer: ProblemExplanation = {
      code,
      title,
      explanation,
      ...(status !== undefined && { status }),
    }
    answerJson(call, 200, JSON.stringify(answer))
  }
}

/** All codes, by status. */
export function listProblems(appName: string) {
  return (call: Call): void => {
    call.ctx.set('Cache-Control', CACHED_FOR_AN_HOUR)
    answerPage(call, { title: 'Problems', appName }, listOfProblems())
  }
}

function listOfProblems(): string {
  const known = explainedCodes().flatMap((code) => {
    const found = explanationOf(code)
    return found === undefined ? [] : [{ code, ...found }]
  })
  const byStatus = Map.groupBy(known, ({ status }) => status)
  const groups = [...byStatus].toSorted(([one = 999], [other = 999]) => one - other)
  const lists = groups.map(([status, problems]) => {
    const heading = status === undefined ? 'Inside errors' : `Status ${status}`
    const items = problems.map(({ code, title }) => {
      const link = `<a href="problems/${code}"><code>${code}</code></a>`
      return `<dt>${link}</dt><dd>${escapeHtml(title)}</dd>`
    })
    return `<h2>${heading}</h2><dl>${items.join('')}</dl>`
  })
  const intro =
    '<p>Every failure is <code>application/problem+json</code> (RFC 9457) with one of these ' +
    'codes, which never change their meaning.</p>'
  return intro + lists.join('')
}

function explanationOn(
  code: string,
  {
    explanation,
    status,
    example,
  }: { explanation: string; status: number | undefined; example: unknown },
): string {
  const place = status === undefined ? INSIDE : `Status ${status}`
  const json = escapeHtml(JSON.stringify(example, null, 2) ?? '')
  return [
    `<p class="status"><code>${code}</code> · ${proseToHtml(place)}</p>`,
    `<p>${proseToHtml(explanation)}</p>`,
    ...(example === undefined ? [] : [`<h2>Example</h2><pre tabindex="0">${json}</pre>`]),
    ...(code === 'validation_failed' ? [listOfFaults()] : []),
    '<p><a href="../problems">All problems</a></p>',
  ].join('\n')
}

function listOfFaults(): string {
  const items = Object.entries(FAULTS).map(([code, { explanation }]) => {
    return `<dt><code>${code}</code></dt><dd>${proseToHtml(explanation)}</dd>`
  })
  return `<h2>Codes inside errors</h2><dl>${items.join('')}</dl>`
}
