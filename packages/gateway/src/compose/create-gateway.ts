import { createHash } from 'node:crypto'
import { resolve } from 'node:path'
import {
  BUILT_IN_SERVER,
  Cancellation,
  callCancelledError,
  isJsonObject,
  isServerId,
  type JsonObject,
  type Principal,
  SallyportError,
} from '@sallyport/core'
import {
  createMcpServer,
  type InputSchema,
  type McpServer,
  type PermissionDeclaration,
  type Registration,
  type Schema,
  type ToolHandler,
  type ToolOptions,
  type ValueOf,
} from '@sallyport/kit'
import type { Offer } from '../catalog/catalog.ts'
import { type HomeContent, loadSettings, prepareState, readHome } from '../config/config.ts'
import type { Approver } from '../governance/governance.ts'
import type { Call } from '../pipeline/pipeline.ts'
import { isPrintableName, standingPrincipal } from '../sessions/sessions.ts'
import { lockState, openStore } from '../store/store.ts'
import { VERSION } from '../version.ts'
import type { Gateway } from './gateway.ts'
import { openGateway } from './open-gateway.ts'
import { parseOutcome, type ToolCallOutcome, type ToolResult, toFailedOutcome } from './tool-outcome.ts'

/** The configuration of an embedded gateway, and the location of its state. */
export interface EmbeddedOptions {
  /** The content that config.yaml would have. Or use `home`, the folder that contains a config.yaml. */
  readonly config?: JsonObject
  readonly home?: string
  /** The folder that stores the log and the tokens. Two gateways never share one. */
  readonly state: string
  readonly environment?: Readonly<Record<string, string | undefined>>
  readonly onWarning?: (text: string) => void
  /** Decides about calls that need approval. Without it, and without a web hook, these calls are refused. */
  readonly approve?: Approver
}

/** A tool as `listTools` describes it. */
export interface ToolDescription {
  /** The name that clients call it by. */
  readonly name: string
  readonly server: string
  readonly tool: string
  readonly description: string | undefined
  readonly inputSchema: unknown
  readonly isMcp: boolean
}

/** A tool that is offered under the id of a server. */
export interface McpToolDefinition {
  readonly server: string
  readonly name: string
  readonly description?: string
  /** The schema as the server sent it. If it is not a schema of an object, it is shown unchanged and any arguments are accepted. */
  readonly inputSchema?: unknown
  readonly permission: PermissionDeclaration
}

/** On whose behalf a tool is called, and how to cancel it. */
export interface ExecuteOptions {
  readonly principal?: Principal
  readonly signal?: AbortSignal
}

/** Opens a gateway inside this program: the same servers, the same decisions, the same log, without a port. */
export async function createGateway(options: EmbeddedOptions): Promise<EmbeddedGateway> {
  const environment = options.environment ?? process.env
  const onWarning = options.onWarning ?? ((text) => void process.stderr.write(`sallyport: ${text}\n`))
  const state = resolve(options.state)
  const path = resolve(options.home ?? '.')
  // Without either there are no servers: nobody chose a config.yaml that happens to be in the working folder.
  const content =
    options.home === undefined || options.config ? inlineHome(path, options.config ?? {}) : await readHome(path)
  const read = await loadSettings({ home: path, environment, content })
  // A configuration that was given as a value has no tools.yaml beside it, and none is created.
  const loaded = options.home === undefined || options.config ? { ...read, tools: undefined } : read
  await prepareState(state)
  const lock = await lockState(state, { version: VERSION, home: path })
  if (lock.held)
    throw new SallyportError('STATE_HELD', `Another gateway runs on the state ${state}.`, {
      hint: 'Give each gateway its own state folder.',
    })
  try {
    const { durability, retention } = loaded.settings.audit
    const store = openStore({ state, durability, retention })
    const home = { path, origin: 'flag' } as const
    const approver = options.approve ?? 'nobody'
    const gateway = await openGateway({ home, state, loaded, environment, store, onWarning, approver })
    gateway.start()
    return new EmbeddedGateway(gateway, { onWarning, release: () => lock.release() })
  } catch (error) {
    lock.release()
    throw error
  }
}

function inlineHome(path: string, config: JsonObject): HomeContent {
  const bytes = Buffer.from(JSON.stringify(config))
  const digest = createHash('sha256').update(bytes).digest('hex')
  return { path, files: new Map([['config.json', bytes]]), digest, configDigest: digest }
}

interface PreparedCall extends Pick<Call, 'id' | 'traceId' | 'principal' | 'method' | 'cancellation'> {
  readonly name: string
  readonly args: JsonObject
}

interface ExecutedCall {
  readonly server: string | undefined
  readonly outcome: ToolCallOutcome
}

const isNamedInFull = ({ wire, recordName, server, name }: Offer, tool: string): boolean =>
  [wire, recordName, `${server}/${name}`].includes(tool)

function requireServerId(id: unknown): void {
  if (id === BUILT_IN_SERVER)
    throw new SallyportError('USAGE', `The server ${BUILT_IN_SERVER} is the gateway itself.`, {
      hint: 'Add to its tools with registerTool.',
    })
  if (typeof id === 'string' && isServerId(id)) return
  const got = typeof id === 'string' ? JSON.stringify(id.slice(0, 60)) : `a ${typeof id}`
  throw new SallyportError('USAGE', `A server id is expected, not ${got}.`, {
    hint: 'Use at most 40 lowercase letters and digits, with single hyphens between them.',
  })
}

const closedError = (): SallyportError =>
  new SallyportError('USAGE', 'The gateway is closed: it accepts no more tools and no more calls.')

/** A gateway inside this program; `createGateway` opens it. */
export class EmbeddedGateway {
  readonly #gateway: Gateway
  readonly #hooks: { readonly onWarning: (text: string) => void; readonly release: () => void }
  readonly #adopted = new Map<string, McpServer>()
  readonly #originalSchemas = new Map<string, unknown>()
  #closed = false

  constructor(gateway: Gateway, hooks: { readonly onWarning: (text: string) => void; readonly release: () => void }) {
    this.#gateway = gateway
    this.#hooks = hooks
  }

  /** Calls a tool by any of its names. Never rejects: errors are in the result. */
  async executeTool(tool: string, args: JsonObject = {}, options: ExecuteOptions = {}): Promise<ToolResult> {
    const { ids } = this.#gateway
    const startedAt = performance.now()
    const marks = { id: ids.callId(), traceId: ids.traceId() }
    const { server, outcome } = await this.#execute({ tool, args, options }, marks)
    const { success, output, error, ...rest } = outcome
    const name = typeof tool === 'string' ? tool : ''
    const metadata = { tool: name, server, call_id: marks.id, trace_id: marks.traceId, ...rest }
    return { success, output, error, latency_ms: Math.round((performance.now() - startedAt) * 100) / 100, metadata }
  }

  async #execute(call: CallRequest, marks: Pick<Call, 'id' | 'traceId'>): Promise<ExecutedCall> {
    const read = this.#closed ? closedError() : parseCall(call)
    if (read instanceof SallyportError) return { server: undefined, outcome: toFailedOutcome(read) }
    const { tool: name, args, principal = standingPrincipal('agent'), signal } = read
    const cancellation = new Cancellation()
    const abort = (): void => cancellation.cancel('the caller aborted it')
    if (signal?.aborted) abort()
    signal?.addEventListener('abort', abort, { once: true })
    try {
      const found = await this.#find(name, cancellation)
      const outcome = await this.#run(found, { ...marks, principal, method: 'tools/call', name, args, cancellation })
      return { server: found instanceof SallyportError ? undefined : found.server, outcome }
    } finally {
      signal?.removeEventListener('abort', abort)
    }
  }

  async listTools(principal: Principal = standingPrincipal('agent')): Promise<readonly ToolDescription[]> {
    await this.#waitForServers()
    return this.#gateway.listings.offers('tools/list', { ...principal }).map((offer) => this.#describe(offer))
  }

  async listMcpTools(server?: string): Promise<readonly ToolDescription[]> {
    const all = await this.listTools()
    return all.filter((tool) => tool.isMcp && (server === undefined || tool.server === server))
  }

  /** Adds a tool of this program to the gateway's own. */
  registerTool<const Input extends Schema = InputSchema>(
    name: string,
    options: ToolOptions<Input>,
    handler: ToolHandler<ValueOf<Input>>,
  ): Registration {
    this.#requireOpen()
    return this.#gateway.builtIns.tool(name, options, handler)
  }

  /** Adds a tool under a server's id, as if that server offered it. */
  registerMcpTool(definition: McpToolDefinition, handler: ToolHandler<JsonObject>): Registration {
    this.#requireOpen()
    const { server, name, description = '', inputSchema, permission } = definition
    requireServerId(server)
    const input = isJsonObject(inputSchema) && inputSchema.type === 'object' ? (inputSchema as InputSchema) : undefined
    if (input === undefined && inputSchema !== undefined) {
      this.#originalSchemas.set(`${server}/${name}`, inputSchema)
      this.#hooks.onWarning(
        `${server}/${name}: its input schema is not a JSON Schema of an object; it is shown unchanged, and any arguments are accepted`,
      )
    }
    const anything: InputSchema = { type: 'object', properties: {}, additionalProperties: true }
    return this.#serverFor(server).tool(
      name,
      { description, permission, input: input ?? anything },
      handler as ToolHandler<unknown>,
    )
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#gateway.close('the program closed it')
    this.#hooks.release()
  }

  #requireOpen(): void {
    if (this.#closed) throw closedError()
  }

  #serverFor(id: string): McpServer {
    const known = this.#adopted.get(id)
    if (known) return known
    if (this.#gateway.fleet.get(id))
      throw new SallyportError('USAGE', `The server ${id} is configured already: no tools can be added to it.`)
    const server = createMcpServer(id, { version: VERSION, toolsOfOthers: true })
    this.#adopted.set(id, server)
    this.#gateway.addInProcessServer(id, server)
    return server
  }

  #describe(offer: Offer): ToolDescription {
    const { description, inputSchema } = offer.definition
    return {
      name: offer.wire,
      server: offer.server,
      tool: offer.name,
      description: typeof description === 'string' ? description : undefined,
      inputSchema: this.#originalSchemas.get(`${offer.server}/${offer.name}`) ?? inputSchema,
      isMcp: offer.isMcp,
    }
  }

  async #run(found: Offer | SallyportError, { name, args, ...call }: PreparedCall): Promise<ToolCallOutcome> {
    const { pipeline } = this.#gateway
    if (!(found instanceof SallyportError)) {
      const params = { name: found.name, arguments: args }
      return parseOutcome(await pipeline.run({ ...call, offer: found, params }))
    }
    pipeline.recordUnknown({ ...call, name }, found)
    return toFailedOutcome(found)
  }

  /** A full name is looked up at once. A short name waits for the servers, since it may match a second tool. */
  async #find(tool: string, cancellation: Cancellation): Promise<Offer | SallyportError> {
    if (!this.#hasFullName(tool)) await this.#waitUntilNamed(tool, cancellation)
    if (cancellation.reason !== undefined) return callCancelledError(cancellation.reason)
    return this.#closed ? closedError() : this.#lookUp(tool)
  }

  async #waitUntilNamed(tool: string, cancellation: Cancellation): Promise<void> {
    let stopWatching = (): void => {}
    const named = new Promise<void>((resolve) => {
      stopWatching = this.#gateway.catalog.onChange(() => this.#hasFullName(tool) && resolve())
      cancellation.onCancel(() => resolve())
    })
    await Promise.race([named, this.#waitForServers()])
    stopWatching()
    cancellation.onCancel(undefined)
  }

  #hasFullName(tool: string): boolean {
    const known = this.#lookUp(tool)
    return !(known instanceof SallyportError) && isNamedInFull(known, tool)
  }

  #lookUp(tool: string): Offer | SallyportError {
    const { snapshot } = this.#gateway.catalog
    try {
      const absence =
        snapshot.toolNames.find(tool).length === 0 ? this.#gateway.findAbsentServerOfTyped(tool) : undefined
      if (absence) return absence.refusal
      return (
        snapshot.findTool(snapshot.toolNames.findOne(tool)) ??
        new SallyportError('TOOL_UNKNOWN', `There is no tool "${tool}".`)
      )
    } catch (error) {
      if (error instanceof SallyportError) return error
      throw error
    }
  }

  /** A program asks once, so this waits for the servers as long as their startup timeouts allow. */
  async #waitForServers(): Promise<void> {
    const maxStartupMs = Math.max(1_000, ...this.#gateway.settings.servers.map(({ timeouts }) => timeouts.startup))
    await this.#gateway.fleet.waitUntilKnown(maxStartupMs)
  }
}

/** A call as the program passed it, not validated yet: not every program is type-checked. */
interface CallRequest {
  readonly tool: unknown
  readonly args: unknown
  readonly options: unknown
}

interface ParsedCall {
  readonly tool: string
  /** A copy: the program may change its own object after the decision and before the call is sent. */
  readonly args: JsonObject
  /** A copy: callers are cached by object identity, and the program may change its own object. */
  readonly principal: Principal | undefined
  readonly signal: AbortSignal | undefined
}

/** Validates a call of this program. An invalid one is returned as an error. */
function parseCall({ tool, args = {}, options }: CallRequest): ParsedCall | SallyportError {
  if (typeof tool !== 'string') return invalidParams('The name of a tool must be a string', tool)
  if (!isJsonObject(args)) return invalidParams('The arguments of a tool must be an object', args)
  if (!isJsonObject(options)) return invalidParams('The options of a call must be an object', options)
  const { principal, signal } = options as { readonly principal?: unknown; readonly signal?: unknown }
  if (principal !== undefined && !isPrincipal(principal))
    return invalidParams('A principal must have a printable user, agent, profile and session, and a role', principal)
  if (signal != null && !isSignal(signal)) return invalidParams('A signal must be an AbortSignal', signal)
  const copy = copyArguments(args)
  if (copy instanceof SallyportError) return copy
  return { tool, args: copy, principal: principal && { ...principal }, signal: signal ?? undefined }
}

function copyArguments(args: JsonObject): JsonObject | SallyportError {
  try {
    const copy: unknown = JSON.parse(JSON.stringify(args))
    return isJsonObject(copy) ? copy : invalidParams('The arguments of a tool must be an object', copy)
  } catch (cause) {
    return new SallyportError('INVALID_PARAMS', 'The arguments cannot be written as JSON.', {
      hint: 'They must not contain BigInt values or circular references.',
      cause,
    })
  }
}

/** The same rule for names as for tokens: with a line break in them, two sessions could have one key. */
function isPrincipal(value: unknown): value is Principal {
  if (!isJsonObject(value)) return false
  const { user, agent, profile, session, role } = value
  return [user, agent, profile, session].every(isPrintableName) && (role === 'agent' || role === 'operator')
}

/** Checks the methods: a signal of another realm is not an instance of our AbortSignal. */
function isSignal(value: unknown): value is AbortSignal {
  const { addEventListener, removeEventListener, aborted } = value as Partial<AbortSignal>
  return [addEventListener, removeEventListener].every((part) => typeof part === 'function') && aborted !== undefined
}

const invalidParams = (expected: string, got: unknown): SallyportError =>
  new SallyportError('INVALID_PARAMS', `${expected}, not ${describeKind(got)}.`)

function describeKind(value: unknown): string {
  if (value === null || value === undefined) return String(value)
  if (Array.isArray(value)) return 'an array'
  return typeof value === 'object' ? 'some other object' : `a ${typeof value}`
}
