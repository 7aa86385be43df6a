import type { ToolDefinition } from '@sallyport/core'
import { type KeptDigests, recallPin } from '../governance/governance.ts'

/** What was kept of a server's tools: their names, a text for each, and the digests of each where these are known. */
export interface KeptTexts {
  readonly names: readonly string[]
  readonly texts: readonly string[]
  readonly digests: readonly KeptDigests[] | undefined
}

/** Texts are our own print, without escapes for what needs none. */
const NOT_FOR_ALL = /"outputSchema"|"sallyport\/|\/serverInfo"/

/** Tools as they were kept, each parsed when somebody looks into it: a start lists thousands and looks into none. */
export class KeptTools {
  readonly names: readonly string[]
  readonly #digests: readonly KeptDigests[] | undefined
  /** Let go of once all are parsed. */
  #texts: readonly string[]
  readonly #parsed = new Map<number, ToolDefinition>()
  #all: readonly ToolDefinition[] | undefined

  constructor({ names, texts, digests }: KeptTexts) {
    this.names = names
    this.#texts = texts
    this.#digests = digests
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
    if (pin !== undefined) recallPin(tool, pin)
    this.#parsed.set(at, tool)
    return tool
  }

  digests(at: number): KeptDigests | undefined {
    return this.#digests?.[at]
  }

  /**
   * Whether its definition can be printed under another name without a look into it: not where the name does not stand
   * first, nor where there may be something that not everybody is shown: an output schema, or what only we may say.
   */
  isPrintable(at: number): boolean {
    const text = this.#texts[at]
    return text?.startsWith(this.#head(at)) === true && !NOT_FOR_ALL.test(text)
  }

  /** Of one that is printable, for as long as there are texts. */
  printed(at: number, name: string): string | undefined {
    const rest = this.#texts[at]?.slice(this.#head(at).length)
    return rest && `{"name":${JSON.stringify(name)}${rest}`
  }

  #head(at: number): string {
    return `{"name":${JSON.stringify(this.names[at])}`
  }
}
