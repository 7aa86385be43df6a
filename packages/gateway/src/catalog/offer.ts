import type { JsonObject } from '@sallyport/core'

/** One thing that a server offers and a client may ask for. */
export interface Offer {
  readonly kind: 'tool' | 'prompt' | 'resource' | 'template'
  readonly server: string
  /** What the server itself calls it: a tool's or prompt's name, a URI, a URI template. */
  readonly name: string
  /** What clients call it. */
  readonly wire: string
  /** What records call it. */
  readonly recordName: string
  /** As the server defined it, under the name that clients see. */
  readonly definition: JsonObject
  /** False for the gateway's own. */
  readonly isMcp: boolean
}
