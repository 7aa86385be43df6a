import { didYouMean, SallyportError } from '@sallyport/core'

export type Environment = Readonly<Record<string, string | undefined>>

/** Every variable of ours that somebody may set. */
export const KNOWN_VARIABLES = ['SALLYPORT_HOME', 'SALLYPORT_STATE'] as const

export interface SallyportEnvironment {
  readonly home: string | undefined
  readonly state: string | undefined
}

/** Our own variables, checked: a malformed one is an error that names it. */
export function readEnvironment(environment: Environment): SallyportEnvironment {
  return { home: readFolder(environment, 'SALLYPORT_HOME'), state: readFolder(environment, 'SALLYPORT_STATE') }
}

/** A sentence for each SALLYPORT_* variable that nobody reads. Other rooms name the ones that they read. */
export function describeUnknownVariables(
  environment: Environment,
  alsoKnown: readonly string[] = [],
): readonly string[] {
  const known = [...KNOWN_VARIABLES, ...alsoKnown]
  return Object.keys(environment)
    .filter((name) => name.startsWith('SALLYPORT_') && !known.includes(name))
    .map((name) => `The variable ${name} is not known and is ignored.${didYouMean(name, known)}`)
}

/** The value of a variable, and never something that objects have anyway (`constructor`). */
export function createLookup(environment: Environment): (name: string) => string | undefined {
  return (name) => (Object.hasOwn(environment, name) ? environment[name] : undefined)
}

function readFolder(environment: Environment, name: (typeof KNOWN_VARIABLES)[number]): string | undefined {
  const value = createLookup(environment)(name)
  if (value === undefined) return undefined
  const problem = findFolderProblem(value)
  if (problem === undefined) return value
  throw new SallyportError('CONFIG_INVALID', `The variable ${name} ${problem}; expected the path of a folder.`, {
    hint: `Set ${name} to a folder, or unset it.`,
  })
}

function findFolderProblem(value: string): string | undefined {
  if (value.trim() === '') return 'is empty'
  if (value.includes('\0')) return 'holds a NUL character'
  // Nobody expands it here, and a folder that is really called "~ann" would be a surprise.
  if (/^~[^/]/.test(value)) return 'begins with "~" and a user name'
  return undefined
}
