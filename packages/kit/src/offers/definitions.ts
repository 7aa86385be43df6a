import {
  findPreset,
  isJsonObject,
  type Json,
  type JsonObject,
  PERMISSIONS,
  type Permission,
  type PermissionDeclaration,
  type Preset,
  type Presets,
  readPermissions,
  readPresets,
  SallyportError,
} from '@sallyport/core'
import type { CallContext } from '../call/call.ts'
import { type AuthOptions, type Environment, findScope } from '../identity/identity.ts'
import type { SessionKeys } from '../keys/keys.ts'
import { type LabelOptions, type LabelSettings, readLabelOptions } from '../private-data/private-data.ts'
import { type Content, readContent, textContent } from '../tool-result.ts'
import type { Completer } from './completion.ts'
import { type Icon, iconsField } from './icon.ts'
import type { Resource, ResourceTemplate, Variables } from './resource-definition.ts'
import type { Tool } from './tool-definition.ts'

/** Removes a tool, resource or prompt from its server. */
export interface Registration {
  remove(): void
}

/** The offers of one kind (tools, resources, prompts) of a server, in the order of their names. */
class Registry<Entry> {
  readonly #noun: string
  readonly #onChange: () => void
  readonly #entries = new Map<string, Entry>()
  #isOffered = false

  constructor(noun: string, changed: () => void) {
    this.#noun = noun
    this.#onChange = changed
  }

  /** Stays true once there was an offer of this kind: a server cannot withdraw a declared capability. */
  get isOffered(): boolean {
    return this.#isOffered
  }

  add(key: string, entry: Entry): Registration {
    if (this.#entries.has(key))
      throw new SallyportError('USAGE', `The ${this.#noun} "${key}" is registered twice.`, {
        hint: 'Remove the first registration before adding another.',
      })
    this.#entries.set(key, entry)
    this.#isOffered = true
    this.#onChange()
    return { remove: () => this.#remove(key, entry) }
  }

  get(key: string): Entry | undefined {
    return this.#entries.get(key)
  }

  /** Sorted by code unit, so that equal lists are equal texts. */
  list(): readonly Entry[] {
    const sorted = [...this.#entries].sort(([a], [b]) => (a < b ? -1 : 1))
    return sorted.map(([, entry]) => entry)
  }

  #remove(key: string, entry: Entry): void {
    if (this.#entries.get(key) !== entry) return
    this.#entries.delete(key)
    this.#onChange()
  }
}

/** The lists whose changes are reported. Templates belong to the resources. */
export type ListKind = 'tools' | 'resources' | 'prompts'

/** A changed list or a changed resource. */
export type Change = { readonly kind: ListKind } | { readonly uri: string }

/** A thrown error that is not a tool error. It is for the log; the caller learns only the incident id. */
export interface Bug {
  readonly incident: string
  /** `tool search_records`, `resource notes://all`, … */
  readonly where: string
  readonly error: unknown
}

/** The settings of a server, with their defaults. */
export interface ServerOptions {
  /** Default: 0.0.0. */
  readonly version?: string
  readonly title?: string
  /** How a model should use the server as a whole. */
  readonly instructions?: string
  readonly websiteUrl?: string
  readonly icons?: readonly Icon[]
  /** The tools belong to another server that this one represents, so an argument `user_id` is allowed. */
  readonly toolsOfOthers?: boolean
  /** Called with each bug. Default: prints it to standard error. */
  readonly onBug?: (bug: Bug) => void
  /** The folder for data of users and sessions. Default: `$SALLYPORT_DATA`, otherwise the system's folder for application state. */
  readonly dataFolder?: string
  /** The keys with which stored results are encrypted. Default: from the environment, see docs/kit/results.md. */
  readonly sessionKeys?: SessionKeys
  /** How callers are identified: over HTTP by their tokens, behind the gateway by those of the gateway. */
  readonly auth?: AuthOptions
  /** Every caller over HTTP is the same user "dev", without a token: for trials, on loopback only. */
  readonly dev?: boolean
  /** Only tools that need no other permissions are listed and run. Default: all. A token's `permissions` can reduce them. */
  readonly permissions?: PermissionDeclaration
  /** How private data is handled: see docs/kit/private-data.md. */
  readonly labels?: LabelOptions
  /** Your own presets for the option `result` of tools, or replacements of built-in ones: see docs/kit/results.md. */
  readonly presets?: JsonObject
  /** Default: that of the process. */
  readonly environment?: Environment
}

/** Everything that a server offers: defined by its author, read by its connections. */
export class Definitions {
  readonly info: JsonObject
  readonly instructions: string | undefined
  readonly toolsOfOthers: boolean
  /** Requests can carry tokens of the gateway that say who calls. */
  readonly takesCallers: boolean
  readonly tools = new Registry<Tool>('tool', () => this.#notifyChanged('tools'))
  readonly resources = new Registry<Resource>('resource', () => this.#notifyChanged('resources'))
  readonly templates = new Registry<ResourceTemplate>('resource template', () => this.#notifyChanged('resources'))
  readonly prompts = new Registry<Prompt>('prompt', () => this.#notifyChanged('prompts'))
  readonly labels: LabelSettings
  readonly #presets: Presets
  readonly #granted: readonly Permission[]
  readonly #onBug: (bug: Bug) => void
  readonly #watchers = new Set<(change: Change) => void>()
  readonly #pendingChanges = new Set<ListKind>()

  constructor(name: string, options: ServerOptions) {
    const { title, version = '0.0.0', websiteUrl, icons } = options
    this.info = {
      name,
      ...(title === undefined ? {} : { title }),
      version,
      ...(websiteUrl === undefined ? {} : { websiteUrl }),
      ...iconsField(icons),
    }
    this.instructions = options.instructions
    this.toolsOfOthers = options.toolsOfOthers ?? false
    this.takesCallers = options.auth?.gateway !== undefined
    this.labels = readLabelOptions(options.labels)
    this.#presets = readPresets(options.presets ?? {})
    this.#granted = readGrantedPermissions(options.permissions)
    this.#onBug = options.onBug ?? printBug
  }

  offers(kind: ListKind): boolean {
    if (kind === 'tools') return true
    if (kind === 'prompts') return this.prompts.isOffered
    return this.resources.isOffered || this.templates.isOffered
  }

  /** An unknown name is an error of the author, thrown when the tool is registered. */
  findPreset(name: string | undefined): Preset | undefined {
    return name === undefined ? undefined : findPreset(name, this.#presets)
  }

  /** Whether the caller may use the tool. A tool that is not granted is neither listed nor run. */
  isGranted(tool: Tool): boolean {
    const granted = narrowPermissions(this.#granted, findScope()?.claims.permissions)
    return tool.permissions.every((permission) => granted.includes(permission))
  }

  /** The listener is called once for all changes of a list in one tick. Returns the function to unsubscribe. */
  watch(watcher: (change: Change) => void): () => void {
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }

  /** Notifies its subscribers. */
  resourceUpdated(uri: string): void {
    for (const watcher of [...this.#watchers]) watcher({ uri })
  }

  findResource(uri: string): { readonly resource: Resource; readonly variables: Variables } | undefined {
    const exact = this.resources.get(uri)
    if (exact !== undefined) return { resource: exact, variables: {} }
    for (const resource of this.templates.list()) {
      const variables = resource.match(uri)
      if (variables !== undefined) return { resource, variables }
    }
    return undefined
  }

  /** Logs the error and returns its incident id. */
  reportBug(where: string, error: unknown): string {
    const incident = crypto.randomUUID().slice(0, 8)
    try {
      this.#onBug({ incident, where, error })
    } catch (failure) {
      printBug({ incident, where: `the report of a bug in ${where}`, error: failure })
    }
    return incident
  }

  #notifyChanged(kind: ListKind): void {
    if (this.#watchers.size === 0 || this.#pendingChanges.has(kind)) return
    this.#pendingChanges.add(kind)
    queueMicrotask(() => {
      this.#pendingChanges.delete(kind)
      for (const watcher of [...this.#watchers]) watcher({ kind })
    })
  }
}

function printBug({ incident, where, error }: Bug): void {
  try {
    console.error(`incident ${incident} in ${where}:`, error)
  } catch {
    // A thrown value may throw again when it is inspected.
    console.error(`incident ${incident} in ${where}: an error that cannot be printed`)
  }
}

/** The permissions that a server grants. Default: all. */
function readGrantedPermissions(declared: PermissionDeclaration | undefined): readonly Permission[] {
  if (declared === undefined) return PERMISSIONS
  const granted = readPermissions(declared)
  if (granted !== undefined) return granted
  throw new SallyportError('USAGE', `The server has the permissions ${JSON.stringify(declared)}.`, {
    hint: `Expected one or more of ${PERMISSIONS.join(', ')}.`,
  })
}

/**
 * Reduces the permissions to those in the token's `permissions` claim: a list, or a string with spaces between, like
 * scopes. Without the claim all remain. A claim that cannot be read, or has only unknown words, grants nothing.
 */
function narrowPermissions(granted: readonly Permission[], claim: Json | undefined): readonly Permission[] {
  if (claim === undefined) return granted
  const words = typeof claim === 'string' ? claim.split(/\s+/) : claim
  if (!Array.isArray(words)) return []
  const known = words.filter((word) => typeof word === 'string').map((word) => word.toUpperCase())
  return granted.filter((permission) => known.includes(permission))
}

/** An argument of a prompt, as clients show it. */
export interface PromptArgument {
  readonly name: string
  readonly description?: string
  readonly required?: boolean
  /** Suggests values to clients that offer completion. */
  readonly complete?: Completer
}

/** How a prompt is described to clients. */
export interface PromptOptions {
  readonly title?: string
  readonly description?: string
  readonly arguments?: readonly PromptArgument[]
  readonly icons?: readonly Icon[]
}

/** One message of a prompt. */
export interface PromptMessage {
  readonly role: 'user' | 'assistant'
  readonly content: Content
}

/** A string becomes one message of the user. */
type PromptValue = string | readonly PromptMessage[]
type PromptArguments = Readonly<Record<string, string>>
/** Produces the messages of a prompt from its arguments. */
export type PromptHandler = (args: PromptArguments, context: CallContext) => PromptValue | Promise<PromptValue>

interface Prompt {
  readonly definition: JsonObject
  readonly options: PromptOptions
  readonly handler: PromptHandler
  readonly completers: ReadonlyMap<string, Completer | undefined>
}

export function definePrompt(name: string, options: PromptOptions, handler: PromptHandler): Prompt {
  const { arguments: args, ...rest } = options
  const shown = args?.map(({ complete: _, ...argument }) => argument)
  return {
    definition: { name, ...(rest as JsonObject), ...(shown === undefined ? {} : { arguments: shown }) },
    options,
    handler,
    completers: new Map(args?.map(({ name: argument, complete }) => [argument, complete])),
  }
}

/** Returns the arguments of a prompt, which are always strings, or a sentence about a problem in them. */
export function readPromptArguments(prompt: Prompt, given: unknown): PromptArguments | string {
  const args = isJsonObject(given) ? given : {}
  for (const { name, required } of prompt.options.arguments ?? []) {
    if (required && !Object.hasOwn(args, name)) return `The argument "${name}" is missing.`
  }
  const wrong = Object.entries(args).find(([, value]) => typeof value !== 'string')
  if (wrong !== undefined) return `The argument "${wrong[0].slice(0, 60)}" must be a string.`
  return args as PromptArguments
}

export function createPromptResult(prompt: Prompt, value: PromptValue): object {
  const messages = typeof value === 'string' ? [{ role: 'user', content: textContent(value) }] : readMessages(value)
  const { description } = prompt.options
  return { ...(description === undefined ? {} : { description }), messages }
}

/** Copies only the known members of messages: they may come from a remote API. */
function readMessages(value: unknown): readonly PromptMessage[] {
  if (!Array.isArray(value)) throw new TypeError('A prompt returned neither a string nor an array of messages.')
  return value.map((message: unknown, index) => {
    const { role, content } = isJsonObject(message) ? message : {}
    if (role !== 'user' && role !== 'assistant')
      throw new TypeError(`messages[${index}].role of a prompt is not "user" or "assistant".`)
    return { role, content: readContent(content, `messages[${index}].content`) }
  })
}
