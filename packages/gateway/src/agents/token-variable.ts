import { createHash } from 'node:crypto'

/** The variable with the token of a window, if its entry does not name another one. */
export const TOKEN_VARIABLE = 'SALLYPORT_TOKEN'

/**
 * The variable for the token of one profile. Each profile has its own, so that two profiles of one user are never
 * confused.
 */
export function tokenVariableName(agent: string, variant: string): string {
  const name = variant.normalize('NFC').toLowerCase()
  const parts = name === 'default' ? [agent] : [agent, name]
  // A hash distinguishes names that would give the same variable: `a-b` and `a_b` are two profiles.
  const rest = SIMPLE_NAME.test(name) ? [] : [createHash('sha256').update(name).digest('hex').slice(0, 8)]
  const words = [...parts, ...rest].map((part) => part.toUpperCase().replaceAll(/[^A-Z0-9]+/g, '_'))
  return [TOKEN_VARIABLE, ...words].join('_')
}

const SIMPLE_NAME = /^[a-z0-9]+(-[a-z0-9]+)*$/
