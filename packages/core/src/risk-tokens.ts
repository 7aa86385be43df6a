/** Words of a tool's name that tell its risk, as they are without a word of the operator. */
export const RISK_TOKENS = {
  high: ['write', 'delete', 'remove', 'create', 'update'],
  low: ['read', 'get', 'list', 'search'],
  nouns: ['post', 'run', 'update'],
} as const
