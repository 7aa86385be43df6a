import { CALLER_TOKEN_PREFIX, type Era, type JsonObject, SallyportError, serverOfInstance } from '@sallyport/core'
import {
  collectSecrets,
  type DockerGatewayConfig,
  type ServerConfig,
  type ServerSandbox,
  type StdioServerConfig,
} from '../config/config.ts'
import type { Sandboxes } from '../sandbox/sandbox.ts'
import { type CredentialFilter, createCredentialFilter, hideCredentials } from './answers/credential-filter.ts'
import { addAudience, type CallerKeySource, createStartVariables } from './caller-audience.ts'
import type { QuestionScope } from './client.ts'
import { sharedIdentity } from './connection-slot.ts'
import { prepareDockerLaunch } from './docker/docker.ts'
import { LegacySseTransport, StreamableHttpTransport } from './http/http.ts'
import { DroppedMessages } from './link/dropped-messages.ts'
import type { ConnectionIdentity } from './link/link.ts'
import { createMark, type Watchdog } from './processes/processes.ts'
import { DEFAULT_RESTART_POLICY } from './restart-policy.ts'
import { type NewConnectionOptions, Server } from './server.ts'
import { ServerConnection } from './server-connection.ts'
import { StderrTail } from './stderr-tail.ts'
import { StdioTransport, type StdioTransportOptions } from './stdio/stdio.ts'
import type { Transport } from './transport.ts'
import type { UpstreamConfig } from './upstream-config.ts'
import type { Upstream, UpstreamConnection, UpstreamListener } from './upstream-interface.ts'

export type { NamedPreset } from './answers/named-preset.ts'
export { parseExactFrame, parseFrame } from './answers/parse-frame.ts'
export { redactFrame, scanFrame } from './answers/redact-frame.ts'
export { type Edit, sliceBytes, splice } from './answers/splice.ts'
export { createBuiltInServer, InProcessTransport, READ_RESULT } from './built-in/built-in.ts'
export {
  type AskClient,
  type Client,
  canAnswerQuestions,
  findMissingCapability,
  isQuestionMethod,
  type Question,
  type QuestionAnswer,
  type StandingClient,
} from './client.ts'
export { type AbsentServer, Fleet, type StartTime } from './fleet.ts'
export { type CallerIdentity, takesCallerTokens } from './link/caller-token.ts'
export { formatIntroduction } from './link/encode-request.ts'
export type { CallLimit, CallRoute, ClientCall } from './link/outgoing-call.ts'
export { findUrlElicitations } from './link/url-elicitations.ts'
export { isListed, type OwnLists } from './own-lists.ts'
export { GATEWAY_PERMIT, type Permit, recheckPermit } from './permit.ts'
export { createMark, openWatchdog, sweepProcesses, type Watchdog } from './processes/processes.ts'
export { ResourceSubscription, type SubscriptionEvents } from './resource-subscription.ts'
export type { ServerCatalog } from './server-catalog.ts'
export type { Frame } from './transport.ts'
export { builtInConfig, type UpstreamConfig } from './upstream-config.ts'
export type {
  ConversationEvent,
  Counterpart,
  ListReader,
  OwnListsChange,
  Upstream,
  UpstreamListener,
  UpstreamReply,
} from './upstream-interface.ts'
export type { UpstreamStatus } from './upstream-status.ts'

export interface LastKnownServer {
  readonly era: Era
  readonly asks?: QuestionScope | undefined
}

/** What all servers of one gateway share. */
export interface UpstreamContext {
  readonly clientInfo: JsonObject
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly watchdog: Watchdog
  /** For servers that are told who calls. */
  readonly callerKeys?: CallerKeySource | undefined
  readonly sandboxes?: Pick<Sandboxes, 'open' | 'addUnsandboxed'> | undefined
  /** The marks of all processes that we start are below this one. */
  readonly runMark: string
  /** What was learned about a server in the last run. */
  readonly lastKnown: (server: string) => LastKnownServer | undefined
  readonly now: () => number
  readonly random: () => number
}

let startCount = 0

/** Opens a server as its entry describes it. It is not started yet. */
export function openUpstream(config: ServerConfig, listener: UpstreamListener, context: UpstreamContext): Upstream {
  const dropped = new DroppedMessages({ server: config.id, onEvent: listener.onEvent })
  return new Server({
    config,
    listener,
    clientInfo: context.clientInfo,
    asks: context.lastKnown(config.id)?.asks,
    era: context.lastKnown(config.id)?.era,
    connect: ({ config: one, networkMode, session, workspaceOf, calls, ...own }) =>
      openConnection(
        {
          ...own,
          dropped,
          ...(one.kind === 'docker-gateway'
            ? prepareDockerParts(one, context)
            : preparePlainParts(one, { ...context, networkMode, session, workspaceOf, calls })),
        },
        context,
      ),
  })
}

type PlainConfig = Exclude<ServerConfig, DockerGatewayConfig>
type ConnectionParts = Pick<OpenConnectionOptions, 'config' | 'messages' | 'createTransport' | 'startTimeoutMs'>

/** What one connection needs to know besides. */
type ConnectionContext = UpstreamContext &
  Pick<NewConnectionOptions, 'networkMode' | 'session' | 'workspaceOf' | 'calls'>

function preparePlainParts(config: PlainConfig, context: ConnectionContext): ConnectionParts {
  const filter = getFilter(config)
  const messages = new StderrTail({ secrets: collectSecrets(config), filter })
  return {
    config,
    messages,
    createTransport: () => hideCredentials(buildTransport(config, messages, context), filter),
  }
}

function prepareDockerParts(config: DockerGatewayConfig, context: UpstreamContext): ConnectionParts {
  const { environment, watchdog } = context
  const { token, secrets, startTimeoutMs, createTransport } = prepareDockerLaunch(config, environment)
  const filter = createCredentialFilter([...config.credentials, token])
  const messages = new StderrTail({ secrets, filter })
  const run = { environment, watchdog, stderr: messages }
  const open = (): Transport => hideCredentials(createTransport({ ...run, mark: nextMark(config, context) }), filter)
  return { config, messages, startTimeoutMs, createTransport: open }
}

const filters = new WeakMap<ServerConfig, CredentialFilter | undefined>()

/** A server may have many connections; they share this. */
function getFilter(config: ServerConfig): CredentialFilter | undefined {
  const tokenPrefix = config.identity === 'forward' ? CALLER_TOKEN_PREFIX : undefined
  if (!filters.has(config)) filters.set(config, createCredentialFilter(config.credentials, tokenPrefix))
  return filters.get(config)
}

export interface OpenConnectionOptions {
  readonly config: UpstreamConfig
  readonly listener: UpstreamListener
  readonly identity?: ConnectionIdentity
  readonly onQuestion?: (scope: QuestionScope) => void
  readonly messages?: StderrTail
  readonly dropped?: DroppedMessages
  readonly createTransport: () => Transport
  readonly startTimeoutMs?: number
  readonly onRefusedEra?: (() => void) | undefined
}

/** Opens a server over any transport: used for the gateway's own tools. */
export function openConnection(own: OpenConnectionOptions, context: UpstreamContext): UpstreamConnection {
  const { clientInfo, now, random } = context
  return new ServerConnection({
    messages: new StderrTail(),
    dropped: new DroppedMessages({ server: own.config.id, onEvent: own.listener.onEvent }),
    identity: sharedIdentity(clientInfo),
    onQuestion: () => {},
    ...own,
    now,
    random,
    policy: DEFAULT_RESTART_POLICY,
    knownEra: context.lastKnown(own.config.id)?.era,
  })
}

const nextMark = (config: ServerConfig, { runMark }: UpstreamContext): string =>
  `${runMark}.${createMark(config.id, String(++startCount))}`

function buildTransport(config: PlainConfig, stderr: StderrTail, context: ConnectionContext): Transport {
  const { callerKeys: keys } = context
  const forwarding = config.identity === 'forward' && keys ? { server: serverOfInstance(config.id), keys } : undefined
  if (config.kind === 'stdio') {
    const { environment, watchdog } = context
    const startVariables = forwarding && createStartVariables(forwarding, () => transport)
    const mark = nextMark(config, context)
    const isolation = config.sandbox && prepareIsolation(config, config.sandbox, { stderr, ...context })
    const own = { config, environment, mark, watchdog, stderr, startVariables, ...isolation }
    const transport: Transport = new StdioTransport(own)
    return transport
  }
  const transport =
    config.kind === 'http' ? new StreamableHttpTransport({ config }) : new LegacySseTransport({ config })
  return forwarding ? addAudience(transport, forwarding) : transport
}

type Isolation = Pick<StdioTransportOptions, 'openSandbox' | 'addUnsandboxed'>

function prepareIsolation(
  { id, command, args, cwd }: StdioServerConfig,
  { driver, image, network, mounts, limits, forwards }: ServerSandbox,
  {
    sandboxes,
    // A process that serves no session lists what there is to everybody.
    networkMode = () => 'FULL',
    session,
    workspaceOf,
    calls = () => [],
    stderr,
  }: ConnectionContext & { readonly stderr: StderrTail },
): Isolation {
  if (driver === 'none')
    return { addUnsandboxed: (program) => sandboxes?.addUnsandboxed({ server: id, session, networkMode, ...program }) }
  const openSandbox: Isolation['openSandbox'] = async (env, onTooWide) => {
    if (sandboxes === undefined)
      throw new SallyportError('SANDBOX_UNAVAILABLE', `Server ${id} needs a sandbox, and this program provides none.`)
    return sandboxes.open({
      ...{ server: id, driver, image },
      command: [command, ...args],
      ...{ cwd, env, mounts, limits, forwards, session: workspaceOf, serves: session },
      wantsHostNetwork: network === 'host',
      networkMode: network === 'none' ? () => 'NONE' : networkMode,
      ...{ calls, onTooWide },
      onNote: (text) => stderr.push(Buffer.from(`${text}\n`)),
    })
  }
  return { openSandbox }
}
