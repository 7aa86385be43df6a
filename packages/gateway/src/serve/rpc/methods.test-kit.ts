import { Cancellation, type JsonObject } from '@sallyport/core'
import { ANN, createTestPipeline, type TestPipelineOptions } from '../../pipeline/pipeline.test-kit.ts'
import { CallingClient, LegacyClient } from '../legacy/legacy-client.ts'
import { ChangeHub } from './change-hub.ts'
import type { ClientRequest, Reply } from './client-request.ts'
import { createIds } from './ids.ts'
import { Methods } from './methods.ts'

const HANDSHAKE = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: {} }

export interface TestMethodsOptions extends TestPipelineOptions {
  readonly maxListeners?: () => number
}

/** All methods, with a real pipeline and servers that the test simulates. */
export function createTestMethods({ maxListeners = () => 10, ...options }: TestMethodsOptions) {
  const testPipeline = createTestPipeline(options)
  const { catalog, listings, pipeline } = testPipeline
  const hub = new ChangeHub()
  const methods = new Methods({
    ...{ catalog, listings, pipeline, hub, maxListeners },
    ids: createIds(),
    version: '1',
    onBug: String,
    waitForServers: () => undefined,
    ownLists: { ofServer: () => undefined, ofAll: () => undefined, prepare: () => undefined },
    findAbsentServer: () => undefined,
    findStartingServer: () => undefined,
  })
  return { ...testPipeline, hub, methods }
}

/** A request of Ann, and the notifications on its stream before the answer. */
export function createRequest(method: string, params: JsonObject, changes: Partial<ClientRequest> = {}) {
  const sent: JsonObject[] = []
  const cancellation = new Cancellation()
  const notify = (notification: JsonObject): boolean => sent.push(notification) > 0
  const request: ClientRequest = {
    id: 1,
    method,
    params,
    principal: ANN,
    era: 'legacy',
    cancellation,
    client: new CallingClient(new LegacyClient('c', HANDSHAKE, { send: () => false, isOpen: () => false }), { notify }),
    ...changes,
  }
  return { request, sent, cancellation }
}

export function parseReply({ message }: Reply): JsonObject {
  return JSON.parse(message.map(String).join('')) as JsonObject
}
