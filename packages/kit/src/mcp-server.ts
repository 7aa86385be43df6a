import type { JsonObject, McpParam } from '@sallyport/core'
import type { ParkedCalls, RunningCall } from './call/call.ts'
import {
  type Authentication,
  type Authenticator,
  createAuthenticator,
  createScope,
  type Environment,
  findDataFolder,
  GatewayCallers,
  type Identity,
  type RequestHeaders,
  readGatewayOptions,
  readStartEnvironment,
} from './identity/identity.ts'
import type { RequestId } from './json-rpc.ts'
import { findKeyFolder, SessionKeys } from './keys/keys.ts'
import {
  assertValidTool,
  Definitions,
  definePrompt,
  defineResource,
  defineResourceTemplate,
  defineTool,
  type PromptHandler,
  type PromptOptions,
  type Registration,
  type ResourceOptions,
  type ResourceReader,
  type ResourceTemplateOptions,
  type ServerOptions,
  type ToolHandler,
  type ToolOptions,
} from './offers/offers.ts'
import { CallerGate, type Connection, McpConnection, readCallerToken, type Send } from './protocol/protocol.ts'
import type { InputSchema, PlainSchema, ReturnValueFor, Schema, ValueOf } from './schema/schema.ts'
import type { WholeResult } from './tool-result.ts'

/** Any value, unless the tool has an output schema. */
type HandlerResult<Output> = [Output] extends [never] ? unknown : MaybePromise<ReturnValueFor<Output> | WholeResult>
type MaybePromise<Value> = Value | Promise<Value>

/** The options of a transport that connects a peer to a server. */
export interface ConnectOptions {
  /** The user on whose behalf the peer calls. If missing, there is no user, and getUserId() throws. */
  readonly identity?: Identity
  /** For transports that open a connection for every request: stores the calls that wait between requests. */
  readonly parked?: ParkedCalls<RunningCall>
  /** For transports that keep something open for every request: this one was cancelled, and will not be answered. */
  readonly onCancelled?: (id: RequestId) => void
  /** Whether requests may carry tokens of the gateway, if the server takes them. Default: true. */
  readonly takesCallers?: boolean
}

/** An MCP server. It speaks both protocol eras, over any number of connections. */
export class McpServer {
  readonly #definitions: Definitions
  /** The folder that contains the data of users and sessions. */
  readonly dataFolder: string
  /** The keys with which stored results are encrypted. */
  readonly sessionKeys: SessionKeys
  readonly environment: Environment
  readonly #authenticator: Authenticator
  readonly #callers: GatewayCallers | undefined

  constructor(name: string, options: ServerOptions) {
    this.#definitions = new Definitions(name, options)
    // biome-ignore lint/style/noProcessEnv: a server is the composition root of its program.
    this.environment = options.environment ?? process.env
    this.dataFolder = findDataFolder(options.dataFolder, this.environment)
    this.sessionKeys = options.sessionKeys ?? openServerKeys(this)
    const gateway = readGateway(options)
    this.#callers = gateway && new GatewayCallers(gateway, { dataFolder: this.dataFolder })
    this.#authenticator = createAuthenticator({ ...options, gateway })
  }

  /** The gateway says who calls, so that nobody is known by default. */
  get takesCallers(): boolean {
    return this.#callers !== undefined
  }

  tool<const Input extends Schema = InputSchema, const Output extends Schema | PlainSchema = never>(
    name: string,
    options: ToolOptions<Input, Output>,
    handler: ToolHandler<ValueOf<Input>, HandlerResult<Output>>,
  ): Registration {
    // Sound because the arguments are checked first, and their type promises only what that check proves.
    const checked = handler as unknown as ToolHandler<JsonObject>
    const isForeign = this.#definitions.toolsOfOthers
    const tool = defineTool(name, { ...options, isForeign }, checked)
    if (!isForeign) assertValidTool(tool)
    return this.#definitions.tools.add(name, { ...tool, preset: this.#definitions.findPreset(options.result) })
  }

  resource(uri: string, options: ResourceOptions, read: ResourceReader): Registration {
    return this.#definitions.resources.add(uri, defineResource(uri, options, read))
  }

  /** A family of resources: `notes://{id}`. */
  resourceTemplate(template: string, options: ResourceTemplateOptions, read: ResourceReader): Registration {
    return this.#definitions.templates.add(template, defineResourceTemplate(template, options, read))
  }

  prompt(name: string, options: PromptOptions, handler: PromptHandler): Registration {
    return this.#definitions.prompts.add(name, definePrompt(name, options, handler))
  }

  /** Notifies every client that has subscribed to this resource. */
  resourceUpdated(uri: string): void {
    this.#definitions.resourceUpdated(uri)
  }

  /** The arguments of a tool that HTTP repeats in headers. */
  headerParams(tool: string): readonly McpParam[] {
    return this.#definitions.tools.get(tool)?.headerParams ?? []
  }

  /** Logs an unexpected error, and returns its incident id. */
  reportBug(where: string, error: unknown): string {
    return this.#definitions.reportBug(where, error)
  }

  /** Identifies the sender of a request by its headers, or returns how to refuse it. */
  authenticate(headers: RequestHeaders): Promise<Authentication> {
    return this.#authenticator.authenticate(headers)
  }

  /** Throws if requests to this address must not be served. It is called before a port is opened. */
  assertMayListen(host: string): void {
    this.#authenticator.assertMayListen(host)
  }

  /** The user for whom the gateway sends a request with these params; `undefined` if it names nobody who is known. */
  async findForwardedUser(params: JsonObject): Promise<string | undefined> {
    const token = readCallerToken(params)
    const caller = token === undefined ? undefined : await this.#callers?.verify(token)
    return caller !== undefined && 'userId' in caller ? caller.userId : undefined
  }

  /** Passes each outgoing message to `send`. Pass each incoming one to `receive`. */
  connect(send: Send, options: ConnectOptions = {}): Connection {
    const { identity, parked, onCancelled, takesCallers: isTrustedChannel = true } = options
    const scope = identity && createScope(identity, this)
    const gate = this.#callers && new CallerGate({ callers: this.#callers, storage: this, isTrustedChannel })
    return new McpConnection(this.#definitions, { send, scope, gate, parked, onCancelled })
  }
}

const openServerKeys = ({ dataFolder, environment }: Pick<McpServer, 'dataFolder' | 'environment'>): SessionKeys =>
  new SessionKeys({ folder: findKeyFolder(environment), notInside: [dataFolder], dataFolder, environment })

/** An environment that the program made itself counts as it is; that of the process only as it was at the start. */
function readGateway({ auth, environment }: ServerOptions) {
  if (auth?.gateway === undefined) return undefined
  // biome-ignore lint/style/noProcessEnv: to recognize it.
  const isOwn = environment !== undefined && environment !== process.env
  return readGatewayOptions(auth.gateway, isOwn ? environment : readStartEnvironment())
}

/** Creates a server without tools; it serves nobody until `serveStdio` or `serveHttp` is called. */
export function createMcpServer(name: string, options: ServerOptions = {}): McpServer {
  return new McpServer(name, options)
}
