import type { AgentResults } from '../agents/agents.ts'
import type { Settings } from '../config/config.ts'

/** How much of a result one kind of caller is shown. */
export interface Audience {
  /** The maximum length of its texts together. Undefined: no limit. */
  readonly cap: number | undefined
  /** The same for an error. */
  readonly errorCap: number | undefined
  readonly maxLines: number | undefined
  /** Whether it may refuse a result without the structured content that an output schema promises. */
  readonly needsStructure: boolean
}

/** A program, an SDK client, an unknown agent: it gets everything. */
export const EVERYTHING: Audience = Object.freeze({
  ...{ cap: undefined, errorCap: undefined, maxLines: undefined },
  needsStructure: true,
})

/** An agent as far as its results are concerned. */
export interface KnownAgent {
  readonly id: string
  readonly aliases: readonly string[]
  readonly results: AgentResults
}

export interface AudiencesOptions {
  readonly settings: () => Pick<Settings, 'context'>
  readonly agents: readonly KnownAgent[]
}

/** A caller of a tool. */
export interface AudienceOfCall {
  /** The agent of the credential or the URL. */
  readonly agent: string
  /** `clientInfo.name`, which anybody can choose: it can only lower a limit. */
  readonly clientName: unknown
  readonly hasOutputSchema: () => boolean
}

/** Decides for each caller how much of a result it is shown (ISO-13). */
export class Audiences {
  readonly #settings: AudiencesOptions['settings']
  readonly #byAgent: ReadonlyMap<string, Audience>
  readonly #byClientName: ReadonlyMap<string, Audience>
  readonly #namePrefixes: readonly (readonly [prefix: string, audience: Audience])[]

  constructor({ settings, agents }: AudiencesOptions) {
    this.#settings = settings
    const audiences = agents.map((agent) => ({ agent, audience: toAudience(agent.results) }))
    this.#byAgent = new Map(
      audiences.flatMap(({ agent: { id, aliases }, audience }) =>
        [id, ...aliases].map((name) => [name, audience] as const),
      ),
    )
    const names = audiences.flatMap(({ agent, audience }) =>
      agent.results.clientNames.map((name) => [name, audience] as const),
    )
    this.#byClientName = new Map(names)
    this.#namePrefixes = names.filter(([name]) => name.endsWith('-'))
  }

  /** By credential or URL alone: lists must not depend on what a client says about itself (GW-19). */
  of(agent: string): Audience {
    const { cap } = this.#settings().context
    if (cap === undefined) return EVERYTHING
    const known = this.#byAgent.get(agent) ?? this.#byAgent.get(agent.toLowerCase().replaceAll('_', '-'))
    if (cap === 'auto') return known ?? EVERYTHING
    return { ...EVERYTHING, cap, errorCap: cap, needsStructure: known?.needsStructure ?? true }
  }

  /**
   * The same, lowered if the client introduces itself as a known agent. The list that the client got promises structured
   * content for a tool with an output schema; a client that insists on it gets the result whole.
   */
  forCall({ agent, clientName, hasOutputSchema }: AudienceOfCall): Audience {
    const own = this.of(agent)
    if (this.#settings().context.cap !== 'auto' || typeof clientName !== 'string') return own
    const said = this.#findByName(clientName)
    if (said === undefined || said === own) return own
    const isPromised = said.needsStructure && !(own.needsStructure && own.cap !== undefined)
    return isPromised && hasOutputSchema() ? own : lower(own, said)
  }

  #findByName(name: string): Audience | undefined {
    return this.#byClientName.get(name) ?? this.#namePrefixes.find(([prefix]) => name.startsWith(prefix))?.[1]
  }
}

const toAudience = ({ maxCharacters, maxErrorCharacters, maxLines, needsStructure }: AgentResults): Audience => ({
  ...{ cap: maxCharacters, errorCap: maxErrorCharacters ?? maxCharacters },
  ...{ maxLines, needsStructure },
})

const lower = (own: Audience, said: Audience): Audience => ({
  cap: smaller(own.cap, said.cap),
  errorCap: smaller(own.errorCap, said.errorCap),
  maxLines: smaller(own.maxLines, said.maxLines),
  needsStructure: own.needsStructure,
})

const smaller = (one: number | undefined, other: number | undefined): number | undefined =>
  one === undefined ? other : other === undefined ? one : Math.min(one, other)
