import {
  type Finding,
  inferPermission,
  inferRisk,
  type JsonObject,
  type Permission,
  type PolicySources,
  type RiskLevel,
  type RiskTokens,
  type ToolDefinition,
} from '@sallyport/core'

export interface InferableOffer {
  readonly kind: 'tool' | 'prompt' | 'resource' | 'template' | 'instructions' | 'question'
  readonly server: string
  readonly name: string
  /** The definition as the server sent it. */
  readonly original: JsonObject
  /** False for the gateway's own tools. */
  readonly isMcp: boolean
}

export interface InferenceOptions {
  readonly tokens: RiskTokens
  /** Whether the server's annotations of its tools are trusted. */
  readonly trusted: boolean
  /** The suspicious findings in the definition. */
  readonly findings: () => readonly Finding[]
}

type Inference = PolicySources['inferred']

interface Inferred<Value> {
  readonly value: Value
  readonly reason: string
}

/** Infers the policy of an offer that has no entry. Each value is computed only when it is read. */
export function inferPolicy(offer: InferableOffer, options: InferenceOptions): Inference {
  if (offer.kind === 'question') return inferQuestionPolicy(offer.name)
  if (offer.kind !== 'tool') return offer.isMcp ? READ_ONLY_POLICY : OWN_READ_ONLY_POLICY
  return new InferredPolicy(offer, options)
}

class InferredPolicy implements Inference {
  readonly #tool: InferableOffer
  readonly #options: InferenceOptions

  constructor(tool: InferableOffer, options: InferenceOptions) {
    this.#tool = tool
    this.#options = options
  }

  get category(): string {
    return this.#tool.isMcp ? 'mcp' : 'built_in'
  }

  get risk(): Inferred<RiskLevel> {
    const { isMcp, original } = this.#tool
    // The gateway's own tools are trusted, and so are their declared permissions.
    if (!isMcp && !this.permission.value.includes('WRITE')) return { value: 'low', reason: 'it only reads' }
    const findings = isMcp ? this.#options.findings() : []
    const { level, reason } = inferRisk(original as ToolDefinition, { tokens: this.#options.tokens, findings })
    return { value: level, reason }
  }

  get permission(): Inferred<readonly Permission[]> {
    const { isMcp, original } = this.#tool
    const { tokens, trusted } = this.#options
    const hints = { tokens, trusted: trusted || !isMcp, networkIsolated: !isMcp }
    const { permission, reason } = inferPermission(original as ToolDefinition, hints)
    return { value: permission, reason }
  }
}

/** Resources and prompts are only read. */
const READ_ONLY_POLICY: Inference = {
  category: 'mcp',
  risk: { value: 'low', reason: 'it is only read' },
  permission: { value: ['READ', 'CONNECT'], reason: 'it is only read; it may come from anywhere' },
}

/** The gateway's own: stored results of the session, for example. */
const OWN_READ_ONLY_POLICY: Inference = {
  ...READ_ONLY_POLICY,
  category: 'built_in',
  permission: { value: ['READ'], reason: 'it is only read, and it comes from the gateway' },
}

/** Roots: the names of the folders that a client works in, without their contents. */
const ROOTS_POLICY: Inference = {
  category: 'mcp',
  risk: { value: 'low', reason: 'it sends only the names of folders' },
  permission: { value: ['READ', 'CONNECT'], reason: 'it sends the names of folders to the server' },
}

/** A person sees the question and decides what to answer. */
const ELICITATION_POLICY: Inference = {
  category: 'mcp',
  risk: { value: 'low', reason: 'a person reads it and answers' },
  permission: { value: ['READ', 'WRITE', 'CONNECT'], reason: 'what a person answers goes to the server' },
}

/** Sampling uses the user's model, and the answer may contain what the model knows. */
const SAMPLING_POLICY: Inference = {
  category: 'mcp',
  risk: { value: 'medium', reason: "it uses the client's model" },
  permission: { value: ['READ', 'WRITE', 'CONNECT'], reason: 'what the model answers goes to the server' },
}

function inferQuestionPolicy(method: string): Inference {
  if (method === 'roots/list') return ROOTS_POLICY
  return method === 'elicitation/create' ? ELICITATION_POLICY : SAMPLING_POLICY
}
