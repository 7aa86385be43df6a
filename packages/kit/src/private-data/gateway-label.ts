import { isAtLeast, LOWEST_SENSITIVITY } from '@sallyport/core'
import type { ForwardedCaller, RequestScope } from '../identity/identity.ts'
import { rememberPrivate } from './gateway-privacy.ts'
import { createLabel, type Label } from './label.ts'
import { getLabelStore } from './session-data.ts'

/** The dataset under which the gateway's label of a session is stored: other servers have raised it. */
const GATEWAY_DATASET = 'gateway'

/** By the token, which comes with many requests: its label being stored, or `undefined` once it is. */
const adopted = new WeakMap<ForwardedCaller, Promise<void> | undefined>()

/**
 * Stores the label that the gateway has for this session, so that this server and others with the same data folder know
 * it even when the gateway is restarted. Returns `undefined` if there is nothing to wait for.
 */
export function adoptGatewayLabel(scope: RequestScope): Promise<void> | undefined {
  const { gateway } = scope
  if (gateway === undefined) return undefined
  if (gateway.isPrivate) rememberPrivate(scope)
  if (gateway.label === LOWEST_SENSITIVITY || adopted.has(gateway)) return adopted.get(gateway)
  const adopting = raiseLabel(scope, gateway)
  adopted.set(gateway, adopting)
  return adopting
}

async function raiseLabel(scope: RequestScope, gateway: ForwardedCaller): Promise<void> {
  try {
    await getLabelStore(scope.dataFolder).raise(scope, GATEWAY_DATASET, gateway.label)
    adopted.set(gateway, undefined)
  } catch (error) {
    adopted.delete(gateway)
    throw error
  }
}

/**
 * The label without what the gateway itself said in the token of this call: it would list that as data of this server.
 * A higher level stays, since the gateway may not know it any more.
 */
export function omitGatewayLabel(label: Label, { gateway }: RequestScope): Label {
  if (gateway === undefined || label.problem !== undefined) return label
  const own = label.datasets.filter(
    ({ name, sensitivity }) => name !== GATEWAY_DATASET || !isAtLeast(gateway.label, sensitivity),
  )
  return createLabel(new Map(own.map(({ name, sensitivity }) => [name, sensitivity])))
}
