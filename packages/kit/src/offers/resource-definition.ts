import { type JsonObject, SallyportError } from '@sallyport/core'
import type { CallContext } from '../call/call.ts'
import type { Completer } from './completion.ts'
import type { Icon } from './icon.ts'

/** How a resource is described to clients. */
export interface ResourceOptions {
  /** Default: the URI itself. */
  readonly name?: string
  readonly title?: string
  readonly description?: string
  readonly mimeType?: string
  readonly icons?: readonly Icon[]
}

/** How a resource template is described to clients. */
export interface ResourceTemplateOptions extends ResourceOptions {
  /** Suggests values for the template's variables to clients that offer completion. */
  readonly complete?: Readonly<Record<string, Completer>>
}

/** The resource that a client reads. */
export interface ResourceRequest {
  readonly uri: string
  /** The value of each `{variable}` of a template. */
  readonly variables: Variables
}

/** Text or bytes; `undefined` if there is no such resource. */
export type ResourceReader = (request: ResourceRequest, context: CallContext) => ResourceValue | Promise<ResourceValue>

export type ResourceValue = string | Uint8Array | undefined

export interface Resource {
  readonly definition: JsonObject
  readonly mimeType: string | undefined
  readonly read: ResourceReader
}

export type Variables = Readonly<Record<string, string>>

export interface ResourceTemplate extends Resource {
  /** The values of the template's variables in the URI; `undefined` if the URI does not match. */
  match(uri: string): Variables | undefined
  readonly completers: ReadonlyMap<string, Completer | undefined>
}

export function defineResource(uri: string, options: ResourceOptions, read: ResourceReader): Resource {
  return {
    definition: { uri, name: uri, ...(options as JsonObject) },
    mimeType: options.mimeType,
    read,
  }
}

const VARIABLE = /^\{([A-Za-z_]\w*)\}$/

/** A template whose variables each fill a whole segment between slashes (`notes://{id}/text`), so that matching is linear. */
export function defineResourceTemplate(
  template: string,
  { complete = {}, ...options }: ResourceTemplateOptions,
  read: ResourceReader,
): ResourceTemplate {
  const parts = template.split('/').map((part) => ({ part, variable: VARIABLE.exec(part)?.[1] }))
  if (parts.some(({ part, variable }) => variable === undefined && /[{}]/.test(part)))
    throw new SallyportError('USAGE', `"${template}" is a URI template that the kit cannot match.`, {
      hint: 'Each {variable} must fill a whole segment between slashes, such as notes://{id}.',
    })
  return {
    definition: { uriTemplate: template, name: template, ...(options as JsonObject) },
    mimeType: options.mimeType,
    read,
    match: (uri) => matchSegments(uri.split('/'), parts),
    completers: new Map(Object.entries(complete)),
  }
}

function matchSegments(
  segments: readonly string[],
  parts: readonly { readonly part: string; readonly variable: string | undefined }[],
): Variables | undefined {
  if (segments.length !== parts.length) return undefined
  const variables: [string, string][] = []
  for (const [index, { part, variable }] of parts.entries()) {
    const segment = segments[index] ?? ''
    const value = variable === undefined ? undefined : decode(segment)
    if (variable === undefined ? segment !== part : !value) return undefined
    if (variable !== undefined && value !== undefined) variables.push([variable, value])
  }
  return Object.fromEntries(variables)
}

function decode(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment)
  } catch {
    return undefined
  }
}

export function createResourceContents(uri: string, value: string | Uint8Array, mimeType: string | undefined): object {
  const kind = mimeType === undefined ? {} : { mimeType }
  if (typeof value === 'string') return { contents: [{ uri, ...kind, text: value }] }
  if (!((value as unknown) instanceof Uint8Array))
    throw new TypeError('A resource returned neither a string nor a Uint8Array.')
  return { contents: [{ uri, ...kind, blob: Buffer.from(value).toString('base64') }] }
}
