import { createHash } from 'node:crypto'
import { quoteText, SallyportError } from '@sallyport/core'
import type { Environment } from '../config/config.ts'

/** Used if an entry does not name another variable. */
const DEFAULT_VARIABLE = 'SALLYPORT_TOKEN'

/** Whether a variable holds a Sallyport token: processes that we start must not see it. */
export const isTokenVariable = (name: string): boolean =>
  name === DEFAULT_VARIABLE || name.startsWith(`${DEFAULT_VARIABLE}_`)

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
  return [DEFAULT_VARIABLE, ...words].join('_')
}

const SIMPLE_NAME = /^[a-z0-9]+(-[a-z0-9]+)*$/

export const withoutTokens = (environment: Environment): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(environment).filter(([name]) => !isTokenVariable(name)))

/** A variable reference that an agent did not replace, in the syntax of any agent. */
const REFERENCE = /\$\{|\{env:|\{\{|^\$\w|^%\w+%$|^<.*>$/

/**
 * Reads the token of a window. A variable that is named explicitly must be set: without its token the window would have
 * the tools of another profile.
 */
export function readToken(environment: Environment, named: string | undefined): string | undefined {
  const variable = named ?? DEFAULT_VARIABLE
  const value = Object.hasOwn(environment, variable) ? environment[variable] : undefined
  if (value === undefined && named === undefined) return undefined
  const problem = findTokenProblem(value)
  if (problem === undefined) return value
  throw new SallyportError(
    'UNAUTHENTICATED',
    `The variable ${variable} ${problem}; expected the token of this window.`,
    {
      hint: `Set ${variable} where the agent is started from, or make a new token with \`sallyport connect <agent>\`.`,
    },
  )
}

function findTokenProblem(value: string | undefined): string | undefined {
  if (value === undefined) return 'is not set'
  if (value.trim() === '') return 'is empty'
  return REFERENCE.test(value) ? `contains ${quoteText(value, 60)}, which the agent did not replace` : undefined
}
