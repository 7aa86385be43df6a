import {
  didYouMean,
  type Era,
  isJsonObject,
  type JsonObject,
  LATEST_LEGACY_VERSION,
  LEGACY_VERSIONS,
  META,
  MODERN_VERSION,
  type Principal,
  SallyportError,
  traceIdOf,
} from '@sallyport/core'
import type { Catalog, Offer } from '../catalog/catalog.ts'
import type { Call, Listings, ListMethod, Pipeline } from '../pipeline/pipeline.ts'
import type { ChangeHub } from './change-hub.ts'
import type { ClientRequest, Reply } from './client-request.ts'
import { failureReply } from './failure-reply.ts'
import type { Ids } from './ids.ts'
import { relayedMessage, resultMessage } from './wire-message.ts'

export interface MethodsOptions {
  readonly catalog: Catalog
  readonly listings: Listings
  readonly pipeline: Pipeline
  readonly hub: ChangeHub
  readonly ids: Ids
  readonly version: string
  /** Resolves when the servers that are not known yet have had their chance; undefined when there are none. */
  readonly untilKnown: () => Promise<void> | undefined
}

type Handler = (request: ClientRequest) => Reply | Promise<Reply>

interface Method {
  readonly eras: readonly Era[]
  readonly handle: Handler
}

const BOTH: readonly Era[] = ['legacy', 'modern']
const LEGACY: readonly Era[] = ['legacy']
const MODERN: readonly Era[] = ['modern']

const CAPABILITIES: JsonObject = {
  tools: { listChanged: true },
  resources: { listChanged: true, subscribe: true },
  prompts: { listChanged: true },
  completions: {},
}

/** Every method of the protocol that we answer, in both eras, whatever the transport. */
export class Methods {
  readonly #options: MethodsOptions
  readonly #methods: ReadonlyMap<string, Method>

  constructor(options: MethodsOptions) {
    this.#options = options
    this.#methods = new Map<string, Method>([
      ['ping', { eras: LEGACY, handle: (request) => ok(request, {}) }],
      ['server/discover', { eras: MODERN, handle: (request) => ok(request, this.#discovery(request.principal)) }],
      ['tools/list', { eras: BOTH, handle: (request) => this.#list(request, 'tools/list') }],
      ['prompts/list', { eras: BOTH, handle: (request) => this.#list(request, 'prompts/list') }],
      ['resources/list', { eras: BOTH, handle: (request) => this.#list(request, 'resources/list') }],
      [
        'resources/templates/list',
        { eras: BOTH, handle: (request) => this.#list(request, 'resources/templates/list') },
      ],
      ['tools/call', { eras: BOTH, handle: (request) => this.#named(request, 'tool') }],
      ['prompts/get', { eras: BOTH, handle: (request) => this.#named(request, 'prompt') }],
      ['resources/read', { eras: BOTH, handle: (request) => this.#resource(request) }],
      ['resources/subscribe', { eras: LEGACY, handle: (request) => this.#subscribe(request) }],
      ['resources/unsubscribe', { eras: LEGACY, handle: (request) => this.#unsubscribe(request) }],
      ['completion/complete', { eras: BOTH, handle: (request) => this.#complete(request) }],
      ['subscriptions/listen', { eras: MODERN, handle: (request) => this.#listen(request) }],
    ])
  }

  /** Never rejects: what goes wrong is an answer too. */
  async answer(request: ClientRequest): Promise<Reply> {
    try {
      const method = this.#methods.get(request.method)
      if (!method?.eras.includes(request.era)) throw unknownMethod(request, this.#methods.keys())
      return await method.handle(request)
    } catch (error) {
      if (error instanceof SallyportError) return failureReply(request, error)
      const incident = this.#options.ids.callId()
      process.stderr.write(
        `sallyport: incident ${incident} in ${request.method}: ${error instanceof Error ? error.stack : String(error)}\n`,
      )
      return failureReply(
        request,
        new SallyportError('INTERNAL', `Something broke inside the gateway (incident ${incident}).`),
      )
    }
  }

  initializeResult(principal: Principal, wanted: unknown): JsonObject {
    const protocolVersion =
      typeof wanted === 'string' && LEGACY_VERSIONS.includes(wanted) ? wanted : LATEST_LEGACY_VERSION
    return { protocolVersion, ...this.#introduction(principal) }
  }

  #introduction(principal: Principal): JsonObject {
    const { catalog, listings, version } = this.#options
    const instructions = catalog.snapshot.instructions(listings.servers(principal))
    const serverInfo = { name: 'sallyport', title: 'Sallyport', version }
    return { capabilities: CAPABILITIES, serverInfo, ...(instructions !== undefined && { instructions }) }
  }

  #discovery(principal: Principal): JsonObject {
    return {
      resultType: 'complete',
      ttlMs: 0,
      cacheScope: 'private',
      supportedVersions: [MODERN_VERSION],
      ...this.#introduction(principal),
    }
  }

  async #list(request: ClientRequest, method: ListMethod): Promise<Reply> {
    if (request.params.cursor !== undefined)
      throw new SallyportError('INVALID_PARAMS', 'Unknown cursor: this list comes in one page.')
    await this.#options.untilKnown()
    return {
      message: resultMessage(request.id, this.#options.listings.prepared(method, request.principal, request.era)),
      status: 200,
    }
  }

  async #named(request: ClientRequest, kind: 'tool' | 'prompt'): Promise<Reply> {
    const name = request.params.name
    if (typeof name !== 'string') throw new SallyportError('INVALID_PARAMS', 'The member "name" must be a text.')
    const { arguments: args } = request.params
    if (args !== undefined && !isJsonObject(args))
      throw new SallyportError('INVALID_PARAMS', 'The member "arguments" must be an object.')
    const offer = (await this.#find((snapshot) => snapshot[kind](name))) ?? this.#unknown(kind, name, request)
    return this.#run(request, offer, { ...request.params, name: offer.name })
  }

  async #resource(request: ClientRequest): Promise<Reply> {
    const offer = await this.#resourceOffer(request.params.uri)
    return this.#run(request, offer, request.params)
  }

  async #resourceOffer(uri: unknown): Promise<Offer> {
    if (typeof uri !== 'string') throw new SallyportError('INVALID_PARAMS', 'The member "uri" must be a text.')
    const offer = await this.#find((snapshot) => snapshot.resource(uri))
    if (!offer)
      throw new SallyportError(
        'RESOURCE_UNKNOWN',
        `No server offers the resource ${JSON.stringify(uri.slice(0, 200))}.`,
      )
    return offer
  }

  /** Looks again once the servers that were still unknown have had their chance. */
  async #find(look: (snapshot: Catalog['snapshot']) => Offer | undefined): Promise<Offer | undefined> {
    const found = look(this.#options.catalog.snapshot)
    const waiting = found ? undefined : this.#options.untilKnown()
    if (!waiting) return found
    await waiting
    return look(this.#options.catalog.snapshot)
  }

  async #subscribe(request: ClientRequest): Promise<Reply> {
    const offer = await this.#resourceOffer(request.params.uri)
    const reply = await this.#run(request, offer, request.params)
    request.subscriptions?.add(offer.name)
    return reply
  }

  async #unsubscribe(request: ClientRequest): Promise<Reply> {
    const offer = await this.#resourceOffer(request.params.uri)
    request.subscriptions?.delete(offer.name)
    // Others may still listen to it: what the server goes on sending reaches only them.
    return ok(request, {})
  }

  async #complete(request: ClientRequest): Promise<Reply> {
    const ref = isJsonObject(request.params.ref) ? request.params.ref : {}
    const { snapshot } = this.#options.catalog
    if (ref.type === 'ref/prompt' && typeof ref.name === 'string') {
      const offer = snapshot.prompt(ref.name) ?? this.#unknown('prompt', ref.name, request)
      return this.#run(request, offer, { ...request.params, ref: { ...ref, name: offer.name } })
    }
    if (ref.type === 'ref/resource' && typeof ref.uri === 'string') {
      return this.#run(request, snapshot.template(ref.uri) ?? (await this.#resourceOffer(ref.uri)), request.params)
    }
    throw new SallyportError('INVALID_PARAMS', 'The member "ref" must name a prompt or a resource.')
  }

  async #run(request: ClientRequest, offer: Offer, params: JsonObject): Promise<Reply> {
    const answer = await this.#options.pipeline.run(this.#callOf(request, offer, params))
    if (answer.kind === 'failure') return failureReply(request, answer.error)
    const relay = { id: request.id, method: request.method, from: answer.era, to: request.era }
    return { message: relayedMessage(answer.frame, relay), status: 200 }
  }

  #callOf(request: ClientRequest, offer: Offer, params: JsonObject): Call {
    const meta = isJsonObject(params._meta) ? params._meta : {}
    const token = meta.progressToken
    const { ids } = this.#options
    return {
      id: ids.callId(),
      traceId: traceIdOf(meta.traceparent) ?? traceIdOf(request.traceparent) ?? ids.traceId(),
      principal: request.principal,
      method: request.method,
      offer,
      params,
      cancellation: request.cancellation,
      onProgress:
        token === undefined
          ? undefined
          : (progress) =>
              request.notify({ method: 'notifications/progress', params: { ...progress, progressToken: token } }),
    }
  }

  /** Stays open until the client no longer listens. */
  #listen(request: ClientRequest): Promise<Reply> {
    const wanted = isJsonObject(request.params.notifications) ? request.params.notifications : {}
    const uris = new Set(Array.isArray(wanted.resourceSubscriptions) ? wanted.resourceSubscriptions : [])
    const _meta = { [META.subscriptionId]: request.id }
    const tell = (notification: JsonObject): void =>
      request.notify({
        ...notification,
        params: { ...(isJsonObject(notification.params) && notification.params), _meta },
      })
    const wants = {
      tools: wanted.toolsListChanged === true,
      prompts: wanted.promptsListChanged === true,
      resources: wanted.resourcesListChanged === true,
    }
    tell({ method: 'notifications/subscriptions/acknowledged', params: { notifications: acknowledged(wants, uris) } })
    const remove = this.#options.hub.add({ wants, wantsResource: (uri) => uris.has(uri), tell })
    return new Promise((resolve) => {
      request.cancellation.onCancel(() => {
        remove()
        resolve(ok(request, { resultType: 'complete', _meta }))
      })
    })
  }

  #unknown(kind: 'tool' | 'prompt', name: string, { method, principal, traceparent }: ClientRequest): never {
    const { ids, listings, pipeline } = this.#options
    const known = listings.offers(kind === 'tool' ? 'tools/list' : 'prompts/list', principal).map((offer) => offer.wire)
    const shown = name.slice(0, 200)
    const code = kind === 'tool' ? 'TOOL_UNKNOWN' : 'PROMPT_UNKNOWN'
    const error = new SallyportError(code, `Unknown ${kind} ${JSON.stringify(shown)}.${didYouMean(shown, known)}`)
    const traceId = traceIdOf(traceparent) ?? ids.traceId()
    pipeline.recordUnknown({ id: ids.callId(), traceId, principal, method, name }, error)
    throw error
  }
}

function ok(request: ClientRequest, result: JsonObject): Reply {
  return { message: resultMessage(request.id, result), status: 200 }
}

function acknowledged(
  wants: { tools: boolean; prompts: boolean; resources: boolean },
  uris: ReadonlySet<unknown>,
): JsonObject {
  return {
    ...(wants.tools && { toolsListChanged: true }),
    ...(wants.prompts && { promptsListChanged: true }),
    ...(wants.resources && { resourcesListChanged: true }),
    ...(uris.size > 0 && { resourceSubscriptions: [...uris] as string[] }),
  }
}

function unknownMethod(request: ClientRequest, known: Iterable<string>): SallyportError {
  return new SallyportError(
    'METHOD_UNKNOWN',
    `Method not found: ${JSON.stringify(request.method)}.${didYouMean(request.method, known)}`,
  )
}
