import {
  didYouMean,
  type Era,
  isJsonObject,
  isLogLevel,
  type JsonObject,
  LATEST_LEGACY_VERSION,
  LEGACY_VERSIONS,
  LOG_LEVELS,
  META,
  MODERN_VERSION,
  type Principal,
  SallyportError,
  toOwnerKey,
} from '@sallyport/core'
import { type Catalog, isResourceAddress, MODERN_TASKS, type Offer, toResourceAddress } from '../../catalog/catalog.ts'
import type { Listings, ListMethod, OwnListsByServer, Pipeline } from '../../pipeline/pipeline.ts'
import { type AbsentServer, isListed, type ListReader, type OwnLists } from '../../upstream/upstream.ts'
import { LegacyClient } from '../legacy/legacy-client.ts'
import type { ChangeHub } from './change-hub.ts'
import { ClientCalls } from './client-calls.ts'
import type { ClientRequest, Reply } from './client-request.ts'
import { failureReply } from './failure-reply.ts'
import type { Ids } from './ids.ts'
import { checkParamHeaders } from './param-headers.ts'
import { type ServerUpdate, Subscriptions } from './subscriptions.ts'
import { toRefusal } from './to-refusal.ts'
import { preserializedMessage, resultMessage } from './wire-message.ts'

export interface MethodsOptions {
  readonly catalog: Catalog
  readonly listings: Listings
  readonly pipeline: Pipeline
  readonly hub: ChangeHub
  readonly ids: Ids
  readonly version: string
  /** How many clients may listen for changes at the same time. */
  readonly maxListeners: () => number
  /** Logs a bug once and returns the incident id for the answer. */
  readonly onBug: (error: unknown, where: string) => string
  /** Waits for the servers that are not known yet, for a limited time; `undefined` if all are known. */
  readonly waitForServers: () => Promise<void> | undefined
  /** What clients in legacy conversations see of servers to which they have connections of their own. */
  readonly ownLists: OwnListSources
  /** The server that a name refers to, if that server is not available. */
  readonly findAbsentServer: (name: string) => AbsentServer | undefined
  /** A server that is still starting and may offer anything. */
  readonly findStartingServer: () => AbsentServer | undefined
}

export interface OwnListSources {
  /** How the lists of one server differ for this client, if they do. */
  readonly ofServer: (server: string, reader: ListReader) => OwnLists | undefined
  /** The same for all servers; `undefined` if none differs. */
  readonly ofAll: (reader: ListReader) => OwnListsByServer | undefined
  /** Resolves when they are known; `undefined` if they are. */
  readonly prepare: (reader: ListReader) => Promise<void> | undefined
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
  logging: {},
}

/** Every supported method of the protocol, in both eras, for any transport. */
export class Methods {
  readonly #options: MethodsOptions
  readonly #subscriptions: Subscriptions
  readonly #calls: ClientCalls
  readonly #methods: ReadonlyMap<string, Method>

  constructor(options: MethodsOptions) {
    this.#options = options
    this.#calls = new ClientCalls({ ...options, serverInfo: serverInfo(options.version) })
    this.#subscriptions = new Subscriptions({
      hub: options.hub,
      maxListeners: options.maxListeners,
      ask: (request) => this.#callResource(request),
      checkUpdate: (request, update) => this.#checkUpdate(request, update),
      onBug: options.onBug,
    })
    this.#methods = new Map<string, Method>([
      ['ping', { eras: LEGACY, handle: (request) => ok(request, {}) }],
      [
        'server/discover',
        {
          eras: MODERN,
          handle: (request) => this.#whenServersKnown(() => ok(request, this.#discovery(request.principal))),
        },
      ],
      ['tools/list', { eras: BOTH, handle: (request) => this.#list(request, 'tools/list') }],
      ['prompts/list', { eras: BOTH, handle: (request) => this.#list(request, 'prompts/list') }],
      ['resources/list', { eras: BOTH, handle: (request) => this.#list(request, 'resources/list') }],
      [
        'resources/templates/list',
        { eras: BOTH, handle: (request) => this.#list(request, 'resources/templates/list') },
      ],
      ['tools/call', { eras: BOTH, handle: (request) => this.#callByName(request, 'tool') }],
      ['prompts/get', { eras: BOTH, handle: (request) => this.#callByName(request, 'prompt') }],
      ['resources/read', { eras: BOTH, handle: (request) => this.#callResource(request) }],
      ['resources/subscribe', { eras: LEGACY, handle: (request) => this.#subscriptions.subscribe(request) }],
      ['resources/unsubscribe', { eras: LEGACY, handle: (request) => this.#subscriptions.unsubscribe(request) }],
      ['logging/setLevel', { eras: LEGACY, handle: (request) => setLogLevel(request) }],
      ['completion/complete', { eras: BOTH, handle: (request) => this.#complete(request) }],
      ['tasks/get', { eras: BOTH, handle: (request) => this.#task(request) }],
      ['tasks/cancel', { eras: BOTH, handle: (request) => this.#task(request) }],
      ['tasks/update', { eras: MODERN, handle: (request) => this.#task(request) }],
      ['tasks/result', { eras: LEGACY, handle: (request) => this.#task(request) }],
      ['subscriptions/listen', { eras: MODERN, handle: (request) => this.#subscriptions.listen(request) }],
    ])
  }

  close(): void {
    this.#subscriptions.close()
  }

  /** Never rejects: an error becomes an answer, too. */
  answer(request: ClientRequest): Reply | Promise<Reply> {
    try {
      const method = this.#methods.get(request.method)
      if (!method?.eras.includes(request.era)) throw unknownMethod(request, this.#methods.keys())
      const reply = method.handle(request)
      return reply instanceof Promise ? reply.catch((error: unknown) => this.#failed(request, error)) : reply
    } catch (error) {
      return this.#failed(request, error)
    }
  }

  #failed(request: ClientRequest, error: unknown): Reply {
    const refusal = toRefusal(error, (bug) => this.#options.onBug(bug, request.method))
    return failureReply(request, refusal)
  }

  /** Waits for servers that are not known yet: clients read the instructions of the servers only once. */
  initializeResult(principal: Principal, wanted: unknown): JsonObject | Promise<JsonObject> {
    const protocolVersion =
      typeof wanted === 'string' && LEGACY_VERSIONS.includes(wanted) ? wanted : LATEST_LEGACY_VERSION
    return this.#whenServersKnown(() => ({ protocolVersion, ...this.#introduction(principal, 'legacy') }))
  }

  #whenServersKnown<T>(make: () => T | Promise<T>): T | Promise<T> {
    return this.#options.waitForServers()?.then(make) ?? make()
  }

  #introduction(principal: Principal, era: Era): JsonObject {
    const { catalog, listings, version } = this.#options
    const servers = listings.servers(principal)
    const instructions = listings.instructions(principal)
    const capabilities = { ...CAPABILITIES, ...catalog.snapshot.extensions(servers, era) }
    return { capabilities, serverInfo: serverInfo(version), ...(instructions !== undefined && { instructions }) }
  }

  #discovery(principal: Principal): JsonObject {
    const introduction = this.#introduction(principal, 'modern')
    return {
      resultType: 'complete',
      ttlMs: 0,
      cacheScope: 'private',
      supportedVersions: [MODERN_VERSION],
      ...introduction,
      // The specification wants it here; the first clients of this era read it at the top level.
      _meta: { [META.serverInfo]: introduction.serverInfo ?? {} },
    }
  }

  #list(request: ClientRequest, method: ListMethod): Reply | Promise<Reply> {
    if (request.params.cursor !== undefined)
      throw new SallyportError('INVALID_PARAMS', 'Unknown cursor: this list has only one page.')
    const { principal, era } = request
    const { ownLists, listings } = this.#options
    const print = (): Reply => {
      const own = era === 'legacy' ? ownLists.ofAll(toReader(request)) : undefined
      const printed = listings.renderList(method, principal, { era, own })
      return { message: preserializedMessage(request.id, printed), status: 200 }
    }
    if (era === 'modern') return this.#whenServersKnown(print)
    return this.#whenServersKnown(() => ownLists.prepare(toReader(request))?.then(print) ?? print())
  }

  /** A modern client, which has no conversation, sees what all share. */
  #isListedFor(request: ClientRequest, offer: Offer): boolean {
    if (request.era === 'modern') return !offer.isRevealed
    const own = this.#options.ownLists.ofServer(offer.server, toReader(request))
    const { kind } = offer
    return kind in LISTS_OF_KINDS && isListed(own, LISTS_OF_KINDS[kind as keyof typeof LISTS_OF_KINDS], offer)
  }

  #findNamed(snapshot: Catalog['snapshot'], kind: 'tool' | 'prompt', request: NamedRequest): Offer | undefined {
    const { name } = request
    const common = snapshot[kind](name)
    if (common) return this.#isListedFor(request.request, common) ? common : undefined
    const revealed = snapshot.revealed[LISTS_OF_KINDS[kind]].find(({ wire }) => wire === name)
    return revealed && this.#isListedFor(request.request, revealed) ? revealed : undefined
  }

  /** What everybody sees has precedence, apart from the last resort: the only server with resources. */
  #findUri(snapshot: Catalog['snapshot'], uri: string, request: ClientRequest): Offer | undefined {
    const common = snapshot.resource(uri)
    if (common && (!common.isUnlisted || common.through)) return common
    return snapshot.revealedResource(uri, (offer) => this.#isListedFor(request, offer)) ?? common
  }

  #callByName(request: ClientRequest, kind: 'tool' | 'prompt'): Promise<Reply> {
    const name = request.params.name
    if (typeof name !== 'string') throw new SallyportError('INVALID_PARAMS', '"name" must be a string.')
    const { arguments: args } = request.params
    if (args !== undefined && !isJsonObject(args))
      throw new SallyportError('INVALID_PARAMS', '"arguments" must be an object.')
    const offer = this.#findNamed(this.#options.catalog.snapshot, kind, { name, request })
    return offer ? this.#callOffer(request, offer) : this.#callOnceKnown(request, kind, name)
  }

  /** Its server may be one that is not known yet. */
  async #callOnceKnown(request: ClientRequest, kind: 'tool' | 'prompt', name: string): Promise<Reply> {
    const offer =
      (await this.#find((snapshot) => this.#findNamed(snapshot, kind, { name, request }))) ??
      this.#throwUnknownName(kind, name, request)
    return this.#callOffer(request, offer)
  }

  #callOffer(request: ClientRequest, offer: Offer): Promise<Reply> {
    const { params, era, carrier } = request
    const problem = era === 'modern' && carrier && checkParamHeaders(offer, params, carrier)
    if (problem) throw problem
    return this.#calls.run(request, offer, params.name === offer.name ? params : { ...params, name: offer.name })
  }

  #task(request: ClientRequest): Reply | Promise<Reply> {
    const { taskId } = request.params
    if (typeof taskId !== 'string') throw new SallyportError('INVALID_PARAMS', '"taskId" must be a string.')
    return this.#calls.runForTask(request, taskId) ?? taskRefusal(request, taskId)
  }

  async #callResource(request: ClientRequest): Promise<Reply> {
    const { params, subscription } = request
    const offer = await this.#findResource(params.uri, request)
    if (subscription) subscription.serverUri = offer.name
    return this.#calls.run(request, offer, params.uri === offer.name ? params : { ...params, uri: offer.name })
  }

  #checkUpdate(request: ClientRequest, update: JsonObject): ServerUpdate | undefined {
    const { principal, params } = request
    const { catalog, pipeline } = this.#options
    const offer = this.#findUri(catalog.snapshot, String(params.uri), request)
    // The first check is about the subscription itself, and `params` are those of the client.
    const own = offer && (update === params ? { ...update, uri: offer.name } : update)
    const permitted = own && pipeline.updates.check({ principal, offer }, own)
    return permitted && { ...permitted, params: withClientUri(permitted.params, request, offer), server: offer.server }
  }

  async #findResource(uri: unknown, request: ClientRequest): Promise<Offer> {
    if (typeof uri !== 'string') throw new SallyportError('INVALID_PARAMS', '"uri" must be a string.')
    const offer = await this.#find((snapshot) => this.#findUri(snapshot, uri, request))
    if (offer) return offer
    const starting = this.#options.findStartingServer()
    if (starting && this.#options.listings.includesServer(request.principal, starting.server))
      throw this.#recordUnknown(request, uri, starting.refusal)
    const message = `No server offers the resource ${JSON.stringify(uri.slice(0, 200))}.`
    throw this.#recordUnknown(request, uri, new SallyportError('RESOURCE_UNKNOWN', message))
  }

  /** Searches, and if nothing is found, waits for servers that are not known yet and searches once more. */
  async #find(search: (snapshot: Catalog['snapshot']) => Offer | undefined): Promise<Offer | undefined> {
    const found = search(this.#options.catalog.snapshot)
    const waiting = found ? undefined : this.#options.waitForServers()
    if (!waiting) return found
    await waiting
    return search(this.#options.catalog.snapshot)
  }

  async #complete(request: ClientRequest): Promise<Reply> {
    const ref = isJsonObject(request.params.ref) ? request.params.ref : {}
    if (ref.type === 'ref/prompt' && typeof ref.name === 'string') {
      const named = { name: ref.name, request }
      const offer =
        (await this.#find((snapshot) => this.#findNamed(snapshot, 'prompt', named))) ??
        this.#throwUnknownName('prompt', ref.name, request)
      return this.#calls.run(request, offer, { ...request.params, ref: { ...ref, name: offer.name } })
    }
    if (ref.type === 'ref/resource' && typeof ref.uri === 'string') {
      const offer =
        this.#options.catalog.snapshot.template(ref.uri, (known) => this.#isListedFor(request, known)) ??
        (await this.#findResource(ref.uri, request))
      const params = ref.uri === offer.name ? request.params : { ...request.params, ref: { ...ref, uri: offer.name } }
      return this.#calls.run(request, offer, params)
    }
    throw new SallyportError('INVALID_PARAMS', '"ref" must name a prompt or a resource.')
  }

  #throwUnknownName(kind: 'tool' | 'prompt', name: string, request: ClientRequest): never {
    const { listings, findAbsentServer } = this.#options
    const absence = findAbsentServer(name)
    // A caller that may not use a server must not learn about it.
    if (absence && listings.includesServer(request.principal, absence.server))
      throw this.#recordUnknown(request, name, absence.refusal)
    const method = kind === 'tool' ? 'tools/list' : 'prompts/list'
    const known = listings.offers(method, request.principal).map((offer) => offer.wire)
    const shown = name.slice(0, 200)
    const message = `Unknown ${kind} ${JSON.stringify(shown)}.${didYouMean(shown, known)}`
    throw this.#recordUnknown(
      request,
      name,
      new SallyportError(kind === 'tool' ? 'TOOL_UNKNOWN' : 'PROMPT_UNKNOWN', message),
    )
  }

  #recordUnknown(request: ClientRequest, name: string, error: SallyportError): SallyportError {
    const { principal, method } = request
    const unknownCall = {
      id: this.#options.ids.callId(),
      traceId: this.#calls.resolveTraceId(request),
      principal,
      method,
      name,
    }
    this.#options.pipeline.recordUnknown(unknownCall, error)
    return error
  }
}

interface NamedRequest {
  readonly name: string
  readonly request: ClientRequest
}

const LISTS_OF_KINDS = {
  tool: 'tools',
  prompt: 'prompts',
  resource: 'resources',
  template: 'resourceTemplates',
} as const

/** An update names the resource as its server does. A client that used an address of ours gets such an address. */
function withClientUri(update: JsonObject, { params }: ClientRequest, { server }: Offer): JsonObject {
  if (typeof update.uri !== 'string' || !isResourceAddress(String(params.uri))) return update
  return { ...update, uri: toResourceAddress(server, update.uri) }
}

const toReader = ({ principal, client }: ClientRequest): ListReader => ({ session: toOwnerKey(principal), client })

const serverInfo = (version: string): JsonObject => ({ name: 'sallyport', title: 'Sallyport', version })

function setLogLevel(request: ClientRequest): Reply {
  const { level } = request.params
  if (!isLogLevel(level)) throw new SallyportError('INVALID_PARAMS', `"level" must be one of ${LOG_LEVELS.join(', ')}.`)
  const client = request.client.standing
  if (client instanceof LegacyClient) client.logLevel = level
  return ok(request, {})
}

function ok(request: ClientRequest, result: JsonObject): Reply {
  return { message: resultMessage(request.id, result), status: 200 }
}

function unknownMethod(request: ClientRequest, known: Iterable<string>): SallyportError {
  return new SallyportError(
    'METHOD_UNKNOWN',
    `Method not found: ${JSON.stringify(request.method)}.${didYouMean(request.method, known)}`,
  )
}

/** The answer for a task that does not exist or belongs to another caller. */
function taskRefusal(request: ClientRequest, taskId: string): Reply {
  if (request.era === 'modern' && !supportsTasks(request.client)) {
    const requiredCapabilities = { extensions: { [MODERN_TASKS]: {} } }
    return failureReply(request, tasksUndeclared(), { data: { requiredCapabilities } })
  }
  const unknown = new SallyportError('INVALID_PARAMS', `There is no task ${JSON.stringify(taskId.slice(0, 200))}.`, {
    hint: 'Only the caller that created it can use it, and only until the gateway stops. Call the tool again.',
  })
  return failureReply(request, unknown)
}

const tasksUndeclared = (): SallyportError =>
  new SallyportError('CAPABILITY_MISSING', 'The client does not declare support for tasks.', {
    hint: `It has to declare ${MODERN_TASKS} in the extensions of its capabilities.`,
  })

const supportsTasks = ({ capabilities: { extensions } }: ClientRequest['client']): boolean =>
  isJsonObject(extensions) && extensions[MODERN_TASKS] !== undefined
