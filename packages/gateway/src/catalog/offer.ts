import type { JsonObject } from '@sallyport/core'
import type { StoredDigests } from '../governance/governance.ts'

/**
 * One thing that a server offers and a client may ask for, or its instructions. With the kind `question` it is what the
 * server asks of clients.
 */
export interface Offer {
  readonly kind: 'tool' | 'prompt' | 'resource' | 'template' | 'instructions' | 'question'
  readonly server: string
  /** The server's own name for it: the name of a tool or prompt, a URI, a URI template, or the method of a question. */
  readonly name: string
  /** The name that clients use. */
  readonly wire: string
  /** The name that clients would use if nobody had renamed it. */
  readonly defaultWire?: string
  /** The name in records. */
  readonly recordName: string
  /** As the server defined it. */
  readonly original: JsonObject
  /** The definition under the name that clients see. */
  readonly definition: JsonObject
  /** `definition` as JSON for lists, if it is known without parsing. */
  readonly listedJson?: string | undefined
  /** The digests of `original`, if they were stored. */
  readonly storedDigests?: StoredDigests | undefined
  /** The output schema for legacy clients, if they could not accept the original one. */
  readonly legacyOutput?: JsonObject
  /** True for a resource that is in no list: its URI is the caller's text. */
  readonly isUnlisted?: true
  /** Only clients whose own connection lists it see it. */
  readonly isRevealed?: true
  /** The template that its URI matches. */
  readonly through?: Offer
  /** The method of the request, if that method has rules of its own. */
  readonly askedBy?: string
  /** False for the gateway's own offers. */
  readonly isMcp: boolean
}

const SECTIONS = { prompt: 'prompts', resource: 'resources', template: 'templates' } as const

/** The name that people review it under: a tool by its canonical name, everything else as `server/prompts/name`. */
export function reviewName({ kind, server, name, recordName }: Offer): string {
  if (kind === 'instructions') return `${server}/instructions`
  return kind === 'prompt' || kind === 'resource' || kind === 'template'
    ? `${server}/${SECTIONS[kind]}/${name}`
    : recordName
}
