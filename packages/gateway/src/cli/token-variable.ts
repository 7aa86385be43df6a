import { quoteText, SallyportError } from '@sallyport/core'
import { TOKEN_VARIABLE } from '../agents/agents.ts'
import type { Environment } from '../config/config.ts'

/** Whether a variable holds a Sallyport token: processes that we start must not see it. */
export const isTokenVariable = (name: string): boolean =>
  name === TOKEN_VARIABLE || name.startsWith(`${TOKEN_VARIABLE}_`)

export const withoutTokens = (environment: Environment): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(environment).filter(([name]) => !isTokenVariable(name)))

/** A variable reference that an agent did not replace, in the syntax of any agent. */
const REFERENCE = /\$\{|\{env:|\{\{|^\$\w|^%\w+%$|^<.*>$/

/**
 * Reads the token of a window. A variable that is named explicitly must be set: without its token the window would have
 * the tools of another profile.
 */
export function readToken(environment: Environment, named: string | undefined): string | undefined {
  const variable = named ?? TOKEN_VARIABLE
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
