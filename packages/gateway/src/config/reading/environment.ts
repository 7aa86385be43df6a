import { didYouMean, SallyportError } from '@sallyport/core'

export type Environment = Readonly<Record<string, string | undefined>>

const FOLDER_VARIABLES = ['SALLYPORT_HOME', 'SALLYPORT_STATE', 'SALLYPORT_KEYS'] as const

/** The environment variables that the gateway itself reads. */
export const KNOWN_VARIABLES = [...FOLDER_VARIABLES, 'SALLYPORT_MASTER_KEY'] as const

export interface SallyportEnvironment {
  readonly home: string | undefined
  readonly state: string | undefined
  readonly keys: string | undefined
}

/** Reads and checks the gateway's own variables. An invalid one is an error that names it. */
export function readEnvironment(environment: Environment): SallyportEnvironment {
  return {
    home: readFolder(environment, 'SALLYPORT_HOME'),
    state: readFolder(environment, 'SALLYPORT_STATE'),
    keys: readFolder(environment, 'SALLYPORT_KEYS'),
  }
}

/** One warning for each SALLYPORT_* variable that nothing reads. Callers add the variables that other modules read. */
export function describeUnknownVariables(
  environment: Environment,
  alsoKnown: readonly string[] = [],
): readonly string[] {
  const known = [...KNOWN_VARIABLES, ...alsoKnown]
  return Object.keys(environment)
    .filter((name) => name.startsWith('SALLYPORT_') && !known.includes(name))
    .map((name) => `The variable ${name} is not known and is ignored.${didYouMean(name, known)}`)
}

/** Looks up a variable. It never returns an inherited property such as `constructor`. */
export function createLookup(environment: Environment): (name: string) => string | undefined {
  return (name) => (Object.hasOwn(environment, name) ? environment[name] : undefined)
}

function readFolder(environment: Environment, name: (typeof FOLDER_VARIABLES)[number]): string | undefined {
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
  // "~ann" is not expanded here, and creating a folder with this literal name would be a surprise.
  if (/^~[^/]/.test(value)) return 'begins with "~" and a user name'
  return undefined
}
