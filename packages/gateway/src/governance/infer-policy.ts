import type { JsonObject, PolicySources, RiskTokens } from '@sallyport/core'

export interface Inferable {
  readonly kind: 'tool' | 'prompt' | 'resource' | 'template'
  readonly name: string
  readonly isMcp: boolean
  readonly definition: JsonObject
}

export interface InferenceOptions {
  readonly tokens: RiskTokens
  readonly isTrusted: boolean
}

/** What a tool is taken for where nobody has written what it is. Looked into only when somebody asks. */
export function inferPolicy(_offer: Inferable, _options: InferenceOptions): PolicySources['inferred'] {
  return { category: 'mcp', risk: { value: 'medium', reason: '' }, permission: { value: ['READ'], reason: '' } }
}
