import { setMaxListeners } from 'node:events'
import type {
  Client,
  CompleteRequestParams,
  CompleteResult,
  GetPromptResult,
  Prompt,
  ReadResourceResult,
  Resource,
  ResourceTemplateType,
  Tool,
} from '@modelcontextprotocol/client'
import { didYouMean, type JsonObject, SallyportError, type Sensitivity } from '@sallyport/core'
import type { ToolResult } from '../tool-result.ts'
import type { AiSdkTool } from './ai-sdk-tool.ts'
import type { OperationOptions } from './call-timer.ts'
import { FailureStreak } from './failure-streak.ts'
import type { Link, SdkCallOptions } from './link.ts'
import type { Route } from './route.ts'
import type { SessionLabel } from './session-label.ts'
import { FatalToolError, RetryableToolError, readToolFailure, type ToolFailure } from './tool-failure.ts'

interface ClientParts {
  readonly route: Route
  readonly label: SessionLabel
  /** This many identical failures in a row end the run. */
  readonly maxSameFailures: number
}

/** Receives the changes of one resource. */
export interface ResourceListener extends OperationOptions {
  readonly onUpdate: () => void
  /** The subscription could not follow the session to the isolated instance. */
  readonly onLost?: (error: unknown) => void
}

type Operation<T> = (client: Client, request: SdkCallOptions) => Promise<T>

/** A strict client, for one run of an agent. After a fatal error it refuses everything. */
export class McpClient {
  readonly #route: Route
  readonly #label: SessionLabel
  readonly #maxSameFailures: number
  readonly #streak = new FailureStreak()
  readonly #runController = new AbortController()
  #closing: Promise<void> | undefined

  constructor({ route, label, maxSameFailures }: ClientParts) {
    this.#route = route
    this.#label = label
    this.#maxSameFailures = maxSameFailures
    // Every call in flight listens to it, so Node's leak warning at eleven listeners would be wrong.
    setMaxListeners(0, this.signal)
  }

  /** A tool failed fatally; `signal.reason` is its FatalToolError. */
  get isAborted(): boolean {
    return this.signal.aborted
  }

  /** For agent loops: aborted when the run is over. */
  get signal(): AbortSignal {
    return this.#runController.signal
  }

  /** The session's label, as far as it is known. */
  get sensitivity(): Sensitivity {
    return this.#label.sensitivity
  }

  /** Only the isolated instance is called from now on. */
  get isIsolated(): boolean {
    return this.#route.isIsolated
  }

  /** The tools of the instance that the next call goes to. */
  async listTools(options: OperationOptions = {}): Promise<readonly Tool[]> {
    return (await this.#perform((client, { options: own }) => client.listTools(undefined, own), options)).tools
  }

  /** Returns the result. If it is an error, throws a FatalToolError or a RetryableToolError. */
  async callTool(name: string, args: JsonObject = {}, options: OperationOptions = {}): Promise<ToolResult> {
    const operation: Operation<ToolResult> = async (client, { options: own, meta }) =>
      (await client.callTool({ name, arguments: { ...args }, _meta: { ...meta } }, own)) as ToolResult
    try {
      const result = await this.#perform(operation, options)
      const failure = readToolFailure(result)
      if (failure?.kind === 'fatal') throw this.#toFatalError(name, failure)
      if (failure !== undefined) throw new RetryableToolError(name, this.#route.redact(failure.text))
      this.#streak.reset()
      return result
    } catch (error) {
      throw await this.#classifyFailure(error, { name, args, options })
    }
  }

  async listResources(options: OperationOptions = {}): Promise<readonly Resource[]> {
    return (await this.#perform((client, { options: own }) => client.listResources(undefined, own), options)).resources
  }

  async listResourceTemplates(options: OperationOptions = {}): Promise<readonly ResourceTemplateType[]> {
    const list: Operation<{ resourceTemplates: ResourceTemplateType[] }> = (client, { options: own }) =>
      client.listResourceTemplates(undefined, own)
    return (await this.#perform(list, options)).resourceTemplates
  }

  readResource(uri: string, options: OperationOptions = {}): Promise<ReadResourceResult> {
    return this.#perform(
      (client, { options: own, meta }) => client.readResource({ uri, _meta: { ...meta } }, own),
      options,
    )
  }

  async listPrompts(options: OperationOptions = {}): Promise<readonly Prompt[]> {
    return (await this.#perform((client, { options: own }) => client.listPrompts(undefined, own), options)).prompts
  }

  getPrompt(
    name: string,
    args: Readonly<Record<string, string>> = {},
    options: OperationOptions = {},
  ): Promise<GetPromptResult> {
    return this.#perform(
      (client, { options: own, meta }) => client.getPrompt({ name, arguments: { ...args }, _meta: { ...meta } }, own),
      options,
    )
  }

  async complete(params: CompleteRequestParams, options: OperationOptions = {}): Promise<CompleteResult['completion']> {
    return (await this.#perform((client, { options: own }) => client.complete(params, own), options)).completion
  }

  /** Reports changes of a resource. Once the session is private, the isolated instance reports them. */
  async subscribe(uri: string, listener: ResourceListener): Promise<Subscription> {
    this.#assertOpen()
    const { onUpdate, onLost = () => {}, ...options } = listener
    return openMovingSubscription({
      route: this.#route,
      label: this.#label,
      open: (link) => link.subscribe(uri, onUpdate, { ...options, runSignal: this.signal }),
      onLost,
    })
  }

  /** Checks that the server answers, in either era. */
  async ping(options: OperationOptions = {}): Promise<void> {
    await this.#perform(async (client, { options: own }) => {
      await (client.getProtocolEra() === 'modern' ? client.discover(own) : client.ping(own))
    }, options)
  }

  /** The tools in the form that the AI SDK expects. */
  async tools(): Promise<Record<string, AiSdkTool>> {
    const { createAiSdkTools } = await import('./ai-sdk.ts')
    return createAiSdkTools(this)
  }

  close(): Promise<void> {
    this.#closing ??= this.#route.close()
    return this.#closing
  }

  async #perform<T>(operation: Operation<T>, options: OperationOptions): Promise<T> {
    this.#assertOpen()
    const { signal } = options
    signal?.throwIfAborted()
    const result = await this.#route.run((link) => this.#runOn(link, operation, options))
    await this.#storeLabel()
    this.signal.throwIfAborted()
    return result
  }

  #runOn<T>(link: Link, operation: Operation<T>, options: OperationOptions): Promise<T> {
    this.#assertOpen()
    return link.run(operation, { ...options, runSignal: this.signal })
  }

  #assertOpen(): void {
    this.signal.throwIfAborted()
    if (this.#closing !== undefined) throw new SallyportError('INVALID_REQUEST', 'The client is closed.')
  }

  /** The label is raised before the result is returned. */
  async #storeLabel(): Promise<void> {
    try {
      await this.#label.flush()
    } catch (cause) {
      throw new SallyportError('RESULT_WITHHELD', 'The result’s label could not be stored; the result is withheld.', {
        hint: 'The call was made. Repair the label store before you call again.',
        cause,
      })
    }
  }

  /** Converts the error of a failed call: it ends the run, or the caller can react to it. */
  async #classifyFailure(error: unknown, call: FailedOperation): Promise<unknown> {
    if (this.isAborted) return this.signal.reason
    if (call.options.signal?.aborted || !(error instanceof Error)) return error
    const explained = await this.#explainFailure(error, call)
    if (explained instanceof FatalToolError) return this.#abort(explained)
    const length = this.#streak.add({ tool: call.name, args: call.args, text: explained.message })
    if (length < this.#maxSameFailures) return explained
    const message = `${call.name} failed ${length} times in a row with the same arguments: ${explained.message}`
    return this.#abort(new FatalToolError(call.name, message, { cause: explained }))
  }

  #toFatalError(tool: string, { text, nextStep }: ToolFailure): FatalToolError {
    const advice = nextStep === undefined ? {} : { nextStep: this.#route.redact(nextStep) }
    return new FatalToolError(tool, this.#route.redact(text), advice)
  }

  #abort(error: FatalToolError): unknown {
    this.#runController.abort(error)
    return this.signal.reason
  }

  /** A tool that was listed before may be missing at the isolated instance. */
  async #explainFailure(error: Error, { name, options }: FailedOperation): Promise<Error> {
    if (!this.isIsolated || error instanceof FatalToolError) return error
    try {
      const names = (await this.listTools(options)).map((tool) => tool.name)
      if (names.includes(name)) return error
      return new SallyportError(
        'TOOL_UNKNOWN',
        `The isolated instance has no tool "${name}", and only it is called while the session holds private data.${didYouMean(name, names)}`,
        { hint: 'List the tools again.' },
      )
    } catch {
      return error
    }
  }
}

interface FailedOperation {
  readonly name: string
  readonly args: JsonObject
  readonly options: OperationOptions
}

/** Reports changes of a resource until it is closed. */
export interface Subscription {
  close(): Promise<void>
}

interface SubscriptionParts {
  readonly route: Route
  readonly label: SessionLabel
  readonly open: (link: Link) => Promise<Subscription>
  /** Called if the subscription could not be moved to the isolated instance. */
  readonly onLost: (error: unknown) => void
}

/** Follows the session: when it becomes private, the subscription is reopened at the isolated instance. */
async function openMovingSubscription({ route, label, open, onLost }: SubscriptionParts): Promise<Subscription> {
  let current = route.run(open)
  let isClosed = false
  const move = async (): Promise<Subscription> => {
    const old = await current.catch(() => undefined)
    await old?.close().catch(() => {})
    return isClosed ? CLOSED_SUBSCRIPTION : route.run(open)
  }
  const unwatch = label.onPrivate(() => {
    current = move()
    current.catch(onLost)
  })
  await current
  return {
    close: async () => {
      isClosed = true
      unwatch()
      await (await current.catch(() => CLOSED_SUBSCRIPTION)).close()
    },
  }
}

const CLOSED_SUBSCRIPTION: Subscription = { close: async () => {} }
