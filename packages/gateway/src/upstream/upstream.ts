import type { Era, JsonObject } from '@sallyport/core'
import { type DockerGatewayConfig, type ServerConfig, secretsOf } from '../config/config.ts'
import type { AskingHabit } from './client.ts'
import { type CredentialFilter, createCredentialFilter, hideCredentials } from './credential-filter.ts'
import { prepareDocker } from './docker/docker.ts'
import { DroppedMessages } from './dropped-messages.ts'
import { LegacySseTransport, StreamableHttpTransport } from './http/http.ts'
import type { Speaker } from './link.ts'
import type { Watchdog } from './processes/processes.ts'
import { createMark } from './processes/processes.ts'
import { DEFAULT_RESTART_POLICY } from './restart-policy.ts'
import { openSpeaker } from './seat.ts'
import { SeatedUpstream } from './seated-upstream.ts'
import type { ConnectedUpstream, Upstream, UpstreamListener } from './server-behind.ts'
import { SharedUpstream } from './shared-upstream.ts'
import { StderrTail } from './stderr-tail.ts'
import { StdioTransport } from './stdio/stdio.ts'
import type { Transport } from './transport.ts'
import type { UpstreamConfig } from './upstream-config.ts'

export { createBuiltInServer, InProcessTransport, READ_RESULT } from './built-in/built-in.ts'
export {
  type AskClient,
  type Client,
  canBeAsked,
  isAskable,
  lackedBy,
  type Question,
  type QuestionAnswer,
  type StandingClient,
} from './client.ts'
export { type Absence, Fleet, type StartTime } from './fleet.ts'
export { frameOf } from './frame-of.ts'
export { pagesIn } from './opened-pages.ts'
export type { CallLimit, ClientCall } from './outgoing-call.ts'
export { parseFrame } from './parse-frame.ts'
export { type Permit, recheckPermit } from './permit.ts'
export { createMark, openWatchdog, sweepProcesses, type Watchdog } from './processes/processes.ts'
export { redactFrame } from './redact-frame.ts'
export { introductionOf } from './request-text.ts'
export { ResourceSubscription, type SubscriptionEvents } from './resource-subscription.ts'
export type { ConversationNotice, Upstream, UpstreamListener, UpstreamReply } from './server-behind.ts'
export type { ServerCatalogue } from './server-catalogue.ts'
export { bytesOf, type Edit, spliced } from './spliced.ts'
export type { Frame } from './transport.ts'
export { builtInConfig, type UpstreamConfig } from './upstream-config.ts'

export interface LastKnown {
  readonly era: Era
  readonly asks?: AskingHabit | undefined
}

/** What all servers of one gateway share. */
export interface UpstreamContext {
  readonly clientInfo: JsonObject
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly watchdog: Watchdog
  /** Under this stand the marks of all processes that we start. */
  readonly runMark: string
  /** What was found out about a server the last time. */
  readonly lastKnown: (server: string) => LastKnown | undefined
  readonly now: () => number
  readonly random: () => number
}

let started = 0

/** Opens a server as its entry describes it. It is not started yet. */
export function openUpstream(config: ServerConfig, listener: UpstreamListener, context: UpstreamContext): Upstream {
  const dropped = new DroppedMessages({ server: config.id, onEvent: listener.onEvent })
  return new SeatedUpstream({
    config,
    listener,
    clientInfo: context.clientInfo,
    asks: context.lastKnown(config.id)?.asks,
    openOne: ({ config: one, ...own }) =>
      openOver(
        { ...own, dropped, ...(one.kind === 'docker-gateway' ? dockerOf(one, context) : plainOf(one, context)) },
        context,
      ),
  })
}

type PlainConfig = Exclude<ServerConfig, DockerGatewayConfig>
type Connection = Pick<OwnUpstream, 'config' | 'messages' | 'createTransport' | 'longestStart'>

function plainOf(config: PlainConfig, context: UpstreamContext): Connection {
  const filter = filterOf(config)
  const messages = new StderrTail({ secrets: secretsOf(config), filter })
  return {
    config,
    messages,
    createTransport: () => hideCredentials(transportOf(config, messages, context), filter),
  }
}

function dockerOf(config: DockerGatewayConfig, context: UpstreamContext): Connection {
  const { environment, watchdog } = context
  const { token, secrets, longestStart, createTransport } = prepareDocker(config, environment)
  const filter = createCredentialFilter([...config.credentials, token])
  const messages = new StderrTail({ secrets, filter })
  const run = { environment, watchdog, stderr: messages }
  const open = (): Transport => hideCredentials(createTransport({ ...run, mark: markOf(config, context) }), filter)
  return { config, messages, longestStart, createTransport: open }
}

const filters = new WeakMap<ServerConfig, CredentialFilter | undefined>()

/** A server may have many connections; they share one. */
function filterOf(config: ServerConfig): CredentialFilter | undefined {
  if (!filters.has(config)) filters.set(config, createCredentialFilter(config.credentials))
  return filters.get(config)
}

export interface OwnUpstream {
  readonly config: UpstreamConfig
  readonly listener: UpstreamListener
  readonly speaker?: Speaker
  readonly onAsked?: (habit: AskingHabit) => void
  readonly messages?: StderrTail
  readonly dropped?: DroppedMessages
  readonly createTransport: () => Transport
  readonly longestStart?: number
}

/** Opens a server over any transport: the gateway's own tools come this way. */
export function openOver(own: OwnUpstream, context: UpstreamContext): ConnectedUpstream {
  const { clientInfo, now, random } = context
  return new SharedUpstream({
    messages: new StderrTail(),
    dropped: new DroppedMessages({ server: own.config.id, onEvent: own.listener.onEvent }),
    speaker: openSpeaker(clientInfo),
    onAsked: () => {},
    ...own,
    now,
    random,
    policy: DEFAULT_RESTART_POLICY,
    knownEra: context.lastKnown(own.config.id)?.era,
  })
}

const markOf = (config: ServerConfig, { runMark }: UpstreamContext): string =>
  `${runMark}.${createMark(config.id, String(++started))}`

function transportOf(config: PlainConfig, stderr: StderrTail, context: UpstreamContext): Transport {
  if (config.kind === 'stdio') {
    const { environment, watchdog } = context
    return new StdioTransport({ config, environment, mark: markOf(config, context), watchdog, stderr })
  }
  return config.kind === 'http' ? new StreamableHttpTransport({ config }) : new LegacySseTransport({ config })
}
