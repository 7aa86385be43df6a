import { isJsonObject, type Json, type JsonObject, META, SallyportError } from '@sallyport/core'
import type { ChangeHub } from './change-hub.ts'
import type { ClientRequest, Reply } from './client-request.ts'
import { resultMessage } from './wire-message.ts'

export interface SubscriptionsOptions {
  readonly hub: ChangeHub
  readonly maxListeners: () => number
  /** Puts a request for a resource through the pipeline; the reply tells whether it was granted. */
  readonly ask: (request: ClientRequest) => Promise<Reply>
}

const MAX_RESOURCES = 1_000

/** Who hears of what: legacy clients subscribe to resources, modern ones listen on a stream. */
export class Subscriptions {
  readonly #options: SubscriptionsOptions
  /** Also those whose resources are still being asked for. Legacy sessions have a limit of their own. */
  #listeners = 0

  constructor(options: SubscriptionsOptions) {
    this.#options = options
  }

  async subscribe(request: ClientRequest): Promise<Reply> {
    const wanted = request.subscriptions
    if (wanted && wanted.size >= MAX_RESOURCES)
      throw new SallyportError(
        'OVERLOADED',
        `This session subscribes to ${MAX_RESOURCES} resources, which is the limit.`,
      )
    const reply = await this.#options.ask(request)
    if (reply.granted) wanted?.add(String(request.params.uri))
    return reply
  }

  /** Others may still listen to it: what the server goes on sending reaches only them. */
  async unsubscribe(request: ClientRequest): Promise<Reply> {
    request.subscriptions?.delete(String(request.params.uri))
    return { message: resultMessage(request.id, {}), status: 200 }
  }

  /** Stays open until the client no longer listens. Only what it may hear of is acknowledged. */
  async listen(request: ClientRequest): Promise<Reply> {
    if (this.#listeners >= this.#options.maxListeners())
      throw new SallyportError(
        'OVERLOADED',
        `${this.#listeners} clients listen for changes, which is the limit (gateway.max_sessions).`,
      )
    this.#listeners++
    try {
      return await this.#listenUntilCancelled(request)
    } finally {
      this.#listeners--
    }
  }

  async #listenUntilCancelled(request: ClientRequest): Promise<Reply> {
    const wanted = isJsonObject(request.params.notifications) ? request.params.notifications : {}
    const uris = await this.#granted(request, wanted.resourceSubscriptions)
    const _meta = { [META.subscriptionId]: request.id }
    const tell = ({ method, params }: JsonObject): void => {
      request.client.notify({ method, params: { ...(isJsonObject(params) && params), _meta } })
    }
    const wants = familiesIn(wanted)
    tell({ method: 'notifications/subscriptions/acknowledged', params: { notifications: acknowledged(wants, uris) } })
    const remove = this.#options.hub.add({ wants, wantsResource: (uri) => uris.has(uri), tell })
    return new Promise((resolve) => {
      request.cancellation.onCancel(() => {
        remove()
        resolve({ message: resultMessage(request.id, { resultType: 'complete', _meta }), status: 200 })
      })
    })
  }

  /** Each resource is asked for like any other: it is decided and recorded, and its server is told. */
  async #granted(request: ClientRequest, wanted: Json | undefined): Promise<ReadonlySet<string>> {
    const uris = (Array.isArray(wanted) ? wanted : []).filter((uri): uri is string => typeof uri === 'string')
    if (uris.length > MAX_RESOURCES)
      throw new SallyportError('INVALID_PARAMS', `At most ${MAX_RESOURCES} resources can be listened to at once.`)
    const granted = new Set<string>()
    for (const uri of new Set(uris)) {
      const { progressToken: _none, ...meta } = isJsonObject(request.params._meta) ? request.params._meta : {}
      const asked = { ...request, method: 'resources/subscribe', params: { uri, _meta: meta } }
      const reply = await this.#options.ask(asked).catch(unlessBug)
      if (reply?.granted) granted.add(uri)
    }
    return granted
  }
}

function unlessBug(error: unknown): undefined {
  if (!(error instanceof SallyportError)) throw error
}

interface Families {
  readonly tools: boolean
  readonly prompts: boolean
  readonly resources: boolean
}

function familiesIn(wanted: JsonObject): Families {
  return {
    tools: wanted.toolsListChanged === true,
    prompts: wanted.promptsListChanged === true,
    resources: wanted.resourcesListChanged === true,
  }
}

function acknowledged(wants: Families, uris: ReadonlySet<string>): JsonObject {
  return {
    ...(wants.tools && { toolsListChanged: true }),
    ...(wants.prompts && { promptsListChanged: true }),
    ...(wants.resources && { resourcesListChanged: true }),
    ...(uris.size > 0 && { resourceSubscriptions: [...uris] }),
  }
}
