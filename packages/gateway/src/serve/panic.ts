import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Principal } from '@sallyport/core'
import type { ModeState } from '../governance/governance.ts'
import { modeView } from './mode-view.ts'
import { OPERATOR_INTERFACES } from './operator-means.ts'

export interface PanicOptions {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly principal: Principal
  readonly mode: ModeState
}

/** LOCKDOWN without the API: that may have to be loaded first, which takes time and descriptors that a flood may have taken. */
export async function servePanic({ request, response, principal, mode }: PanicOptions): Promise<void> {
  const query = new URLSearchParams(request.url?.split('?')[1])
  const via = OPERATOR_INTERFACES.find((means) => means === query.get('via')) ?? 'api'
  const before = await mode.change({ to: 'LOCKDOWN', by: principal.user, via, why: query.get('why') ?? 'panic' })
  const body = JSON.stringify({ ...modeView(mode), before })
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }).end(body)
}
