import { LOWEST_SENSITIVITY } from '@sallyport/core'
import type { ForwardedCaller, RequestScope } from '../identity/identity.ts'
import { rememberPrivate } from './gateway-privacy.ts'
import { getLabelStore } from './session-data.ts'

/** The dataset under which the gateway's label of a session is stored: other servers have raised it. */
const GATEWAY_DATASET = 'gateway'

/** Tokens whose label is stored: the same token is sent with many requests. */
const adopted = new WeakSet<ForwardedCaller>()

/**
 * Stores the label that the gateway has for this session, so that this server and others with the same data folder know
 * it even when the gateway is restarted. Returns `undefined` if there is nothing to wait for.
 */
export function adoptGatewayLabel(scope: RequestScope): Promise<void> | undefined {
  const { gateway } = scope
  if (gateway === undefined || adopted.has(gateway)) return undefined
  if (gateway.isPrivate) rememberPrivate(scope)
  if (gateway.label === LOWEST_SENSITIVITY) return undefined
  const raised = getLabelStore(scope.dataFolder).raise(scope, GATEWAY_DATASET, gateway.label)
  return raised.then(() => void adopted.add(gateway))
}
