import {
  type Era,
  formatDuration,
  isJsonObject,
  type JsonObject,
  META,
  MODERN_VERSION,
  SallyportError,
} from '@sallyport/core'
import type { Client } from './client.ts'
import { Exchange, type LinkRequest } from './exchange.ts'
import { wantsToHear } from './log-level.ts'
import { type Addressee, Questions } from './questions.ts'
import { createRequestIds } from './request-ids.ts'
import type { Frame, Transport } from './transport.ts'

export type { LinkRequest } from './exchange.ts'

/** As whom we speak to a server. */
export interface Speaker {
  readonly clientInfo: JsonObject
  readonly capabilities: JsonObject
  /** The one client for whom the connection is there, where it can be reached outside of calls. */
  readonly client?: Client | undefined
  /** All calls over it are one client's. */
  readonly isOneClient?: boolean
}

export interface LinkEvents {
  onNotification(notification: JsonObject): void
  /** The server asked something of its client. */
  onAsked(): void
  onTrouble(text: string): void
  onClose(reason: string): void
}

/** What a message with a method may weigh: it has to be parsed, unlike an answer. */
const MAX_METHOD_BYTES = 4_000_000

/**
 * What a modern request says of its sender. A legacy server was told in the handshake; one that knows both eras would
 * take a request that carries these for a modern one.
 */
const MODERN_ENVELOPE = [META.protocolVersion, META.clientInfo, META.clientCapabilities, META.logLevel]

const CHANGES = /^notifications\/((tools|prompts|resources)\/list_changed|resources\/updated|subscriptions\/.*)$/

/** Many requests over one transport, each with exactly one outcome. */
export class Link {
  readonly #transport: Transport
  readonly #events: LinkEvents
  readonly #nextId = createRequestIds()
  readonly #exchanges = new Map<number, Exchange>()
  readonly #questions: Questions
  readonly #speaker: Speaker
  #era: Era = 'legacy'
  #closedBecause: string | undefined

  constructor(transport: Transport, events: LinkEvents, speaker: Speaker) {
    this.#transport = transport
    this.#events = events
    this.#speaker = speaker
    this.#questions = new Questions((text) => this.#transport.send(text))
  }

  get speaker(): Speaker {
    return this.#speaker
  }

  /** Requests that somebody waits for; listening for changes is not one. */
  get inFlight(): number {
    let count = 0
    for (const { request } of this.#exchanges.values()) if (request.method !== 'subscriptions/listen') count++
    return count
  }

  /** Why nothing can be asked over it any more. */
  get closedBecause(): string | undefined {
    return this.#closedBecause
  }

  open(): Promise<void> {
    return this.#transport.open({
      onFrame: (frame, during) => this.#receive(frame, during),
      onFailure: (id, error) => this.#settle(id)?.reject(error),
      onTrouble: (text) => this.#events.onTrouble(text),
      onClose: (reason) => this.#closed(reason),
    })
  }

  /** From now on requests are written as this era wants them. */
  agree(era: Era, protocolVersion: string): void {
    this.#era = era
    this.#transport.agreed(protocolVersion)
  }

  /** What was cancelled before it could be sent is not sent: the server might carry it out all the same. */
  request(request: LinkRequest): Promise<Frame> {
    if (this.#closedBecause !== undefined) return Promise.reject(gone(this.#closedBecause))
    const cancelled = request.cancellation?.reason
    if (cancelled !== undefined) return Promise.reject(cancellationOf(cancelled))
    return new Promise((resolve, reject) => {
      const id = this.#freshId()
      const text = this.#write(id, request)
      const onLate = (limit: number): void => this.#timedOut(id, limit)
      this.#exchanges.set(id, new Exchange(request, { resolve, reject, onLate }))
      const { method, name, headers } = request
      this.#transport.request({ id, method, name, headers, text })
      request.cancellation?.onCancel((reason) => this.#cancel(id, reason))
    })
  }

  notify(method: string, params?: JsonObject): void {
    this.#transport.send(JSON.stringify({ jsonrpc: '2.0', method, ...(params && { params }) }))
  }

  /** Whoever waits for an answer is told at once, not when the last process is gone. */
  close(): Promise<void> {
    this.#closed('the gateway closed the connection')
    return this.#transport.close()
  }

  #freshId(): number {
    let id = this.#nextId()
    while (this.#exchanges.has(id)) id = this.#nextId()
    return id
  }

  #write(id: number, { method, params, client, onProgress, trace }: LinkRequest): string {
    const { progressToken: _theirs, ...meta } = isJsonObject(params._meta) ? params._meta : {}
    const ours: Record<string, unknown> = meta
    if (this.#era === 'modern' || method === 'server/discover') {
      ours[META.protocolVersion] = MODERN_VERSION
      ours[META.clientInfo] ??= client?.clientInfo ?? this.#speaker.clientInfo
      ours[META.clientCapabilities] ??= client?.capabilities ?? {}
      if (client?.logLevel !== undefined) ours[META.logLevel] ??= client.logLevel
      if (trace) Object.assign(ours, trace)
    } else for (const key of MODERN_ENVELOPE) delete ours[key]
    if (onProgress) ours.progressToken = id
    const body = Object.keys(ours).length > 0 ? { ...params, _meta: ours } : withoutMeta(params)
    return `{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(method)},"params":${JSON.stringify(body)}}`
  }

  #receive(frame: Frame, during: number | undefined): void {
    const { envelope } = frame
    if (envelope.hasMethod) return this.#message(frame, during)
    if (envelope.numericId === undefined) return this.#events.onTrouble('an answer without a usable id')
    const exchange = this.#settle(envelope.numericId)
    if (!exchange) return this.#events.onTrouble(`an answer to no open request (id ${envelope.numericId})`)
    if ((envelope.result === undefined) === (envelope.error === undefined)) {
      exchange.reject(
        new SallyportError('UPSTREAM_PROTOCOL', 'The server answered with neither or both of a result and an error.'),
      )
      return
    }
    exchange.resolve(frame)
  }

  #message(frame: Frame, during: number | undefined): void {
    if (frame.envelope.bytes > MAX_METHOD_BYTES)
      return this.#events.onTrouble(`a notification of ${frame.envelope.bytes} bytes`)
    const message: unknown = JSON.parse(Buffer.concat(frame.parts).toString('utf8'))
    if (!isJsonObject(message) || typeof message.method !== 'string')
      return this.#events.onTrouble('a message without a method')
    if (message.id !== undefined) return this.#asked(message, during)
    if (message.method === 'notifications/progress') return this.#progress(message)
    if (message.method === 'notifications/cancelled') return this.#takenBack(message)
    if (CHANGES.test(message.method)) return this.#events.onNotification(message)
    const client = this.#exchangeOf(during)?.request.client ?? this.#speaker.client
    if (client && wantsToHear(client, message)) client.notify(message)
  }

  #progress(message: JsonObject): void {
    const { progressToken, ...progress } = isJsonObject(message.params) ? message.params : {}
    const exchange = typeof progressToken === 'number' ? this.#exchanges.get(progressToken) : undefined
    if (!exchange) return
    exchange.progressed()
    exchange.request.onProgress?.(progress)
  }

  /** A request of the server's own. Only `ping` has an answer that concerns no client. */
  #asked(message: JsonObject, during: number | undefined): void {
    if (message.method === 'ping')
      return this.#transport.send(JSON.stringify({ jsonrpc: '2.0', id: message.id, result: {} }))
    this.#events.onAsked()
    const id = this.#callOf(during)
    this.#questions.relay(message, this.#addressee(id), id)
  }

  #takenBack({ params }: JsonObject): void {
    if (isJsonObject(params)) this.#questions.cancel(params.requestId)
  }

  #exchangeOf(during: number | undefined): Exchange | undefined {
    const id = this.#callOf(during)
    return id === undefined ? undefined : this.#exchanges.get(id)
  }

  /** A shared pipe cannot tell: then it is known only while one call is under way, or where all are one client's. */
  #callOf(during: number | undefined): number | undefined {
    if (during !== undefined) return during
    let found: number | undefined
    for (const [id, { request }] of this.#exchanges) {
      if (request.name === undefined) continue
      if (found !== undefined && !this.#speaker.isOneClient) return undefined
      found = id
    }
    return found
  }

  #addressee(id: number | undefined): Addressee | undefined {
    const exchange = id === undefined ? undefined : this.#exchanges.get(id)
    const client = exchange?.request.client ?? this.#speaker.client
    if (!client) return undefined
    return {
      client,
      ask: exchange?.request.ask ?? ((question) => client.ask(question)),
      onOpen: () => exchange?.pause(),
      onClosed: () => id !== undefined && this.#exchanges.has(id) && exchange?.resume(),
    }
  }

  #timedOut(id: number, limit: number): void {
    const exchange = this.#abandon(id, 'timed out')
    exchange?.reject(
      new SallyportError(
        'UPSTREAM_TIMEOUT',
        `No answer to ${exchange.request.method} within ${formatDuration(limit)}.`,
        {
          hint: 'Raise `timeouts.call` of the server if it needs longer.',
        },
      ),
    )
  }

  #cancel(id: number, reason: string): void {
    this.#abandon(id, reason)?.reject(cancellationOf(reason))
  }

  /** Stops waiting, and tells the server unless closing its stream already did. */
  #abandon(id: number, reason: string): Exchange | undefined {
    const exchange = this.#settle(id)
    if (!exchange) return undefined
    const told = this.#transport.abandon(id)
    // The handshake cannot be cancelled.
    if (!told && exchange.request.method !== 'initialize')
      this.notify('notifications/cancelled', { requestId: id, reason })
    return exchange
  }

  #settle(id: number): Exchange | undefined {
    const exchange = this.#exchanges.get(id)
    if (!exchange) return undefined
    this.#exchanges.delete(id)
    exchange.stop()
    exchange.request.cancellation?.onCancel(undefined)
    this.#questions.endOf(id)
    return exchange
  }

  #closed(reason: string): void {
    if (this.#closedBecause !== undefined) return
    this.#closedBecause = reason
    for (const id of [...this.#exchanges.keys()]) this.#settle(id)?.reject(gone(reason))
    this.#questions.endOf(undefined)
    this.#events.onClose(reason)
  }
}

const gone = (reason: string): SallyportError =>
  new SallyportError('UPSTREAM_DIED', `The server went away before it answered: ${reason}.`)

const cancellationOf = (reason: string): SallyportError => new SallyportError('CALL_CANCELLED', `Cancelled: ${reason}.`)

function withoutMeta(params: JsonObject): JsonObject {
  if (params._meta === undefined) return params
  const { _meta, ...rest } = params
  return rest
}
