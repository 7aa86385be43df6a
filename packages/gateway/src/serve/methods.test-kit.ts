import { Cancellation, type JsonObject } from '@sallyport/core'
import { ANN, type BenchOptions, createBench } from '../pipeline/pipeline.test-kit.ts'
import { ChangeHub } from './change-hub.ts'
import type { ClientRequest, Reply } from './client-request.ts'
import { createIds } from './ids.ts'
import { CallingClient, LegacyClient } from './legacy-client.ts'
import { Methods } from './methods.ts'

const OPENING = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: {} }

export interface MethodsBenchOptions extends BenchOptions {
  readonly maxListeners?: () => number
}

/** Every method, through a real pipeline, in front of servers that the test plays. */
export function createMethodsBench({ maxListeners = () => 10, ...options }: MethodsBenchOptions) {
  const bench = createBench(options)
  const { catalog, listings, pipeline } = bench
  const hub = new ChangeHub()
  const methods = new Methods({
    ...{ catalog, listings, pipeline, hub, maxListeners },
    ids: createIds(),
    version: '1',
    onBug: String,
    untilKnown: () => undefined,
    absenceBehind: () => undefined,
  })
  return { ...bench, hub, methods }
}

/** A request of Ann's, and what she is told on its stream before the answer. */
export function requestOf(method: string, params: JsonObject, changes: Partial<ClientRequest> = {}) {
  const told: JsonObject[] = []
  const cancellation = new Cancellation()
  const notify = (notification: JsonObject): boolean => told.push(notification) > 0
  const request: ClientRequest = {
    id: 1,
    method,
    params,
    principal: ANN,
    era: 'legacy',
    cancellation,
    client: new CallingClient(new LegacyClient('c', OPENING, { send: () => false, isOpen: () => false }), { notify }),
    ...changes,
  }
  return { request, told, cancellation }
}

export function messageOf({ message }: Reply): JsonObject {
  return JSON.parse(message.map(String).join('')) as JsonObject
}
