import { createHash } from 'node:crypto'
import { quoteText, SallyportError } from '@sallyport/core'
import type { Environment } from '../config/config.ts'

/** Read where an entry names no variable of its own. */
const DEFAULT_VARIABLE = 'SALLYPORT_TOKEN'

/** Whether a variable holds a token of ours: nobody whom we start has any business with it. */
export const isTokenVariable = (name: string): boolean =>
  name === DEFAULT_VARIABLE || name.startsWith(`${DEFAULT_VARIABLE}_`)

/** The variable in which one profile finds its token, so that two of one user are never mixed up. */
export function tokenVariableName(agent: string, variant: string): string {
  const name = variant.normalize('NFC').toLowerCase()
  const parts = name === 'default' ? [agent] : [agent, name]
  // What a variable cannot say is told apart otherwise: `a-b` and `a_b` are two profiles.
  const rest = SIMPLE_NAME.test(name) ? [] : [createHash('sha256').update(name).digest('hex').slice(0, 8)]
  const words = [...parts, ...rest].map((part) => part.toUpperCase().replaceAll(/[^A-Z0-9]+/g, '_'))
  return [DEFAULT_VARIABLE, ...words].join('_')
}

const SIMPLE_NAME = /^[a-z0-9]+(-[a-z0-9]+)*$/

export const withoutTokens = (environment: Environment): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(environment).filter(([name]) => !isTokenVariable(name)))

/** What agents leave in the place of a variable that they do not know, in all their ways to write one. */
const REFERENCE = /\$\{|\{env:|\{\{|^\$\w|^%\w+%$|^<.*>$/

/**
 * The token that a window speaks for. Whoever names a variable means one that is set: without it the window would have
 * the tools of somebody else.
 */
export function readToken(environment: Environment, named: string | undefined): string | undefined {
  const variable = named ?? DEFAULT_VARIABLE
  const value = Object.hasOwn(environment, variable) ? environment[variable] : undefined
  if (value === undefined && named === undefined) return undefined
  const trouble = findTokenProblem(value)
  if (trouble === undefined) return value
  throw new SallyportError(
    'UNAUTHENTICATED',
    `The variable ${variable} ${trouble}; expected the token of this window.`,
    {
      hint: `Set ${variable} where the agent is started from, or make a new token with \`sallyport connect <agent>\`.`,
    },
  )
}

function findTokenProblem(value: string | undefined): string | undefined {
  if (value === undefined) return 'is not set'
  if (value.trim() === '') return 'is empty'
  return REFERENCE.test(value) ? `holds the text ${quoteText(value, 60)}, which the agent did not replace` : undefined
}
