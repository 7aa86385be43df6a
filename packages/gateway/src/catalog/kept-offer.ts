import type { JsonObject } from '@sallyport/core'
import type { StoredDigests } from '../governance/governance.ts'
import type { StoredTools } from './kept-tools.ts'
import type { Offer } from './offer.ts'

/** A tool that was kept. Its definition is parsed when somebody asks for it. */
export class StoredOffer implements Offer {
  readonly kind = 'tool'
  readonly server: string
  readonly name: string
  readonly wire: string
  readonly recordName: string
  readonly isMcp: boolean
  readonly #tools: StoredTools
  readonly #at: number
  #definition: JsonObject | undefined

  constructor(what: Pick<Offer, 'server' | 'wire' | 'recordName' | 'isMcp'>, tools: StoredTools, at: number) {
    this.server = what.server
    this.name = tools.names[at] ?? ''
    this.wire = what.wire
    this.recordName = what.recordName
    this.isMcp = what.isMcp
    this.#tools = tools
    this.#at = at
  }

  get original(): JsonObject {
    return this.#tools.tool(this.#at)
  }

  get definition(): JsonObject {
    this.#definition ??= { ...this.original, name: this.wire }
    return this.#definition
  }

  get listedJson(): string | undefined {
    return this.#tools.printed(this.#at, this.wire)
  }

  get kept(): StoredDigests | undefined {
    return this.#tools.digests(this.#at)
  }
}
