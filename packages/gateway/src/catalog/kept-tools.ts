import type { ToolDefinition } from '@sallyport/core'
import { cachePin, type StoredDigests } from '../governance/governance.ts'

/** What was kept of a server's tools: their names, a text for each, and the digests of each where these are known. */
export interface StoredToolTexts {
  readonly names: readonly string[]
  readonly texts: readonly string[]
  readonly digests: readonly StoredDigests[] | undefined
  /** The places of those that are listed otherwise than they were defined; undefined where nobody has looked. */
  readonly repaired: readonly number[] | undefined
}

/** Texts are our own print, without escapes for what needs none. */
const CLIENT_SPECIFIC = /"outputSchema"|"sallyport\/|\/serverInfo"/

/** Tools as they were kept, each parsed when somebody looks into it: a start lists thousands and looks into none. */
export class StoredTools {
  readonly names: readonly string[]
  readonly #digests: readonly StoredDigests[] | undefined
  readonly #repaired: ReadonlySet<number> | undefined
  /** Let go of once all are parsed. */
  #texts: readonly string[]
  readonly #parsed = new Map<number, ToolDefinition>()
  #all: readonly ToolDefinition[] | undefined

  constructor({ names, texts, digests, repaired }: StoredToolTexts) {
    this.names = names
    this.#texts = texts
    this.#digests = digests
    this.#repaired = repaired && new Set(repaired)
  }

  /** The same objects each time: what is known of definitions hangs on them. */
  get all(): readonly ToolDefinition[] {
    this.#all ??= this.names.map((_, at) => this.tool(at))
    this.#texts = []
    return this.#all
  }

  tool(at: number): ToolDefinition {
    const known = this.#parsed.get(at)
    if (known !== undefined) return known
    const tool = JSON.parse(this.#texts[at] ?? 'null') as ToolDefinition
    const pin = this.#digests?.[at]?.pin
    if (pin !== undefined) cachePin(tool, pin)
    this.#parsed.set(at, tool)
    return tool
  }

  digests(at: number): StoredDigests | undefined {
    return this.#digests?.[at]
  }

  /**
   * Whether its definition can be printed under another name without a look into it: not where the name does not stand
   * first, nor where there may be something that not everybody is shown: an output schema, what only we may say, or what
   * the protocol does not allow.
   */
  isPrintable(at: number): boolean {
    if (this.#repaired?.has(at) !== false) return false
    const text = this.#texts[at]
    return text?.startsWith(this.#nameHead(at)) === true && !CLIENT_SPECIFIC.test(text)
  }

  /** Of one that is printable, for as long as there are texts. */
  printed(at: number, name: string): string | undefined {
    const rest = this.#texts[at]?.slice(this.#nameHead(at).length)
    return rest && `{"name":${JSON.stringify(name)}${rest}`
  }

  #nameHead(at: number): string {
    return `{"name":${JSON.stringify(this.names[at])}`
  }
}
