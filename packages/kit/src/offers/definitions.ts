import {
  findPreset,
  type JsonObject,
  type Permission,
  type PermissionDeclaration,
  type Preset,
  type Presets,
  readPresets,
} from '@sallyport/core'
import { type AuthOptions, type Environment, findScope } from '../identity/identity.ts'
import { type LabelOptions, type LabelSettings, readLabelOptions } from '../private-data/private-data.ts'
import { narrowPermissions, readGrantedPermissions } from './granted-permissions.ts'
import { type Icon, iconsField } from './icon.ts'
import type { Prompt } from './prompt-definition.ts'
import { Registry } from './registry.ts'
import type { Resource, ResourceTemplate, Variables } from './resource-definition.ts'
import type { Tool } from './tool-definition.ts'

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
