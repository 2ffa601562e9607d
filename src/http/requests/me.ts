// Who the caller is.

import type { AccessTokens } from '../../access/tokens.ts'
import type { DataIdentity } from '../../ports/control-reader.ts'
import { answerJson } from '../call/call.ts'
import type { ApiCall } from '../call/call.ts'
import { presentDaemonMe, presentUser } from '../answers/present.ts'

export interface MeSources {
  readonly tokens: AccessTokens
  readonly dataIdentity: DataIdentity
}

export function showDaemonMe({ tokens, dataIdentity }: MeSources) {
  return (call: ApiCall): void => {
    const { principal } = call
    const me = presentDaemonMe(principal, tokens.lastUsedAtMs(principal.token), dataIdentity)
    answerJson(call, 200, JSON.stringify(me))
  }
}

export function showUser(call: ApiCall): void {
  answerJson(call, 200, JSON.stringify({ data: presentUser(call.principal.user) }))
}
