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
import { type LabelOptions, type LabelSettings, readLabelOptions } from '../private-data/private-data.ts'
import { type Content, readContent, textContent } from '../tool-result.ts'
import type { Completer } from './completion.ts'
import { type Icon, iconsField } from './icon.ts'
import type { Resource, ResourceTemplate, Variables } from './resource-definition.ts'
import type { Tool } from './tool-definition.ts'

/** Takes a thing out of its server again. */
export interface Registration {
  remove(): void
}

/** The named things of one kind that a server offers, in the order of their names. */
class Registry<Entry> {
  readonly #noun: string
  readonly #onChange: () => void
  readonly #entries = new Map<string, Entry>()
  #isOffered = false

  constructor(noun: string, changed: () => void) {
    this.#noun = noun
    this.#onChange = changed
  }

  /** Something of this kind has been there; a server does not take back a capability that it declared. */
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

  /** Sorted by code unit, so that every listing of the same things is the same text. */
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

/** The lists whose changes are told. Templates belong to the resources. */
export type ListKind = 'tools' | 'resources' | 'prompts'

/** A list that is another now, or a resource that is. */
export type Change = { readonly kind: ListKind } | { readonly uri: string }

/** Something that was thrown and is no tool error. It is for the log; the caller learns the incident only. */
export interface Bug {
  readonly incident: string
  /** `tool search_records`, `resource notes://all`, … */
  readonly where: string
  readonly error: unknown
}

/** The settings of a server, with their defaults. */
export interface ServerOptions {
  /** Absent: 0.0.0. */
  readonly version?: string
  readonly title?: string
  /** How a model should use the server as a whole. */
  readonly instructions?: string
  readonly websiteUrl?: string
  readonly icons?: readonly Icon[]
  /** The tools are those of another server, which this one stands for: an argument `user_id` is then none of ours. */
  readonly toolsOfOthers?: boolean
  /** Where bugs are told. Absent: standard error. */
  readonly onBug?: (bug: Bug) => void
  /** What is kept for users and sessions lies below it. Absent: `$SALLYPORT_DATA`, else the system's place for state. */
  readonly dataFolder?: string
  /** How callers over HTTP are told apart. */
  readonly auth?: AuthOptions
  /** Everybody who asks over HTTP is one made-up user: for trying things, on loopback only. */
  readonly dev?: boolean
  /** Only tools that need no more than these are listed and run. Absent: all. A token's `permissions` narrow it further. */
  readonly permissions?: PermissionDeclaration
  /** What becomes of private data: see docs/kit/private-data.md. */
  readonly labels?: LabelOptions
  /** Presets of your own for the option `result` of tools, or others for the built-in ones: see docs/kit/results.md. */
  readonly presets?: JsonObject
  /** Absent: that of the process. */
  readonly environment?: Environment
}

/** All that a server offers: written by its author, read by its connections. */
export class Definitions {
  readonly info: JsonObject
  readonly instructions: string | undefined
  readonly toolsOfOthers: boolean
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

  /** An unknown name is an error of the author, told when the tool is registered. */
  findPreset(name: string | undefined): Preset | undefined {
    return name === undefined ? undefined : findPreset(name, this.#presets)
  }

  /** May the caller use the tool? What is not granted is neither listed nor run. */
  isGranted(tool: Tool): boolean {
    const granted = narrowPermissions(this.#granted, findScope()?.claims.permissions)
    return tool.permissions.every((permission) => granted.includes(permission))
  }

  /** Called once for all changes of a list in one turn. Returns the unsubscribe. */
  watch(watcher: (change: Change) => void): () => void {
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }

  /** Tells whoever has subscribed to it. */
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

  /** Tells the log and returns the incident's name. */
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
    // What was thrown may throw again when it is looked at.
    console.error(`incident ${incident} in ${where}: an error that cannot be printed`)
  }
}

/** What a server lets anybody do. Absent: all. */
function readGrantedPermissions(declared: PermissionDeclaration | undefined): readonly Permission[] {
  if (declared === undefined) return PERMISSIONS
  const granted = readPermissions(declared)
  if (granted !== undefined) return granted
  throw new SallyportError('USAGE', `The server has the permissions ${JSON.stringify(declared)}.`, {
    hint: `Expected one or more of ${PERMISSIONS.join(', ')}.`,
  })
}

/**
 * What is left of it for one caller by the `permissions` claim of the token: a list, or a text with spaces as scopes
 * are written. Without the claim all is left; one that cannot be read leaves nothing, as do words that are not known.
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

/** A text becomes one message of the user. */
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

/** The arguments of a prompt, which are texts always; or a sentence that says what is wrong with them. */
export function readPromptArguments(prompt: Prompt, given: unknown): PromptArguments | string {
  const args = isJsonObject(given) ? given : {}
  for (const { name, required } of prompt.options.arguments ?? []) {
    if (required && !Object.hasOwn(args, name)) return `The argument "${name}" is missing.`
  }
  const wrong = Object.entries(args).find(([, value]) => typeof value !== 'string')
  if (wrong !== undefined) return `The argument "${wrong[0].slice(0, 60)}" is not a text.`
  return args as PromptArguments
}

export function createPromptResult(prompt: Prompt, value: PromptValue): object {
  const messages = typeof value === 'string' ? [{ role: 'user', content: textContent(value) }] : readMessages(value)
  const { description } = prompt.options
  return { ...(description === undefined ? {} : { description }), messages }
}

/** The messages and nothing that came with them: what a remote API said is data here too. */
function readMessages(value: unknown): readonly PromptMessage[] {
  if (!Array.isArray(value)) throw new TypeError('A prompt returned neither a string nor an array of messages.')
  return value.map((message: unknown, index) => {
    const { role, content } = isJsonObject(message) ? message : {}
    if (role !== 'user' && role !== 'assistant')
      throw new TypeError(`messages[${index}].role of a prompt is not "user" or "assistant".`)
    return { role, content: readContent(content, `messages[${index}].content`) }
  })
}
