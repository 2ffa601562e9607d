// Explains a problem code, to programs and to people.

import type { ProblemExplanation } from '../../../schemas/messages.d.ts'
import { ServiceError } from '../../domain/errors.ts'
import { answerJson } from '../answers/call.ts'
import type { Call } from '../answers/call.ts'
import { explanationOf } from '../answers/problems.ts'

export function explainProblem(call: Call): void {
  const { ctx, parameters } = call
  const code = parameters['code'] ?? ''
  const known = explanationOf(code)
  if (known === undefined) throw new ServiceError('not_found')
  const { title, explanation, status } = known
  ctx.vary('Accept')
  ctx.set('Cache-Control', 'public, max-age=3600')
  if (ctx.accepts('json', 'html') === 'html') {
    ctx.type = 'html'
    ctx.body = explanationPage(code, title, explanation)
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

/** The texts are our own and contain no HTML markup. */
function explanationPage(code: string, title: string, explanation: string): string {
  const text = explanation.replaceAll('<', '&lt;')
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>${title}</title></head>
<body><h1>${title}</h1><p>${text}</p><p>Code: <code>${code}</code></p></body>
</html>
`
}
