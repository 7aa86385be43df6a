import type { JsonObject } from '@sallyport/core'
import type { StoredDigests } from '../governance/governance.ts'

/** One thing that a server offers and a client may ask for, or its instructions; or, of the kind `question`, what the server asks of clients. */
export interface Offer {
  readonly kind: 'tool' | 'prompt' | 'resource' | 'template' | 'instructions' | 'question'
  readonly server: string
  /** What the server itself calls it: a tool's or prompt's name, a URI, a URI template, the method of a question. */
  readonly name: string
  /** What clients call it. */
  readonly wire: string
  /** What clients would call it, had nobody renamed it. */
  readonly defaultWire?: string
  /** What records call it. */
  readonly recordName: string
  /** As the server defined it. */
  readonly original: JsonObject
  /** The same under the name that clients see. */
  readonly definition: JsonObject
  /** `definition` as it stands in lists, where that is known without looking into it. */
  readonly listedJson?: string | undefined
  /** The digests of `original`, where they were kept. */
  readonly kept?: StoredDigests | undefined
  /** The output schema that legacy clients are shown in place of one that they could not take. */
  readonly legacyOutput?: JsonObject
  /** Of a resource that no list names: its text is the caller's. */
  readonly isUnlisted?: true
  /** The template that its URI matches. */
  readonly through?: Offer
  /** The method by which it was asked for, where that has rules besides those of the thing itself. */
  readonly askedBy?: string
  /** False for the gateway's own. */
  readonly isMcp: boolean
}

const SECTIONS = { prompt: 'prompts', resource: 'resources', template: 'templates' } as const

/** What people call it when they review it: a tool by its canonical name, all else as `server/prompts/name`. */
export function reviewName({ kind, server, name, recordName }: Offer): string {
  if (kind === 'instructions') return `${server}/instructions`
  return kind === 'prompt' || kind === 'resource' || kind === 'template'
    ? `${server}/${SECTIONS[kind]}/${name}`
    : recordName
}
